"""Questions about articles, as RACE writes them (Lai et al. 2017): an article with lists of its questions."""

from collections.abc import Iterator
from typing import Any

from unmask.errors import UserError

_LISTS = {"questions": "question", "options": "options", "answers": "answer"}
"""What holds an entry for each question, and what that is called by itself."""


def one_a_question(entry: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
    """A record for each question of an article; anything else is a record as it is. `place` is where it is from.

    >>> list(one_a_question({"article": "a", "questions": ["q"], "options": [["x", "y"]], "answers": ["B"]}, "line 1"))
    [{'article': 'a', 'question': 'q', 'options': ['x', 'y'], 'answer': 'B'}]
    """
    lists = {name: entry[name] for name in _LISTS if isinstance(entry.get(name), list)}
    is_race = {"questions", "options"} <= lists.keys()
    if not is_race or not all(isinstance(options, list) for options in lists["options"]):
        yield entry
        return
    if len(set(map(len, lists.values()))) > 1:
        lengths = ", ".join(f"{len(values)} in {name!r}" for name, values in lists.items())
        raise UserError(f"{place} must hold as many options and answers as questions, but holds {lengths}.")
    for number in range(len(lists["questions"])):
        own = {_LISTS[name]: values[number] for name, values in lists.items()}
        yield {**{name: value for name, value in entry.items() if name not in lists}, **own}
