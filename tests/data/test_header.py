"""The first row is a header or it is not."""

import pytest

from unmask.data.header import has_header


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["sentence|label", "it is fine|1"], True),
        (["Text|Label"], True),
        (["|review|stars", "0|good|5"], True),
        (["文本|标签", "很好|好评"], True),
        (["标签|评论", "1|很好"], True),
        (["utt|speaker|n", "hello there|a|1", "bye now|b|2"], True),
        (["q|code", "how far is it to the station|DIST", "who was he in his life|PERSON"], True),
        (["gj04|1||The car honked.", "gj04|0|*|Car the honked."], False),
        (["很好的一部电影|news_edu", "这部电影不好看|news_edu"], False),
        (["0|a b c|d e f|entailment", "1|g h i|j k l|entailment"], False),
        (["good film|positive", "bad film|negative", "fine|positive"], False),
        (["question|Where is it?", "statement|It is here.", "question|Is it?"], False),
        (["label|label", "a|b"], True),  # and then refused
        (["yes|good"], False),
        (["Quality|#1 ID|#2 ID|#1 String|#2 String", "1|70|71|a b|c d", "0|72|73|e f|g h"], True),
        (["text|label", "a text|a", "text|b"], True),
        (["text|label|2019", "x y|a|3", "z|b|4"], True),
        (["Great movie|pos", "a very long review of a film that is not worth it|neg"], False),
    ],
)
def test_headers(rows, expected):
    assert has_header([row.split("|") for row in rows]) is expected
