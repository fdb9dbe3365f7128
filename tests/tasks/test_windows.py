"""Windows: nothing is lost between them, and their special tokens are the tokenizer's own."""

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models

from odd_texts import TEXTS, TOKENIZERS
from unmask import Tokenizer, UserError
from unmask.tasks.windows import best_window, cut, frame_of

SIZES = st.integers(1, 40).flatmap(lambda room: st.tuples(st.integers(0, 200), st.just(room), st.integers(0, room - 1)))


@given(SIZES)
def test_every_token_is_in_a_window_and_every_short_span_in_one(sizes):
    n, room, overlap = sizes
    windows = cut(n, room, overlap)
    assert all(0 <= start <= end <= n and end - start <= room for start, end in windows)
    assert {token for window in windows for token in range(*window)} == set(range(n))
    for first in range(n - overlap):
        assert any(start <= first and first + overlap < end for start, end in windows)
    if n > room:
        assert {end - start for start, end in windows} == {room}
        assert len(set(windows)) == len(windows)


@given(SIZES)
def test_the_best_window_has_most_context(sizes):
    n, room, overlap = sizes
    windows = cut(n, room, overlap)

    def context(token, window):
        start, end = windows[window]
        return min(token - start if start else n, end - 1 - token if end < n else n)

    for token, window in enumerate(best_window(n, windows).tolist()):
        holding = [i for i, (start, end) in enumerate(windows) if start <= token < end]
        assert window in holding
        assert context(token, window) == max(context(token, i) for i in holding)


def test_windows_that_cannot_go_on():
    assert cut(0, 5, 2) == [(0, 0)]
    with pytest.raises(UserError, match="room for 5 tokens of text cannot share 5"):
        cut(9, 5, 5)
    with pytest.raises(UserError, match="room for 0 tokens"):
        cut(9, 0, 0)


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_a_framed_text_is_what_the_tokenizer_makes(kind, text, pair):
    tokenizer = TOKENIZERS[kind]
    one, two = (encoding.ids for encoding in tokenizer.encode_many([text, pair], special=False))
    alone, both = tokenizer.encode(text), tokenizer.encode(text, pair)
    framed = frame_of(tokenizer, 1).around(one)
    assert (framed.ids, framed.segments) == (alone.ids, alone.segments)
    frame = frame_of(tokenizer, 2)
    framed = frame.around(one, two)
    assert (framed.ids, framed.segments) == (both.ids, both.segments)
    assert framed.ids[frame.start_of(one) : frame.start_of(one) + len(two)] == two
    assert frame.size == len(framed.ids) - len(one) - len(two)


def test_a_tokenizer_that_knows_nothing():
    with pytest.raises(UserError, match="no token for any of"):
        frame_of(Tokenizer(tokenizers.Tokenizer(models.BPE())), 1)
