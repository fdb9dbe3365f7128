"""Model folders: Hugging Face's own format, read and written; and the importers of older ones."""

from unmask.checkpoint.folder import load_model, read_config, save_model

__all__ = ["load_model", "read_config", "save_model"]
