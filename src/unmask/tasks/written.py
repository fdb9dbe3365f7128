"""Lists and objects in a cell of a table, as JSON, Python or NumPy writes them; nothing is run."""

import ast
import json
import re
from typing import Any

_LIST = re.compile(r"\[.*\]|\(.*\)|\{.*\}", re.DOTALL)
_PART = re.compile(r"""('(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[-+.\w]++)(\s+(?=['"\w.+-]))?""", re.DOTALL)
"""A part of a list, and the blanks up to the next if no comma is between: NumPy writes none, and Python would read
'a' 'b' as one text."""
_UNREADABLE = (ValueError, SyntaxError, RecursionError, MemoryError)


def read_list(text: str) -> list[Any] | None:
    """The parts of a list without blanks around it; None if it is no list.

    >>> read_list('["a", "b"]'), read_list("['a', 'b']"), read_list("['a' 'b']"), read_list("[a, b]")
    (['a', 'b'], ['a', 'b'], ['a', 'b'], None)
    """
    if not _LIST.fullmatch(text):
        return [] if text == "set()" else None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _read_python(text)
    return found if isinstance(found, list) else None


def _read_python(text: str) -> list[Any] | None:
    """The parts of a list, tuple or set of texts and numbers, in their order."""
    try:
        commas = _PART.sub(lambda part: part[1] + ", " if part[2] else part[1], text)
        tree = ast.parse(commas, mode="eval").body
        if not isinstance(tree, ast.List | ast.Tuple | ast.Set):
            return None
        parts = [ast.literal_eval(_bare(part)) for part in tree.elts]
    except _UNREADABLE:
        return None
    return parts if all(isinstance(part, str | int | float) for part in parts) else None


def read_object(text: str) -> dict[str, Any] | None:
    """An object, as JSON or as Python prints a dict, with arrays of NumPy in it or not; None if it is none.

    >>> read_object("{'text': array(['a'], dtype=object), 'start': [3]}")
    {'text': ['a'], 'start': [3]}
    """
    found = _read(text)
    return found if isinstance(found, dict) else None


def read_nested(text: str) -> list[Any] | None:
    """A list of objects or of lists, written in either way; None if it is none.

    >>> read_nested("[{'start': 0, 'end': np.int64(2)}]"), read_nested("[(0, 2, 'ORG')]")
    ([{'start': 0, 'end': 2}], [(0, 2, 'ORG')])
    """
    found = _read(text)
    return found if isinstance(found, list) else None


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        try:
            return ast.literal_eval(_Bare().visit(ast.parse(text, mode="eval")))
        except _UNREADABLE:
            return None


class _Bare(ast.NodeTransformer):
    """Takes off the types that NumPy writes around values."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self.generic_visit(_bare(node))


def _bare(part: ast.expr) -> ast.expr:
    """What a value of NumPy holds, which writes its type around it: `np.str_('O')`, `array([3], dtype=int32)`."""
    if isinstance(part, ast.Call) and len(part.args) == 1:
        name = ast.unparse(part.func)
        return part.args[0] if name.startswith("np.") or name == "array" else part
    return part
