"""Text ↔ token ids, on the Rust `tokenizers` library; imports no framework."""

from unmask.text.tokenizer import Batch, Encoding, Tokenizer, load_tokenizer

__all__ = ["Batch", "Encoding", "Tokenizer", "load_tokenizer"]
