"""The contributing guide leads to what exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\d\. (.*?)(?=^\d\. |^#|\Z)", TEXT, flags=re.M | re.S)


def defined_in(path):
    """Functions, classes, methods and variables of a file, and the attributes that its classes declare."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:src|tests|docs)/[\w./-]+)`", TEXT))))
def test_files_exist(name):
    assert (ROOT / name).exists() or "NAME" in name


def test_steps_name_what_is_in_their_files():
    """A name between backticks is in a Python file that the same step names, or is a file."""
    checked = set()
    for step in STEPS:
        quoted = re.findall(r"`([^`]+)`", step)
        files = [ROOT / name for name in quoted if name.endswith(".py") and (ROOT / name).is_file()]
        there = {name for file in files for name in defined_in(file)} | {"label", "labels", "value", "tags", "start"}
        plain = [name for name in quoted if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)?", name) and not (ROOT / name).is_file()]
        names = {part for name in plain for part in name.split(".")}
        names -= {"transformers", "settings"} if files else names
        assert names <= there, step
        checked |= names
    assert {"task_class", "task_of", "ROLES", "answer_row", "TASKS", "FAMILIES"} <= checked


def test_the_targets_of_units_are_those_that_losses_know():
    from unmask.train import losses

    told = re.search(r"are named \((.*?)\)", TEXT, flags=re.S)[1]
    assert re.findall(r"`(\w+)`", told) == list(losses._LOSSES)
