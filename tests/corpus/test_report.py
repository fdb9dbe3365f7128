"""The report counts what is there, and warns of what ruins training."""

import json

import numpy as np

import tiny_tokenizers
from unmask.corpus.report import Tally, warnings_of
from unmask.corpus.tokenizing import Batch, BatchTokenizer, Recipe


def recipe(tokenizer):
    return Recipe(tokenizer.rust.to_str(), tokenizer.settings, "none", with_signatures=False)


def tally_of(texts, tokenizer=None, tally=None, kept=None, **counts):
    tally = tally or Tally()
    made = BatchTokenizer(recipe(tokenizer or tiny_tokenizers.roberta()))(texts)
    places = [("file", f"line {i}") for i in range(len(texts))]
    batch = Batch([], list(range(len(texts))), [], places, {"read": len(texts), **counts}, {})
    tally.add(batch, made, range(len(texts)) if kept is None else kept)
    return tally


def report_of(*args, **kwargs):
    return tally_of(*args, **kwargs).report(held_out=(1, 2))


def warned(report, of):
    found = [warning for warning in report["warnings"] if of in warning]
    assert len(found) <= 1
    return found[0] if found else None


def test_figures():
    report = report_of(["The cat. It sat!", "汉字。"], tiny_tokenizers.bert())
    # 汉, 字 and 。 are unknown to this vocabulary; the Latin letters come one by one.
    assert report["documents"] == report["documents_read"] == 2
    assert report["sentences"] == 3
    assert report["words"] == 9
    assert report["characters"] == 19
    assert report["bytes"] == 16 + 9
    assert report["unknown_tokens"] == 3
    assert report["bytes_per_token"] == round(25 / report["tokens"], 3)
    assert report["scripts"] == {"Latin": round(11 / 13, 5), "Han": round(2 / 13, 5)}
    assert report["held_out"] == {"documents": 1, "tokens": 2}
    assert report["longest"][0] == {"tokens": report["tokens"] - 3, "source": "file", "place": "line 0"}


def test_documents_that_were_left_out_do_not_count():
    both, one = report_of(["some text", "other text here"], kept=[1]), report_of(["other text here"])
    for name in ("documents", "tokens", "words", "sentences", "characters", "bytes"):
        assert both[name] == one[name]


def test_the_longest_are_kept_over_batches_and_over_an_interruption():
    rng = np.random.default_rng(0)
    lengths = rng.permutation(np.arange(1, 61))
    tally = Tally()
    for part in np.split(lengths, 6):
        tally = Tally.restored(json.loads(json.dumps(tally.saved())))
        tally = tally_of(["汉" * int(n) for n in part], tally=tally)
    report = tally.report(held_out=(0, 0))
    assert [entry["tokens"] for entry in report["longest"]] == [3 * n for n in range(60, 50, -1)]
    assert report["documents"] == 60
    assert report["characters"] == lengths.sum()


def test_equal_lines():
    page = "\n".join(["text of page {}", "Click here to accept cookies"])
    report = report_of([page.format(i) for i in range(1500)])
    assert report["equal_lines"] == [{"line": "Click here to accept cookies", "count": 1500}]
    assert "'Click here to accept cookies' occurs 1,500 times" in warned(report, "The line")
    assert report_of([page.format(i) for i in range(500)])["equal_lines"] == []


def test_the_table_of_lines_stays_small_and_finds_the_frequent_ones():
    tally = Tally()
    for turn in range(4):
        texts = [f"{turn} {i}\n{turn} {i}" for i in range(3000)] + ["every\nwhere"] * 400
        tally = tally_of(texts, tally=tally)
        assert len(tally.lines) <= 4096
    assert tally.lines["every"] == 1600


def test_broken_encodings():
    report = report_of(["itâ€™s broken", "cafÃ©", "ok"])
    assert report["mojibake"] == 2
    assert "2 places such as 'â€™'" in warned(report, "wrong encoding")
    assert warned(report_of(["it’s a naïve café, s’il vous plaît. Ärger, Ñandú, Ça"]), "wrong encoding") is None
    assert "1 replacement characters" in warned(report_of(["a \ufffd b"]), "U+FFFD")
    assert "5 places were not of the encoding" in warned(report_of(["a \ufffd"], invalid=5), "--encoding")


def test_unknown_tokens_above_a_per_cent():
    one, two = (report_of([unknown + " the" * 99], tiny_tokenizers.bert()) for unknown in ("汉", "汉字"))
    assert (one["unknown_tokens"], one["tokens"]) == (1, 100)
    assert warned(one, "unknown") is None
    assert "2.0% of the tokens are unknown" in warned(two, "unknown")


def test_empty_documents_and_a_small_corpus():
    report = report_of(["x"], empty=3)
    assert "3 of 1 documents are empty" in warned(report, "empty")
    assert warned(report, "are few") is not None
    figures = {**report, "tokens": 1_000_000}
    assert not any("are few" in warning for warning in warnings_of(figures))
