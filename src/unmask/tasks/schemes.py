"""Schemes of tags: how entities are written as one tag a word (Ramshaw and Marcus 1995; Ratinov and Roth 2009).

| scheme | an entity of one word | of three | when |
|---|---|---|---|
| IOB1 | I | I I I | B instead of the first I, if an entity of the same label ends right before |
| IOB2 | B | B I I | |
| IOBES | S | B I E | M is read as I (BMES) |
| BILOU | U | B I L | |
| plain | label | label label label | adjacent entities of the same label are one |

`B-PER`, also written `B_PER`, is the letter B and the label PER; the label may have hyphens and may be missing (`B`).
O is outside.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from unmask.errors import UserError
from unmask.tasks.metrics.entities import Entity

SCHEMES = ("IOB1", "IOB2", "IOBES", "BILOU", "plain")
_ALSO = {
    "BIO": "IOB2",
    "BIO1": "IOB1",
    "BIO2": "IOB2",
    "IOB": "IOB1",
    "BIOES": "IOBES",
    "BMES": "IOBES",
    "BILUO": "BILOU",
}
"""What else people call them."""
OUTSIDE = "O"

# The letters of every scheme as those of IOBES, which conlleval's rules are about.
_LETTERS = {"B": "B", "I": "I", "E": "E", "S": "S", "M": "I", "L": "E", "U": "S"}
_ALLOWED = {"IOB1": "BI", "IOB2": "BI", "IOBES": "BIESM", "BILOU": "BILU"}
_WRITTEN = {
    "IOB1": tuple("IIII"),
    "IOB2": tuple("BIIB"),
    "IOBES": tuple("BIES"),
    "BILOU": tuple("BILU"),
}  # first, middle, last, only


def named(name: str) -> str:
    """The scheme that somebody names, in capitals or not.

    >>> named("bio"), named("BIOES"), named("Plain")
    ('IOB2', 'IOBES', 'plain')
    """
    scheme = _ALSO.get(name.upper(), name.upper())
    scheme = "plain" if scheme == "PLAIN" else scheme
    if scheme not in SCHEMES:
        raise UserError(f"There is no scheme {name!r}; choose one of {', '.join(SCHEMES)}.")
    return scheme


def guess_scheme(sequences: Iterable[Sequence[str]]) -> str:
    """The scheme that these tags break least; IOB2 if they do not tell.

    They are plain labels if most of the different tags do not begin with the letter of a scheme.
    """
    pairs = Counter[tuple[str, str]]()
    for tags in sequences:
        pairs.update(zip([OUTSIDE, *tags], [*tags, OUTSIDE], strict=True))
    different = {tag for pair in pairs for tag in pair} - {OUTSIDE, ""}
    if 2 * sum(parted(tag)[0] == OUTSIDE for tag in different) > len(different):
        return "plain"
    breaks = {
        scheme: sum(count for pair, count in pairs.items() if _breaks(*pair, scheme))
        for scheme in ("IOB2", "IOBES", "BILOU", "IOB1")
    }
    return min(breaks, key=lambda scheme: breaks[scheme])


def scheme_of_classes(classes: tuple[str, ...]) -> str:
    """The scheme of a folder that has tags but does not name it: the one that has all of them in the right order."""
    order = {letter: number for number, letter in enumerate("BIMEL")}
    ordered = sorted(classes, key=lambda tag: (tag[1:], order.get(tag[:1], 9)))
    sequences: list[list[str]] = []
    for tag in ordered:
        if sequences and sequences[-1][-1][1:] == tag[1:] and tag[:1] in order:
            sequences[-1].append(tag)
        else:
            sequences.append([tag])
    return guess_scheme(sequences)


def entities(tags: Sequence[str], scheme: str) -> list[Entity]:
    """The entities that tags mean, by conlleval's rules; any tags mean something.

    An entity begins at B and S, after E, S and outside, and where the label changes; it goes on until the next begins
    or something is outside. So `I-PER E-PER I-PER` are two, in whatever scheme. A tag that has no letter of any scheme
    is outside.
    """
    parts = _plain(tags) if _known(scheme) == "plain" else [parted(tag) for tag in tags]
    found: list[Entity] = []
    start, last_letter, last_label = 0, OUTSIDE, ""
    for place, (letter, label) in enumerate([*parts, (OUTSIDE, "")]):
        outside, begins = letter == OUTSIDE, letter in "BS" or last_letter in "ESO" or label != last_label
        if last_letter != OUTSIDE and (outside or begins):
            found.append(Entity(start, place, last_label))
        if begins:
            start = place
        last_letter, last_label = letter, label
    return found


def words(tags: Sequence[str]) -> list[Entity]:
    """Plain labels word by word: each that is not outside."""
    return [Entity(place, place + 1, tag) for place, tag in enumerate(tags) if tag not in (OUTSIDE, "")]


def _plain(tags: Sequence[str]) -> list[tuple[str, str]]:
    return [(OUTSIDE, "") if tag in (OUTSIDE, "") else ("I", tag) for tag in tags]


@lru_cache(maxsize=10_000)
def parted(tag: str) -> tuple[str, str]:
    """A tag's letter as IOBES has it, and its label: `U-creative-work` → S, creative-work."""
    letter, between, label = tag[:1], tag[1:2], tag[2:]
    return (_LETTERS[letter], label) if letter in _LETTERS and between in ("", "-", "_") else (OUTSIDE, "")


def tags(found: Iterable[Entity], n: int, scheme: str) -> list[str]:
    """One tag for each of n words; `entities` gives the entities back.

    Plain labels cannot tell adjacent entities of the same label apart: they become one.
    """
    _known(scheme)
    written = [OUTSIDE] * n
    last = Entity(-1, -1, OUTSIDE)
    for entity in sorted(set(found)):
        _check(entity, last, n, scheme)
        start, end, label = entity
        if scheme == "plain":
            letters: Iterable[str] = [label] * (end - start)
        else:
            first, middle, final, only = _WRITTEN[scheme]
            if scheme == "IOB1" and last.end == start and last.label == label:
                first = only = "B"
            spelled = only if end - start == 1 else first + middle * (end - start - 2) + final
            letters = [joined(letter, label) for letter in spelled]
        written[start:end] = letters
        last = entity
    return written


def _check(entity: Entity, last: Entity, n: int, scheme: str) -> None:
    start, end, label = entity
    if not 0 <= start < end <= n:
        raise UserError(f"The entity {label!r} from {start} to {end} does not lie within a text of {n} words.")
    if start < last.end:
        raise UserError(
            f"The entities {last.label!r} from {last.start} to {last.end} and {label!r} from {start} to {end} overlap; "
            "one tag a word holds only entities that do not."
        )
    if scheme == "plain" and label in (OUTSIDE, ""):
        raise UserError(f"An entity's plain label cannot be {label!r}, which means that there is none; rename it.")


def joined(letter: str, label: str) -> str:
    """The tag of a letter and a label, which may be empty."""
    return f"{letter}-{label}" if label else letter


def broken(tags: Sequence[str], scheme: str) -> list[int]:
    """The places of the tags that cannot stand there, or anywhere, in this scheme.

    An entity that is not ended where it must be is noticed at the tag after it, at the end of the text at the last tag.
    """
    _known(scheme)
    if not tags:
        return []
    pairs = zip([OUTSIDE, *tags], [*tags, OUTSIDE], strict=True)
    places = (min(place, len(tags) - 1) for place, pair in enumerate(pairs) if _breaks(*pair, scheme))
    return sorted(set(places))


@lru_cache(maxsize=100_000)
def _breaks(before: str, tag: str, scheme: str) -> bool:
    """Whether a tag cannot follow another."""
    if scheme == "plain" or not tag:
        return not tag
    if tag != OUTSIDE and (parted(tag)[0] == OUTSIDE or tag[0] not in _ALLOWED[scheme]):
        return True
    (last, last_label), (letter, label) = parted(before), parted(tag)
    goes_on = last in "BI" and last_label == label
    if scheme == "IOB1":
        return letter == "B" and not goes_on
    if scheme == "IOB2":
        return letter == "I" and not goes_on
    return not (letter in "IE" and goes_on) if last in "BI" else letter in "IE"


def all_tags(labels: Iterable[str], scheme: str) -> list[str]:
    """O and every tag that these labels can have, in the labels' order."""
    letters = None if _known(scheme) == "plain" else _ALLOWED[scheme].replace("M", "")
    labels = list(dict.fromkeys(labels))
    return [
        OUTSIDE,
        *(labels if letters is None else [joined(letter, label) for label in labels for letter in letters]),
    ]


def _known(scheme: str) -> str:
    if scheme not in SCHEMES:
        raise UserError(f"There is no scheme of tags {scheme!r}; the schemes are {', '.join(SCHEMES)}.")
    return scheme
