"""Tables with a word a row: rows of a sentence become one record, other tables are left alone."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.columns import choose_columns
from unmask.data.readers import read_records
from unmask.data.word_rows import sentences_of

FILLED_ONCE = '''Sentence #,Word,POS,Tag
Sentence: 1,Ada,NNP,B-per
,Lovelace,NNP,I-per
,lived,VBD,O
Sentence: 2,London,NNP,B-geo
,",",",",O
,"""""""",``,O
'''


def said_and_read(path):
    said = []
    records = read_records(path, say=said.append)
    return said, records, list(records)


def test_a_number_in_the_first_row_of_each_sentence(tmp_path):
    path = tmp_path / "ner_dataset.csv"
    path.write_text(FILLED_ONCE)
    said, records, (first, second) = said_and_read(path)
    assert first.values["Word"] == ["Ada", "Lovelace", "lived"]
    assert first.values["Tag"] == ["B-per", "I-per", "O"]
    assert first.values["Sentence #"] == "Sentence: 1"
    assert second.values["Word"] == ["London", ",", '"""']
    assert (first.place, second.place) == (f"{path}, line 2", f"{path}, line 5")
    assert f"{path} has a word a row; rows are joined to sentences by 'Sentence #'." in said
    assert choose_columns("tag", records.names, records.sample) == {"tokens": "Word", "tags": "Tag"}


@pytest.mark.parametrize("names", ["sentence_id\ttoken\tner", "句子编号\t字\t标签"])
def test_a_number_in_every_row(tmp_path, names):
    path = tmp_path / "a.tsv"
    path.write_text(f"{names}\n" + "".join(f"{n // 4}\tw{n}\t{'B-X' if n % 4 else 'O'}\n" for n in range(4000)))
    _, records, found = said_and_read(path)
    words = records.names[1]
    assert len(found) == 1000
    assert [word for record in found for word in record.values[words]] == [f"w{n}" for n in range(4000)]


@pytest.mark.parametrize(
    "rows",
    [
        [["sentence", "word", "label"], *(["He went to the bank.", "bank", "1"] for _ in range(9))],
        [["sentence_id", "word", "label"], *([str(n), "bank", "1"] for n in range(9))],
        [["sentence_id", "word", "label"], *(["1", "two words", "1"] for _ in range(9))],
        [["sentence_id", "text", "label"], *(["1", "bank", "1"] for _ in range(9))],
    ],
    ids=["a sentence itself", "each row another number", "no words", "no column of words"],
)
def test_other_tables_stay_as_they_are(tmp_path, rows):
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    said, _, found = said_and_read(path)
    assert [list(record.values.values()) for record in found] == rows[1:]
    assert not any("a word a row" in sentence for sentence in said)


@given(st.lists(st.lists(st.text(), min_size=1), min_size=1), st.booleans())
def test_every_row_stays_in_its_sentence(sentences, in_every_row):
    rows = [
        ({"n": str(number) if in_every_row or not at else " ", "word": word}, f"{number}, {at}")
        for number, words in enumerate(sentences)
        for at, word in enumerate(words)
    ]
    found = list(sentences_of(rows, "n"))
    assert [values["word"] for values, _ in found] == sentences
    assert [(values["n"], place) for values, place in found] == [(str(n), f"{n}, 0") for n in range(len(sentences))]
