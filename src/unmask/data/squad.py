"""Questions about paragraphs, as SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018), DRCD and CMRC 2018 write them."""

import json
from collections.abc import Iterator
from typing import Any

from unmask.errors import UserError

_WORDS = {
    "context": ("context", "context_text"),
    "qas": ("qas",),
    "question": ("question", "query_text"),
    "id": ("id", "query_id"),
}
"""What SQuAD calls a thing, and what CMRC calls it in its first form."""


def questions(text: str, name: str) -> Iterator[tuple[dict[str, Any], int]]:
    """One record a question, with its number from 1.

    Args:
        text: the whole file; its JSON is one value, so it is held in memory.
        name: what the user calls the file.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UserError(f"{name} is not valid JSON ({error}).") from None
    number = 0
    for paragraph, title, where in _paragraphs(content, name):
        context = _of(paragraph, "context", str, where)
        for asked in _of(paragraph, "qas", list, where):
            number += 1
            yield _question(asked, context, title, number, name), number


def _paragraphs(content: Any, name: str) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Each paragraph with its title and where it is."""
    is_article = isinstance(content, dict) and "data" not in content and not {"paragraphs", "qas"}.isdisjoint(content)
    articles = [content] if is_article else content.get("data") if isinstance(content, dict) else content
    if not isinstance(articles, list):
        there = f", only {', '.join(content) or 'nothing'}" if isinstance(content, dict) else ""
        raise UserError(f"{name} is no JSON as SQuAD has it: there is no list named data{there}.")
    for number, article in enumerate(articles, 1):
        where = f"{name}, article {number}"
        if not isinstance(article, dict):
            raise UserError(f"{where} must be a JSON object, but is a {type(article).__name__}.")
        title = str(article.get("title") or "")
        if "paragraphs" not in article:
            yield article, title, where
            continue
        for place, paragraph in enumerate(_of(article, "paragraphs", list, where), 1):
            yield paragraph, title, f"{where}, paragraph {place}"


def _of(entry: Any, word: str, kind: type, where: str) -> Any:
    """What an entry has by any of the names that it may go by."""
    names = _WORDS.get(word, (word,))
    if not isinstance(entry, dict):
        raise UserError(f"{where} must be a JSON object, but is a {type(entry).__name__}.")
    for name in names:
        if name in entry:
            if not isinstance(entry[name], kind):
                raise UserError(f"{where}: {name} must be a {kind.__name__}, not a {type(entry[name]).__name__}.")
            return entry[name]
    there = ", ".join(entry) or "nothing"
    raise UserError(f"{where} has no {names[0]}, only {there}; the file looks like JSON as SQuAD has it.")


def _question(asked: Any, context: str, title: str, number: int, name: str) -> dict[str, Any]:
    where = f"{name}, question {number}"
    question = _of(asked, "question", str, where)
    given = asked.get("id", asked.get("query_id", number))
    return {
        "id": str(given),
        "question": question,
        "context": context,
        "answers": [_answer(entry, context, where) for entry in _of({"answers": []} | asked, "answers", list, where)],
        "impossible": bool(asked.get("is_impossible", False)),
        "title": title,
    }


def _answer(entry: Any, context: str, where: str) -> dict[str, Any]:
    """An answer with its start; CMRC's first form has the text alone, which is looked for: -1 if it is not there."""
    if isinstance(entry, str):
        entry = {"text": entry}
    if not isinstance(entry, dict) or not isinstance(text := entry.get("text"), str):
        raise UserError(f"{where}: an answer must have a text, but {str(entry)[:60]!r} has none.")
    start = entry.get("answer_start", entry.get("start"))
    if start is None:
        return {"text": text, "start": context.find(text)}
    if isinstance(start, bool) or not isinstance(start, int):
        raise UserError(f"{where}: an answer must start at a whole number, not at {start!r}.")
    return {"text": text, "start": start}
