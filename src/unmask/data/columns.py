"""Which column plays which role in a task: as it was said, or guessed from names and contents, and then said aloud."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from unmask.data import contents
from unmask.data import names as known
from unmask.data.readers import Record
from unmask.data.roles import ROLES, Roles, shown
from unmask.errors import UserError

_PART = re.compile(r"_[a-z]$|_?\d+$")
"""What tells the parts of one question from another: `subtask_a`, `label_1`."""


def choose_columns(
    task: str,
    names: Sequence[str],
    sample: Sequence[Record],
    said: Mapping[str, Any] | None = None,
    *,
    say: Callable[[str], None] | None = None,
    labelled: bool = True,
) -> dict[str, str]:
    """For each role the column that plays it.

    Several columns of choices are one text, with commas between their names. A role that no column plays is not there.

    Args:
        task: one of `ROLES`.
        names: the columns there are.
        sample: some records, to look into.
        said: what the user said, role → column; None for a role that was not said, "none" for one that is not wanted.
            A column may also be said by its number, from 1.
        say: is told what was guessed.
        labelled: whether the role that holds the right answer must be played, as in training; else a column that is
            said to play it only is not guessed for another role.
    """
    roles = Roles(task, names, sample, said or {}, labelled=labelled)
    {"classify": _of_texts, "regress": _of_texts, "tag": _of_tags, "read": _of_questions, "choose": _of_choices}[task](
        roles
    )
    roles.refuse_bytes()
    guessed = [role for role in ROLES[task] if role in roles.guessed]
    if say is not None and guessed:
        first, *parts = [f"{role} from {shown(roles.guessed[role])}" for role in guessed]
        flags = ", ".join(f"--{role}" for role in guessed)
        verb = "are" if guessed[0].endswith("s") else "is"
        first = first.replace(" from ", f" {verb} taken from ", 1)
        say(f"The {first}{''.join(f', the {part}' for part in parts)} (other columns: {flags}).")
    return {role: roles.found[role] for role in ROLES[task] if role in roles.found}


def _of_texts(roles: Roles) -> None:
    """Text, pair and label."""
    if roles.labelled:
        roles.guess("label", _label_by_name(roles))
    if "text" not in roles.found and "pair" not in roles.found:
        _guess_pair(roles)
        _guess_text_by_name(roles)
        _refuse_half(roles)
    elif "pair" not in roles.found and (second := _second_of(roles, roles.found["text"])):
        roles.guess("pair", second)
    if roles.open("text"):
        _guess_text_by_content(roles)
    roles.must("text")
    if roles.labelled:
        if roles.open("label"):
            roles.guess("label", _label_by_content(roles))
        if roles.task == "regress":
            ended = (known.plain(name) for name in roles.by_ending(known.VALUE_ENDINGS))
            roles.must_fit("label", (*known.LABEL, *ended), contents.are_numbers, "number")
        roles.must("label")


def _guess_pair(roles: Roles) -> None:
    for first, _ in known.PAIRS:
        column = roles.plain.get(first)
        if column in roles.free() and (second := _second_of(roles, str(column))):
            roles.guess("text", column)
            roles.guess("pair", second)
            return


def _second_of(roles: Roles, text: str) -> str | None:
    """The column that is read together with this one, by their names."""
    seconds = [second for first, second in known.PAIRS if first == known.plain(text)]
    return roles.by_name(seconds)


def _guess_text_by_name(roles: Roles) -> None:
    """A name that is known comes before one that ends in a known word, and a title after both."""
    if roles.guess("text", roles.by_name(known.FULL_TEXT, contents.are_words)):
        return
    ended = roles.by_ending(known.TEXT_ENDINGS, contents.are_texts)
    if len(ended) > 1:
        return  # `question_text` and `answer_text`: neither is more likely
    roles.guess("text", ended[0] if ended else roles.by_name(known.TITLES, contents.are_words))


def _refuse_half(roles: Roles) -> None:
    """A model that is given half a pair learns to guess, and nobody notices."""
    text = roles.guessed.get("text")
    if text is None or known.plain(text) not in known.FIRST_HALVES or not roles.open("pair"):
        return
    others = [n for n in roles.free() if contents.are_texts(roles.values[n]) and not known.is_measure(n)]
    if others:
        raise UserError(
            f"{text!r} is by its name the first of two texts that are read together; say --pair with one of "
            f"{', '.join(others)}, or --pair none."
        )


def _guess_text_by_content(roles: Roles) -> None:
    texts = [name for name in roles.free() if contents.are_texts(roles.values[name])]
    if not texts and len(roles.free()) == 1:
        texts = roles.free()
    if len(texts) == 1:
        roles.guess("text", texts[0])
    elif len(texts) == 2 and all(name.isdecimal() for name in texts):
        first, second = texts
        if (first, second) in pairwise(roles.names):
            roles.guess("text", first)
            roles.guess("pair", second)
        elif contents.much_longer(roles.values[first], roles.values[second]):
            roles.guess("text", first)
        elif contents.much_longer(roles.values[second], roles.values[first]):
            roles.guess("text", second)


def _label_by_name(roles: Roles) -> str | None:
    """A name that is known, or the first one that ends in a known word: the whole is judged before its parts.

    What is measured is a class only if no column of classes has such a name.
    """
    if roles.task == "regress":
        ended = roles.by_ending(known.VALUE_ENDINGS, contents.are_mostly_numbers)
        return roles.by_name(known.LABEL, contents.are_mostly_numbers) or next(iter(ended), None)
    if certain := roles.by_name(known.CERTAIN_LABEL, contents.are_labels):
        return certain
    classes = [name for name in known.LABEL if name not in known.SCORES]
    ended = roles.by_ending(known.LABEL_ENDINGS, contents.may_be_classes)
    named = roles.by_name(classes, contents.may_be_classes) or next(iter(ended), None)
    return named or roles.by_name(known.LABEL, contents.are_labels)


def _label_by_content(roles: Roles) -> str | None:
    """Among the other columns one of numbers for regression, of few values for classes.

    Counts, dates and the like are taken only if nothing else is there, not even a label of the wrong kind by its name.
    """
    numbers = roles.task == "regress"
    columns = {name: roles.values[name] for name in roles.free() if name not in roles.bytes}
    fit = contents.are_uncounted_numbers if numbers else contents.are_classes
    fitting = [name for name, values in columns.items() if fit(values)]
    likely = [name for name in fitting if not known.is_measure(name)]
    endings = known.VALUE_ENDINGS if numbers else known.LABEL_ENDINGS
    if not likely and not roles.by_name(known.LABEL) and not roles.by_ending(endings):
        likely = fitting
    if numbers:
        likelier = [name for name in likely if contents.any_fraction(columns[name])]
    else:
        likelier = _numbers_of_classes({name: columns[name] for name in likely})
    alone = list(columns) if len(columns) == 1 and not numbers else []
    return _likeliest_label(roles, likelier or likely or alone)


def _numbers_of_classes(columns: Mapping[str, list[Any]]) -> list[str]:
    """Those of numbers, but beside words no ids: these are large, and more than there are different words."""
    numbers = [name for name, values in columns.items() if contents.are_numbers(values)]
    if not (words := columns.keys() - numbers):
        return numbers
    least = min(contents.n_different(columns[name]) for name in words)
    return [n for n in numbers if contents.are_grades(columns[n]) or contents.n_different(columns[n]) <= least]


def _likeliest_label(roles: Roles, names: Sequence[str]) -> str | None:
    """Of columns that may be the label the last one, as most files have it, if they have no names.

    With names it is the only one behind the text, or the first of those that are parts, such as `subtask_a`; of others
    none is likelier.
    """
    if all(name.isdecimal() for name in names):
        return next(reversed(names), None)
    begin = roles.names.index(roles.found["text"]) if roles.found["text"] in roles.names else 0
    chosen = [name for name in names if roles.names.index(name) > begin] or names
    stems = {_PART.sub("", known.plain(name)) for name in chosen}
    if len(chosen) > 1 and (len(stems) > 1 or "" in stems):
        raise UserError(f"Which column holds the label? Say --label with one of {', '.join(chosen)}.")
    return chosen[0]


def _of_tags(roles: Roles) -> None:
    """Tokens and tags, or a text and spans."""
    if {"tokens", "spans"} <= roles.found.keys() and "tags" not in roles.found:
        raise UserError(
            "--spans counts the characters of a text, but --tokens gives words; say --text in place of --tokens, or "
            "--tags in place of --spans."
        )
    spans_said = "spans" in roles.found or ("text" in roles.found and "tags" not in roles.found)
    if not spans_said and roles.open("tokens") and "text" not in roles.found:
        roles.guess("tokens", roles.by_name(known.TOKENS, contents.are_lists))
    if "tokens" not in roles.found:
        roles.guess("text", roles.by_name(known.TEXT, contents.are_words) or _only_text(roles))
        if "text" not in roles.found:
            roles.must("tokens" if "tags" in roles.found else "text")
    if not roles.labelled or "tags" in roles.found or "spans" in roles.found:
        return
    if "text" in roles.found and roles.guess("spans", roles.by_name(known.SPANS, contents.are_spans)):
        return
    if roles.guess("tags", roles.by_name(known.TAGS, contents.are_lists)):
        return
    if "tokens" in roles.found:
        roles.must_fit("tags", known.TAGS, contents.are_lists, "list")
        roles.must("tags")
    roles.must_fit("spans", known.SPANS, contents.are_spans, "list")
    roles.must("spans")


def _only_text(roles: Roles) -> str | None:
    texts = [name for name in roles.free() if contents.are_texts(roles.values[name])]
    return texts[0] if len(texts) == 1 else None


def _of_questions(roles: Roles) -> None:
    """Question, context, answers and id."""
    roles.guess("question", roles.by_name(known.QUESTION))
    roles.must("question")
    roles.guess("context", roles.by_name(known.CONTEXT))
    roles.must("context")
    if roles.labelled:
        roles.guess("answers", roles.by_name(known.ANSWERS))
        roles.must("answers")
    if roles.open("id") and (column := roles.by_name(known.ID)):
        roles.found["id"] = column  # an id changes nothing, so it is not worth saying


def _of_choices(roles: Roles) -> None:
    """Choices in a list or in a column each, the right one, and what they go on from."""
    roles.guess("choices", _several(roles) or roles.by_name(known.CHOICES, contents.are_lists))
    roles.must("choices")
    if roles.labelled:
        roles.guess("label", roles.by_name(known.RIGHT))
        roles.must("label")
    roles.guess("context", roles.by_name(known.CONTEXT))
    follows = ("sent2",) if known.plain(roles.found.get("context", "")) == "sent1" else ()
    roles.guess("question", roles.by_name((*follows, *known.QUESTION)))
    if "question" not in roles.found:
        roles.must("context")


def _several(roles: Roles) -> str | None:
    """`ending0` to `ending3`: choices in a column each."""
    stems: dict[str, list[str]] = {}
    for name in roles.free():
        if (found := known.SEVERAL_CHOICES.fullmatch(known.plain(name))) and not contents.any_list(roles.values[name]):
            stems.setdefault(found[1], []).append(name)
    columns = max(stems.values(), key=len, default=[])
    return ",".join(sorted(columns, key=known.plain)) if len(columns) > 1 else None
