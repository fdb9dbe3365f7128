"""CoNLL columns in their many forms; a line that lacks a column is named."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.data.conll import find_layout, look_like_conll, names_of, sentences, values_of
from unmask.errors import UserError

TOKEN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1).filter(
    lambda token: not token.startswith(("#", "-DOCSTART-"))
)
TAGS = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC.NAM"])


def read(text):
    lines = text.split("\n")
    layout = find_layout(lines)
    return [values_of(sentence, layout) for sentence in sentences(lines, layout, "a.conll")]


@given(
    st.lists(st.lists(st.tuples(TOKEN, TAGS), min_size=1), min_size=1),
    st.sampled_from(["\t", " "]),
    st.sampled_from(["", "\t", "  "]),
)
def test_what_was_written_is_read_again(texts, separator, blank):
    # A tag more in each line than is needed: then digits behind all characters are not taken for segments.
    text = f"\n{blank}\n".join("\n".join(separator.join([token, "x", tag]) for token, tag in one) for one in texts)
    segments = find_layout(text.split("\n")).has_segments
    found = [list(zip(one["tokens"], one["tags"], strict=True)) for one in read(text)]
    assert segments or found == texts
    assert [len(one) for one in found] == [len(one) for one in texts]


def test_conll_2003():
    found = read("-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\nPeter NNP B-NP B-PER\n")
    assert [one["tokens"] for one in found] == [["EU", "rejects"], ["Peter"]]
    assert found[0]["tags"] == found[0]["4"] == ["B-ORG", "O"]
    assert found[0]["2"] == ["NNP", "VBZ"]
    assert found[0]["columns"][2] == ["B-NP", "B-VP"]


def test_names_of_columns():
    assert names_of(find_layout(["EU NNP B-NP B-ORG"])) == ["tokens", "tags", "2", "3"]
    assert names_of(find_layout(["EU\tB-ORG"])) == ["tokens", "tags"]
    assert names_of(find_layout(["EU"])) == ["tokens"]


def test_the_segments_of_weibo():
    text = "科0\tO\n技1\tO\n20\tB-PER.NAM\n31\tO\n" + "".join(f"{c}{n}\tO\n" for n, c in enumerate("abcdefghijk", 0))
    assert "".join(read(text)[0]["tokens"]) == "科技23abcdefghijk"
    assert read("A1\tO\nB2\tO\nC3\tO\nD4\tO\nE5\tO\nF6\tO")[0]["tokens"] == ["A1", "B2", "C3", "D4", "E5", "F6"]


def test_comments_and_counters():
    universal = "# sent_id = 1\n# text = I am.\n1\tI\tI\tPRON\t_\t_\t2\tnsubj\t_\t_\n2-3\tam.\t_\t_\t_\t_\t_\t_\t_\t_\n"
    universal += (
        "2\tam\tbe\tAUX\t_\t_\t0\troot\t_\t_\n2.1\tx\tx\tX\t_\t_\t0\troot\t_\t_\n3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_\n"
    )
    assert [(one["tokens"], one["tags"]) for one in read(universal)] == [(["I", "am", "."], ["PRON", "AUX", "PUNCT"])]
    german = "#\thttp://x\t[2009]\n1\tDie\tO\tO\n2\tAachener\tB-ORG\tB-LOC\n\n1\tUnd\tO\tO\n"
    assert [one["tags"] for one in read(german)] == [["O", "B-ORG"], ["O"]]
    assert read("# id 1\nEU B-ORG\n# O\n#tag O\n\n# id 2\nx O\ny O")[0]["tokens"] == ["EU", "#", "#tag"]


def test_blanks_that_are_tokens():
    assert read("a\tO\n\u3000\tO\n \tO\nb\tO\n")[0]["tokens"] == ["a", "\u3000", " ", "b"]
    assert read("a O\n\u3000 O\nb O\n")[0]["tokens"] == ["a", "\u3000", "b"]


def test_blanks_around_cells():
    text = "EU\tB-ORG \r\nrejects \t O\r\n \tO\u3000\r\nNew York\tB-LOC\r\n"
    (found,) = read(text)
    assert found["tokens"] == ["EU", "rejects", " ", "New York"]
    assert found["tags"] == ["B-ORG", "O", "O", "B-LOC"]
    assert read("EU\tB-ORG\t \nis\tO\t \n")[0]["tags"] == ["B-ORG", "O"]
    with pytest.raises(UserError, match=r"a.conll, line 2 has 1 column, but the file has 2: 'is\\t '"):
        read("EU\tB-ORG\nis\t \nin\tO")


def test_tokens_alone():
    assert read("one\ntwo\n\nthree") == [
        {"tokens": ["one", "two"], "columns": [["one", "two"]], "1": ["one", "two"]},
        {"tokens": ["three"], "columns": [["three"]], "1": ["three"]},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("EU B-ORG\nrejects\nGerman B-MISC\n", "a.conll, line 2 has 1 column, but the file has 2: 'rejects'"),
        ("EU\tB-ORG\n\nrejects\tO\tx\nb\tO\n", "a.conll, line 3 has 3 columns, but the file has 2"),
        ("EU\tB-ORG\n\tO\nb\tO", "a.conll, line 2 has 1 column, but the file has 2"),
        ("EU\tB-ORG\nin\tO\n\nParis\t\nb\tO", r"a.conll, line 4 has 1 column, but the file has 2: 'Paris\\t'"),
        ("EU\tORG\nin\tno\n\nParis\t\nb\tno", "a.conll, line 4 has 1 column, but the file has 2"),
        ("1\tDie\tO\tO\n2\tBonn\t\tO\n3\tx\tO\tO", "a.conll, line 2 has 3 columns, but the file has 4"),
    ],
)
def test_lines_that_lack_a_column(text, said):
    with pytest.raises(UserError, match=said):
        read(text)


def test_a_last_column_that_most_lines_leave_empty_holds_no_tags():
    assert read("EU\tB-ORG\t\nis\tO\tsic\nin\tO\t\n")[0]["tags"] == ["B-ORG", "O", "O"]
    assert "tags" not in read("EU\t\nis\t\n")[0]


REVIEWS = "房间很大，服务也好\t1\n房间不大，服务不好\t0\n" * 9


@pytest.mark.parametrize(
    ("text", "is_conll"),
    [
        ("EU NNP B-ORG\nrejects VBZ O", True),
        ("the DT\ncat NN\nsat VB\n\nthe DT\ndog NN\nran VB\na DT\nmile NN\nwell RB\ntoday NN\nnow RB\nso RB", True),
        ("# 1\nEU B-ORG\nis O\n", True),
        ("EU\tB-ORG\nis\t\nin\tO\n", True),
        ("EU NNP B-ORG\nis VB\nin IN O\n\nit PRP O\n", True),  # a broken line is named later
        ("EU\tB-ORG\nis O\nin\tO\n\nit\tO\n", True),
        ("#\thttp://x\t[2009]\n1\tDie\tO\tO\n2\tBonn\tB-LOC\tO\n\n1\tUnd\tO\tO\n", True),
        ("by E-mail\nby S-Bahn\n\nby sea and land\nthe I-95", False),
        ("Big O\n\nIt is a film.\nIt was a long one.\n\nBig O\n", False),
        ("good film\nbad film\n\nbad\nbad film\nbad film\nbad film\nbad film", False),
        ("good film\nbad film\n\nbad plot", False),
        ("a good film\t1\na bad film\t0\n", False),
        (f"房间大很，服务很好，下次还来\t1\n{REVIEWS}\n{REVIEWS}", False),
        ("房间大很服务很好 1\n房间不大服务不好 0\n" * 4 + "\n房间大很服务很好 1", False),
        ("text\tlabel\n" + "很好看\t1\n不好看\t0\n" * 9 + "\n还可以\t1\n", False),
        ("Question NN\nis VB\nit PR\n\n" + "It PR\nis VB\nfilm NN\n\n" * 4, True),
        ("word\tlabel\n" + "很\t1\n好看\t0\n" * 9 + "\n，\t1\n", True),
        ("text\tlabel\n" + "很\tO\n好看\tO\n" * 9 + "\n北京\tB-LOC\n", True),
        ("我\t1\n们\t2\n，\t0\n" * 4 + "\n你\t1\n", True),
        ("毛泽东\tPER\n在\tno\n北京\tLOC\n，\tno\n" * 4 + "\n中华人民共和国\tLOC\n", True),
        ("good\t1\nbad\t0\nfine\t1\n", False),
        ("", False),
    ],
)
def test_what_looks_like_conll(text, is_conll):
    assert look_like_conll(text.split("\n")) is is_conll


def test_every_character_of_weibo(shared):
    """All of its tokens are one character then, but for broken ones of two U+FFFD."""
    for part in ("train", "dev"):
        with gzip.open(shared / f"data/ner/weibo/{part}.conll.gz", "rt", encoding="utf-8", newline="\n") as file:
            text = file.read()
        tokens = [token for one in read(text) for token in one["tokens"]]
        assert len(tokens) == sum(1 for line in text.split("\n") if line)
        assert {token for token in tokens if len(token) != 1} == {"\ufffd\ufffd"}
