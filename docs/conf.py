"""The site: guides in two languages and the reference, by Sphinx, MyST and Furo; see `make docs`."""

import os
import sys
from pathlib import Path

from pygments.lexers.shell import BashLexer
from pygments.lexers.special import TextLexer

os.environ.setdefault("KERAS_BACKEND", "torch")  # autodoc imports the model, and with it Keras
sys.path.insert(0, str(Path(__file__).parent / "extensions"))

from unmask import __version__

project = "unmask"
author = "The unmask authors"
copyright = "The unmask authors. Apache-2.0"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "command_line",
    "mathml",
    "pages_of_the_root",
    "signatures",
    "two_languages",
]
exclude_patterns = ["figures", "extensions", "generated/command-line.md"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

default_role = "code"  # docstrings put names between single backticks, as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "exclude-members": "build"}
python_maximum_signature_line_length = 100

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"unmask {release}"
html_copy_source = False
html_static_path = ["_static"]
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {
        "font-stack": "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', Helvetica, Arial, "
        "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans SC', sans-serif",
    },
}
linkcheck_timeout = 20


def setup(app):
    """Commands are shown as a shell's input, since no block of ours has a prompt or output; CSV is plain text."""
    app.add_lexer("console", BashLexer)
    app.add_lexer("csv", TextLexer)
