"""What a layer or a model is made from: Keras hides it behind (*args, **kwargs) of its own `__new__`."""

from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import signature, stringify_signature


def show_init(
    app: Sphinx, what: str, name: str, made: Any, options: object, arguments: str | None, result: str | None
) -> tuple[str, str | None] | None:
    """The arguments of `__init__`, for a class that seems to take anything."""
    del app, name, options
    if what != "class" or arguments != "(*args, **kwargs)":
        return None
    return stringify_signature(signature(made.__init__, bound_method=True), unqualified_typehints=True), result


def setup(app: Sphinx) -> dict[str, Any]:
    """Whenever autodoc has found a signature."""
    app.connect("autodoc-process-signature", show_init)
    return {"parallel_read_safe": True}
