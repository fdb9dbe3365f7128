"""Sections of a tagging's page: figures of each label, kinds of errors, sentences with their entities highlighted."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unmask.report.evaluation import Section, Table, WorstError
from unmask.report.marks import Kind, Mark
from unmask.tasks.metrics.entities import Entity, per_label

_MOST_PAIRS = 30
_NO_SPACE_AFTER = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]$")


@dataclass(frozen=True)
class TaggedText:
    """A text with its gold and its predicted entities."""

    place: str
    text: str
    gold: Sequence[Entity]
    predicted: Sequence[Entity]
    words: Sequence[tuple[int, int]] | None = None
    """Where in the text each word begins and ends, if the entities count words; None: they count characters."""

    def characters(self, entity: Entity) -> tuple[int, int]:
        """Where in the text an entity begins and ends."""
        if self.words is None:
            return entity.start, entity.end
        inside = self.words[entity.start : entity.end]
        return (inside[0][0], inside[-1][1]) if inside else (0, 0)


class Comparison(NamedTuple):
    """The entities of a text: each gold one and each predicted one is in exactly one pair, or alone."""

    right: list[Entity]
    wrong_label: list[tuple[Entity, Entity]]
    wrong_boundary: list[tuple[Entity, Entity]]
    wrong_both: list[tuple[Entity, Entity]]
    """Gold and predicted entity that overlap and share neither label nor place."""
    missed: list[Entity]
    spurious: list[Entity]

    @property
    def n_errors(self) -> int:
        """Pairs that do not agree, and entities that stand alone."""
        return sum(len(entities) for entities in (*self[1:4], *self[4:]))


def joined(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Words as a text, and where each begins and ends; spaces between them but after Chinese characters.

    >>> joined(["EU", "rejects"])
    ('EU rejects', [(0, 2), (3, 10)])
    >>> joined(["欧", "盟"])
    ('欧盟', [(0, 1), (1, 2)])
    """
    text, places = "", []
    for word in words:
        if text and not _NO_SPACE_AFTER.search(text[-1]):
            text += " "
        places.append((len(text), len(text) + len(word)))
        text += word
    return text, places


def compare(gold: Sequence[Entity], predicted: Sequence[Entity]) -> Comparison:
    """What became of each entity; the closest pairs are made first. One that is listed twice counts once."""
    ours, theirs = sorted(set(predicted)), sorted(set(gold))
    right = _taken(theirs, ours, lambda a, b: a == b)
    label = _taken(theirs, ours, lambda a, b: a[:2] == b[:2])
    boundary = _taken(theirs, ours, lambda a, b: _overlap(a, b) and a.label == b.label)
    both = _taken(theirs, ours, _overlap)
    return Comparison([entity for entity, _ in right], label, boundary, both, theirs, ours)


def _overlap(one: Entity, other: Entity) -> bool:
    return one.start < other.end and other.start < one.end


def _taken(
    gold: list[Entity], predicted: list[Entity], fits: Callable[[Entity, Entity], bool]
) -> list[tuple[Entity, Entity]]:
    """Takes out of both lists the pairs that fit."""
    pairs = []
    for entity in list(gold):
        partner = next((other for other in predicted if fits(entity, other)), None)
        if partner is not None:
            gold.remove(entity)
            predicted.remove(partner)
            pairs.append((entity, partner))
    return pairs


def tagging_sections(texts: Sequence[TaggedText], *, what: str = "Entities") -> list[Section]:
    """The sections for entities, or for words that have a label each."""
    found = per_label([text.gold for text in texts], [text.predicted for text in texts])
    rows = [(label, *figures) for label, figures in found.items()]
    shares = frozenset({"Precision", "Recall", "F1"})
    sections: list[Section] = [Table("Labels", ["Label", "Precision", "Recall", "F1", what], rows, bars=shares)]
    compared = [compare(text.gold, text.predicted) for text in texts]
    return [*sections, _kinds(compared, what), *_confused_labels(compared, what)]


def _kinds(compared: Sequence[Comparison], what: str) -> Table:
    names = {
        "right": "Right",
        "wrong_label": "Right place, wrong label",
        "wrong_boundary": "Right label, wrong boundary",
        "wrong_both": "Overlapping, label and boundary wrong",
        "missed": "Missed: in gold, nothing predicted there",
        "spurious": "Spurious: predicted, nothing in gold there",
    }
    counts = [(said, sum(len(getattr(one, name)) for one in compared)) for name, said in names.items()]
    if what != "Entities":  # a word's place is never wrong
        counts = [(said.partition(":")[0].replace("Right place, wrong", "Wrong"), n) for said, n in counts if n]
    total = max(1, sum(count for _, count in counts))
    rows = [(said, count, count / total) for said, count in counts]
    return Table("Kinds of errors", [what, "Number", "Share"], rows, bars=frozenset({"Share"}))


def _confused_labels(compared: Sequence[Comparison], what: str) -> list[Section]:
    pairs = Counter((a.label, b.label) for one in compared for a, b in (*one.wrong_label, *one.wrong_both))
    rows = [(*pair, count) for pair, count in pairs.most_common(_MOST_PAIRS)]
    return [Table("Labels confused most", ["Gold", "Predicted", what], rows)] if rows else []


def tagging_errors(texts: Sequence[TaggedText]) -> list[WorstError]:
    """Every text with a wrong entity, that with most of them first; of equals the shorter."""
    errors = []
    for text in texts:
        compared = compare(text.gold, text.predicted)
        if compared.n_errors:
            right = set(compared.right)
            gold, ours = ([e for e in dict.fromkeys(of) if e not in right] for of in (text.gold, text.predicted))
            marks = [_mark(text, entity, "right") for entity in compared.right]
            marks += [_mark(text, entity, "gold") for entity in gold]
            marks += [_mark(text, entity, "predicted") for entity in ours]
            named = (_named(text, gold), _named(text, ours))
            errors.append(WorstError(text.place, text.text, *named, compared.n_errors, marks))
    return sorted(errors, key=lambda error: (-error.score, len(error.text)))


def _mark(text: TaggedText, entity: Entity, kind: Kind) -> Mark:
    said = entity.label if kind == "right" else f"{kind}: {entity.label}"
    return Mark(*text.characters(entity), kind, said)


def _named(text: TaggedText, entities: Sequence[Entity]) -> str:
    """The entities that are not right, in words."""
    places = [(slice(*text.characters(entity)), entity.label) for entity in sorted(entities)]
    return ", ".join(f"{text.text[place]} ({label})" for place, label in places) or "nothing else"
