"""The rules of the house: what may import what."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "unmask"
FRAMEWORKS = {"torch", "tensorflow", "jax"}
MODULES = sorted(SOURCE.rglob("*.py"))


def imports_of(path):
    """Every module that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(path):
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_backend_names_the_frameworks(path):
    if room_of(path) != "backend":
        assert not {name for name in imports_of(path) if name.split(".")[0] in FRAMEWORKS}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_rooms_import_downwards_only(path):
    below = {
        "errors": set(),
        "config": {"errors"},
        "backend": {"errors"},
        "sources": {"errors", "files"},
        "files": {"errors"},
        "progress": {"errors"},
        "interruption": set(),
        "lengths": set(),
        "memory": set(),
        "text": {"config", "errors", "sources", "files", "progress"},
        "data": {"text", "errors", "files", "sources"},
        "corpus": {"data", "text", "errors", "files", "progress"},
        "model": {"config", "errors", "backend", "lengths"},
        "checkpoint": {"model", "text", "config", "errors", "backend", "sources", "files"},
        "tasks": {"data", "text", "errors"},
        "engines": {"tasks", "model", "backend", "errors"},
        "report": {"tasks", "errors", "files"},
        "predict": {"engines", "tasks", "checkpoint", "model", "data", "text", "errors", "backend", "sources", "files"},
        "train": {
            *("tasks", "engines", "predict", "checkpoint", "model", "data", "text", "config", "errors"),
            *("backend", "sources", "files", "progress", "lengths", "interruption", "memory"),
        },
        "predict_file": {"predict", "tasks", "data", "errors", "files", "interruption", "memory", "progress"},
        "quickstart": {"checkpoint", "model", "backend", "train", "data", "text", "errors", "files"},
        "evaluate": {"report", "predict", "tasks", "data", "errors", "files", "progress"},
    }
    room = room_of(path)
    if room not in below:
        return
    used = {name.split(".")[1] for name in imports_of(path) if name.startswith("unmask.")}
    named = {name.split(".")[1] for name in imports_of(path) if name.startswith("unmask.") and name.count(".") == 1}
    assert (used | named) - {"__version__"} <= below[room] | {room}


@pytest.mark.parametrize(
    "room", ["text", "corpus", "data", "tasks", "report", "sources", "config", "errors", "files", "progress"]
)
def test_rooms_without_keras(room):
    paths = [path for path in MODULES if room_of(path) == room]
    assert paths
    assert not {name for path in paths for name in imports_of(path) if name.split(".")[0] == "keras"}


@pytest.mark.parametrize(
    "statement",
    [
        "import unmask",
        "from unmask import Tokenizer, load_tokenizer, preset",
        "import unmask.checkpoint.describe",
        "import unmask.cli",
    ],
)
def test_importing_loads_no_framework(statement):
    """In a process of its own: afterwards neither Keras nor a framework is there."""
    check = (
        "import sys; print([m for m in ('keras', 'torch', 'tensorflow', 'jax', 'transformers') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", f"{statement}; {check}"], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_functions_fit_a_screen():
    long = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = node.end_lineno - body[0].lineno + 1 if body else 0
                if length > 40:
                    long.append(f"{path.name}:{node.name} has {length} lines")
    assert long == []
