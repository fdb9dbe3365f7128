"""Text ↔ token ids, on the Rust `tokenizers` library; imports no framework."""

from unmask.text.tokenizer import Batch, Encoding, Tokenizer, has_tokenizer, load_tokenizer

__all__ = ["Batch", "Encoding", "Tokenizer", "has_tokenizer", "load_tokenizer"]
