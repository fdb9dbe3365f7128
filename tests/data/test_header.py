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
        (["v1|v2|||", "ham|see you at the station|||", "spam|a prize for you|||", "ham|no|||"], True),
        (["ham|v2|||", "ham|see you at the station|||", "spam|a prize for you|||"], False),
        (["|||", "a|b||", "c|d||"], False),
        (["clean_text|is_spam", "see you|ham", "a prize|spam"], True),
        (["clean_text|is_spam", "hello|ham"], True),
        (["tweet_text|existence", *["so it is|yes", "not at all|no", "is it|yes"] * 3], True),
        (["phrase|cls", *["so it is|joy", "not at all|anger", "well|joy", *["is it|joy"] * 8]], True),
        (["phrase|cls", *["这个不错|好", "不太好|差"] * 3], True),
        (["phrase|cls", "so it is|joy", "not at all|anger"], False),  # may as well be a text and its class
        (["thanks|joy", *["so it is|joy", "not at all|anger"] * 4], False),
        (["thanks|grief", *["hello|joy", "no|anger", "so it is|joy"] * 4], False),
        (["dog|NOUN", *["run|VERB", "cat|NOUN", "see|VERB"] * 4], False),
        (["tweet_text|topic_name", *["so it is|news_edu", "well|news_car"] * 4], True),
        (["thanks|merci", *[f"good day {n}|bonne journée {n}" for n in range(9)]], False),
        (["cloud_9|news_spd", "so it is|news_edu", "well|news_car"], False),
        (["很好|news_edu", *["这个不错|news_car", "不太好|news_car"] * 4], False),
        (["gj_04|ok", *["the car honked|ok", "car the honked|no"] * 4], False),
    ],
)
def test_headers(rows, expected):
    assert has_header([row.split("|") for row in rows]) is expected
