"""Formulas as MathML, which browsers show by themselves: a page needs neither a script nor a network."""

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)

_SPELLED_OUT = {r"\\dots(?![a-z])": r"\\ldots", r"\\([td]?frac)(\d)(\d)": r"\\\1{\2}{\3}"}
"""What LaTeX allows and docutils does not know: the pattern, and the same at length."""


def converted(node: nodes.Element, *, block: bool) -> str:
    """LaTeX as MathML; what is not understood is shown as it is, with a warning."""
    latex = node.astext()
    for pattern, spelled_out in _SPELLED_OUT.items():
        latex = re.sub(pattern, spelled_out, latex)
    if block and r"\\" in latex and not latex.lstrip().startswith(r"\begin"):
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    try:
        return str(tex2mathml(latex, as_block=block))
    except (SyntaxError, ValueError) as error:  # docutils' MathError is a ValueError
        log.warning("this formula is not understood: %s (%s)", latex, error, location=node)
        return f"<code>{html.escape(latex)}</code>"


def visit_math(self: Any, node: nodes.math) -> None:
    """A formula in a line."""
    self.body.append(converted(node, block=False))
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    """A formula of its own."""
    self.body.append(f'<div class="math">{converted(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Makes `mathml` a value of html_math_renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True}
