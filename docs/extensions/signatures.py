"""What a class is made from, where autodoc does not find it or Sphinx cannot read it."""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import signature, stringify_signature


def mended(
    app: Sphinx, what: str, name: str, made: Any, options: object, arguments: str | None, result: str | None
) -> tuple[str, str | None] | None:
    """Keras hides `__init__` behind a `__new__` that takes anything; defaults that a function makes are no Python."""
    del app, name, options
    if what == "class" and arguments == "(*args, **kwargs)":
        found = signature(made.__init__, bound_method=True)
        return stringify_signature(found, show_return_annotation=False, unqualified_typehints=True), result
    return (re.sub(r" ?= ?<factory>", " = ...", arguments), result) if arguments and "<factory>" in arguments else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Whenever autodoc has found a signature."""
    app.connect("autodoc-process-signature", mended)
    return {"parallel_read_safe": True}
