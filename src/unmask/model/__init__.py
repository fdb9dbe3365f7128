"""The papers, in the papers' order and words; `keras.ops` and `keras.layers` only, so it runs on every backend.

Importing this package imports Keras, hence `unmask.backend.choose` comes first.

Letters at the end of a tensor's name are its axes: B batch, L length, M memory length, D d_model, H heads,
K head width, F d_ff, V vocabulary, P predicted positions, C classes, N choices.
"""

from unmask import backend

backend.choose()

from unmask.model.bert import Bert  # noqa: E402  (the backend is chosen before Keras is imported)
from unmask.model.search import beam_search, greedy_search  # noqa: E402
from unmask.model.transformer import Transformer  # noqa: E402

__all__ = ["Bert", "Transformer", "beam_search", "greedy_search"]
