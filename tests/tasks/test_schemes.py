"""Schemes of tags: entities there and back in each, between them, and in real data."""

import gzip
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conlleval import begins_between, split
from unmask.errors import UserError
from unmask.tasks.metrics.entities import Entity
from unmask.tasks.schemes import SCHEMES, all_tags, broken, entities, guess_scheme, tags

PREFIXED = [scheme for scheme in SCHEMES if scheme != "plain"]
LABELS = ["PER", "LOC", "creative-work", "PER.NAM", "B", "I-x", "地名", ""]


@st.composite
def texts(draw, labels=LABELS):
    """Entities that do not overlap, many of them adjacent, and how many words there are."""
    found, place = [], 0
    for gap, length, label in draw(
        st.lists(st.tuples(st.sampled_from([0, 0, 1, 3]), st.integers(1, 4), st.sampled_from(labels)), max_size=8)
    ):
        found.append(Entity(place + gap, place + gap + length, label))
        place += gap + length
    return found, place + draw(st.integers(0, 2))


def merged(found):
    """Adjacent entities of the same label as one."""
    one = []
    for entity in found:
        if one and (one[-1].end, one[-1].label) == (entity.start, entity.label):
            one[-1] = one[-1]._replace(end=entity.end)
        else:
            one.append(entity)
    return one


@pytest.mark.parametrize("scheme", PREFIXED)
@settings(deadline=None, max_examples=300)
@given(texts())
def test_entities_come_back_from_their_tags(scheme, text):
    found, n = text
    written = tags(found, n, scheme)
    assert len(written) == n
    assert entities(written, scheme) == found
    assert broken(written, scheme) == []
    assert set(written) <= set(all_tags(LABELS, scheme))


@settings(deadline=None, max_examples=300)
@given(texts([label for label in LABELS if label]))
def test_so_they_do_from_plain_labels_but_for_neighbours(text):
    found, n = text
    written = tags(found, n, "plain")
    assert entities(written, "plain") == merged(found)
    assert broken(written, "plain") == []
    assert set(written) <= set(all_tags(LABELS, "plain"))


@pytest.mark.parametrize(("one", "other"), itertools.permutations(PREFIXED, 2))
@settings(deadline=None, max_examples=50)
@given(texts())
def test_another_scheme_has_the_same_entities(one, other, text):
    found, n = text
    written = tags(entities(tags(found, n, one), one), n, other)
    assert written == tags(found, n, other)
    assert entities(written, other) == found


ANY_TAG = st.one_of(
    st.sampled_from(["O", "B-PER", "I-PER", "E-PER", "S-PER", "M-PER", "L-PER", "U-PER", "B-LOC", "I-LOC", "E-LOC"]),
    st.sampled_from(["", "-", "B", "I", "S", "B-", "-PER", "O-PER", "PER", "X-PER", "b-per", "B-a-b", "Ｂ-PER", "\n"]),
    st.text(max_size=4),
)


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(deadline=None, max_examples=300)
@given(st.lists(ANY_TAG, max_size=12))
def test_any_tags_mean_something(scheme, written):
    found = entities(written, scheme)
    places = [place for entity in found for place in range(entity.start, entity.end)]
    assert places == sorted(set(places))
    assert all(0 <= place < len(written) for place in places)
    assert all(entity.start < entity.end for entity in found)
    assert entities(tags(found, len(written), scheme), scheme) == found
    wrong = broken(written, scheme)
    assert wrong == sorted(set(wrong))
    assert all(0 <= place < len(written) for place in wrong)
    # What breaks nothing is what would be written; B- may also be B, and M-PER I-PER.
    if not wrong and not any(tag.endswith("-") or tag.startswith("M") for tag in written):
        assert tags(found, len(written), scheme) == written
    assert guess_scheme([written]) in SCHEMES


@pytest.mark.parametrize("letters", ["BIES", "BILU", "BMES"])
@settings(deadline=None, max_examples=500)
@given(data=st.data())
def test_entities_begin_where_conlleval_says(letters, data):
    labels = ["PER", "a-b", ""]
    choices = st.sampled_from(["O", *(f"{letter}-{label}" for letter in letters for label in labels)])
    written = data.draw(st.lists(choices, max_size=12))
    # conlleval knows the letters of IOBES; the others are the same by other names.
    known = [tag.translate({ord("M"): "I", ord("L"): "E", ord("U"): "S"}) if tag != "O" else tag for tag in written]
    known = [tag[:1] + old[1:] for tag, old in zip(known, written, strict=True)]
    rows = [("O", ""), *map(split, known)]
    begun = [place for place, pair in enumerate(itertools.pairwise(rows)) if begins_between(*pair)]
    found = entities(written, "IOBES")
    assert [entity.start for entity in found] == begun
    inside = {place for entity in found for place in range(entity.start, entity.end)}
    assert inside == {place for place, tag in enumerate(written) if tag != "O"}


@pytest.mark.parametrize(
    ("written", "scheme", "expected"),
    [
        ("I-PER I-PER B-PER O I-LOC", "IOB1", [(0, 2, "PER"), (2, 3, "PER"), (4, 5, "LOC")]),
        ("B-PER I-PER B-PER I-LOC", "IOB2", [(0, 2, "PER"), (2, 3, "PER"), (3, 4, "LOC")]),
        ("S-PER B-PER I-PER E-PER E-PER", "IOBES", [(0, 1, "PER"), (1, 4, "PER"), (4, 5, "PER")]),
        ("U-PER B-PER L-PER I-PER", "BILOU", [(0, 1, "PER"), (1, 3, "PER"), (3, 4, "PER")]),
        ("B_a-b I_a-b B_c_d O", "IOB2", [(0, 2, "a-b"), (2, 3, "c_d")]),
        ("B-a-b I-a-b I-a", "IOB2", [(0, 2, "a-b"), (2, 3, "a")]),
        ("B M E S", "IOBES", [(0, 3, ""), (3, 4, "")]),
        ("NOUN NOUN O VERB B-X", "plain", [(0, 2, "NOUN"), (3, 4, "VERB"), (4, 5, "B-X")]),
        ("B-PER PER I-PER", "IOB2", [(0, 1, "PER"), (2, 3, "PER")]),
        ("", "IOB2", []),
    ],
)
def test_entities(written, scheme, expected):
    assert entities(written.split(), scheme) == expected


@pytest.mark.parametrize(
    ("written", "scheme", "places"),
    [
        ("O I-PER I-PER", "IOB2", [1]),
        ("B-PER I-LOC B-LOC", "IOB2", [1]),
        ("B-PER S-PER X-PER PER", "IOB2", [1, 2, 3]),
        ("B-PER I-PER B-PER B-LOC", "IOB1", [0, 3]),
        ("B-PER O B-PER E-PER E-PER", "IOBES", [1, 4]),
        ("S-PER I-PER E-PER B-LOC", "IOBES", [1, 3]),
        ("B-PER I-PER S-PER", "IOBES", [2]),
        ("B-PER M-PER E-PER", "IOBES", []),
        ("B-PER E-PER", "BILOU", [1]),
        ("B-PER L-PER U-PER I-PER", "BILOU", [3]),
        ("B-PER I-LOC L-LOC", "BILOU", [1]),
        ("anything at-all", "plain", []),
    ],
)
def test_broken_places(written, scheme, places):
    assert broken(written.split(), scheme) == places


def test_all_tags():
    assert all_tags(["PER", "LOC"], "IOB2") == ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    assert all_tags(["PER"], "IOBES") == ["O", "B-PER", "I-PER", "E-PER", "S-PER"]
    assert all_tags(["PER"], "BILOU") == ["O", "B-PER", "I-PER", "L-PER", "U-PER"]
    assert all_tags(["N", "V", "N"], "plain") == ["O", "N", "V"]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([(0, 2, "PER"), (1, 3, "LOC")], "'PER' from 0 to 2 and 'LOC' from 1 to 3 overlap"),
        ([(3, 5, "PER")], "from 3 to 5 does not lie within a text of 4 words"),
        ([(-1, 1, "PER")], "from -1 to 1"),
        ([(2, 2, "PER")], "from 2 to 2"),
    ],
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_entities_that_no_tags_can_hold(found, told, scheme):
    with pytest.raises(UserError, match=told):
        tags([Entity(*entity) for entity in found], 4, scheme)


def test_labels_that_mean_none():
    with pytest.raises(UserError, match="cannot be 'O'"):
        tags([Entity(0, 1, "O")], 1, "plain")
    assert tags([Entity(0, 1, "O"), Entity(0, 1, "O")], 1, "IOB1") == ["I-O"]
    with pytest.raises(UserError, match="no scheme of tags 'IOB'; the schemes are IOB1, "):
        entities([], "IOB")


@pytest.mark.parametrize(
    ("sequences", "scheme"),
    [
        (["I-PER O I-LOC I-LOC B-LOC"], "IOB1"),
        (["I-PER O", "O I-LOC"], "IOB1"),
        (["B-PER O B-LOC I-LOC"], "IOB2"),
        (["B-PER O"], "IOB2"),
        (["S-PER O"], "IOBES"),
        (["B-PER E-PER O"], "IOBES"),
        (["B M E S S B E"], "IOBES"),
        (["U-PER O"], "BILOU"),
        (["B_PER I_PER O", "B_LOC"], "IOB2"),
        (["B-PER L-PER"], "BILOU"),
        (["B I O B"], "IOB2"),
        (["NOUN VERB O", "S"], "plain"),
        (["DT NN VBZ"], "plain"),
        (["PER PER O LOC"], "plain"),
        (["O O"], "IOB2"),
        ([], "IOB2"),
        (["B-PER I-PER O"] * 9 + ["O I-PER O", "B-PER PER"], "IOB2"),
    ],
)
def test_guesses(sequences, scheme):
    assert guess_scheme([sequence.split() for sequence in sequences]) == scheme


REAL = [
    "conll2003/train.txt.gz",
    "conll2003/valid.txt.gz",
    "msra/train.txt.gz",
    "weibo/dev.conll.gz",
    "weibo/train.conll.gz",
    "wnut17/dev.conll.gz",
    "wnut17/train.conll.gz",
]


def sentences(path, column=-1, limit=60_000):
    found = [[]]
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in itertools.islice(file, limit):
            if line.strip():
                found[-1].append(line.split()[column])
            elif found[-1]:
                found.append([])
    return [sentence for sentence in found if sentence]


@pytest.mark.parametrize("name", REAL)
def test_the_scheme_of_real_data_is_guessed_in_each_scheme(shared, name):
    real = sentences(shared / "data" / "ner" / name)
    assert guess_scheme(real) == "IOB2"
    named = [entities(sentence, "IOB2") for sentence in real]
    assert sum(map(len, named)) > 300
    for scheme in SCHEMES:
        written = [tags(found, len(sentence), scheme) for found, sentence in zip(named, real, strict=True)]
        assert guess_scheme(written) == scheme
        again = [entities(sentence, scheme) for sentence in written]
        assert again == ([merged(found) for found in named] if scheme == "plain" else named)


def test_parts_of_speech_are_plain_and_chunks_are_not(shared):
    path = shared / "data" / "ner" / "conll2003" / "valid.txt.gz"
    assert guess_scheme(sentences(path, column=1)) == "plain"
    assert guess_scheme([row for row in sentences(path, column=2) if row != ["-X-"]]) == "IOB2"
