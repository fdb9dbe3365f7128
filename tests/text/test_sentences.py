"""Where sentences begin: English, Chinese, abbreviations, numbers, quotes, wrapped lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.text.sentences import sentence_starts


@pytest.mark.parametrize(
    "text",
    [
        "It rains. |Does it? |It does! |Well… |Perhaps.",
        "Mr. Smith met Dr. J. K. Rowling in the U.S. on Jan. 5. |They talked, e.g. About cats.",
        "Mr.\nSmith came (St. Paul’s). |All left.",
        "It costs 3.50 dollars. |It was 1990. |Then came 1991.",
        "1. Wash it. |2. Dry it.",
        "See No. 5 and fig. 3. |He said no. |See vol. 2.",
        "So do I. |You too.",
        "“What?” he said. |“Nothing!” |She left (at last.) |Silence.",
        '"Wait..." she said. |Then she left... |"No!"',
        "The end of a line\n|Begins another. \r\n |And another",
        "this is wrapped\nin the middle, and after a comma,\nParis follows. |It ends.",
        "And he began to tell them, as he had been told by those of the north\nPaul the Elder, that\n|All was lost",
        "He began\n|And all that he told them was as he had been told by those of the\n",
        "A blank line\n\n|always ends it.\n \n|really",
        "i am all small. |so are you? |and\n|this",
        "今天天气很好。|我们去公园吧！|好吗？|好；|走。",
        "他说：“真的吗？”|我不信。|「好。」|（完。）|走吧\n|下一行",
        "不错!|下次再来.|好评",
        "真的……好吗？！|好。",
        "价格是3.5元，1.5元。|It is fine. |很好！|OK.",
        "No end",
        "  spaces. |A  ",
    ],
)
def test_cut(text):
    """A bar stands where a sentence begins."""
    parts = text.split("|")
    starts = [sum(map(len, parts[:i])) for i in range(len(parts))]
    assert sentence_starts("".join(parts)).tolist() == starts


def test_edges():
    assert sentence_starts("").tolist() == []
    assert sentence_starts("   ").tolist() == [0]
    assert sentence_starts("One.  ").tolist() == [0]
    assert sentence_starts("One. \r\n Two.").tolist() == [0, 8]


@settings(deadline=None, max_examples=300)
@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" .!?…。！？；”\"'\nAa1北")), max_size=60))
def test_sentences_cover_any_text(text):
    """Starts grow, and no sentence but the first begins with a space."""
    starts = sentence_starts(text).tolist()
    assert starts[:1] == ([0] if text else [])
    assert starts == sorted(set(starts))
    assert all(start < len(text) and not text[start].isspace() for start in starts[1:])
