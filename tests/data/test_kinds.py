"""The kind of a file, from its ending or its first lines."""

import pytest

from unmask.data.kinds import guess_kind

REVIEWS = "房间大很，服务很好，下次还来\t1\n" * 20
SQUAD = '{"data": [{"title": "T", "paragraphs": [{"context": "c", "qas": [{"question": "q"'


@pytest.mark.parametrize(
    ("ending", "text", "kind"),
    [
        (".csv", "text,label\na,1", "csv"),
        (".tsv", "a\t1\nb\t0", "tsv"),
        (".tsv", "EU\tB-ORG\nis\tO\n\nit\tO\n", "conll"),
        (".tsv", f"text_a\tlabel\n{REVIEWS}\n{REVIEWS}", "tsv"),
        (".txt", f"text_a\tlabel\n{REVIEWS}\n{REVIEWS}", "tsv"),
        (".txt", f"{REVIEWS}\n{REVIEWS}", "tsv"),
        (".jsonl", '{"a": 1}', "jsonl"),
        (".json", '{"a": 1}\n{"a": 2}', "jsonl"),
        (".json", '[\n{"a": 1}]', "json"),
        (".json", SQUAD, "squad"),
        (".json", '[{"context_text": "x", "qas": [', "squad"),
        (".conll", "a b c", "conll"),
        (".txt", "EU NNP B-NP B-ORG\nis VB O O\n\nit PRP O O", "conll"),
        (".txt", "EU NNP B-NP B-ORG\nis VB\n. . O O\n\nit PRP O O\n", "conll"),
        (".txt", "甲 乙\t丙\t0\n丁\t戊\t1", "tsv"),
        (".txt", "One sentence.\nAnother, with commas, more.\n", "text"),
        (".txt", "", "text"),
        ("", '{"text": "x"}\n', "jsonl"),
        ("", '[{"text": "x"}]', "json"),
        ("", SQUAD, "squad"),
        ("", '[{"text": "cut he', "json"),
        ("", "text,label\nfine,1\n", "csv"),
        ("", "[CLS] is a token\n", "text"),
        ("", "{braces} are text\n", "text"),
        (".all", "0 What is it ?\n1 Who was he ?\n0 What is that ?\n1 Who ?\n", "labels"),
        (".all", "DESC:manner How is it ?\nENTY:cremat What ?\nDESC:manner How ?\nENTY:cremat Which ?", "labels"),
        (".txt", "__label__good fine film\n", "labels"),
        (".txt", "1 First\n2 Second\n3 Third\n4 Fourth\n", "text"),
        (".txt", "LONDON It rains.\nPARIS It snows.\nLONDON Still.\nPARIS Still.\n", "text"),
        (".txt", "I like it\nI do not\nI do\nI may\n", "text"),
    ],
)
def test_kinds(ending, text, kind):
    assert guess_kind(ending, text.split("\n"))[0] == kind


ARTICLE = '{"version": "v", "data": [{"title": "a \\"T\\"", "paragraphs": [{"id": 1, "context": "'


@pytest.mark.parametrize("ending", [".json", ""])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (ARTICLE + "so long that nothing follows", "squad"),
        ('{"data": [{"context": "so long \\"that\\" nothing follows \\', "squad"),
        ('{\n "data": [\n  {\n   "title": "T",\n   "paragraphs": [\n    {', "squad"),
        (ARTICLE + 'short"}]}]}\n{"data": []}', "jsonl"),
        (ARTICLE + 'short"}]}]}\n', "squad"),  # and then refused, for it has no questions
        ('{"data": [{"context": "short", "text": "and anot', "jsonl"),
        ('{"data": [{"paragraphs": ["a text that is lo', "jsonl"),
        ('{"data": [{"paragraphs": [{"text": "a text that is lo', "jsonl"),
        ('{"context": "a text that is lo', "jsonl"),
        ('{"data": "a", "context": "a text that is lo', "jsonl"),
        ('{"text": "\\"data\\": [{\\"context\\": \\"a', "jsonl"),
        ('[{"context": "a text that is lo', "json"),
    ],
)
def test_squad_is_known_before_its_questions_come(ending, text, kind):
    assert guess_kind(ending, text.split("\n"))[0] == kind


def test_what_the_ending_does_not_tell_is_said():
    assert guess_kind(".csv", ["text"]) == ("csv", False)
    assert guess_kind(".txt", ["just a text"]) == ("text", False)
    assert guess_kind(".txt", ["a\tb", "c\td"]) == ("tsv", True)
    assert guess_kind(".tsv", ["EU\tB-ORG", "", "is\tO", "x\tO"]) == ("conll", True)
