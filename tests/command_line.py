"""The command line in this process: a model that is compiled stays so, and nothing is imported twice."""

import sys
from typing import NamedTuple

from unmask.cli import main


class Ran(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


def run(capsys, monkeypatch, *arguments):
    """`unmask ARGUMENTS` as a user meets it."""
    monkeypatch.setattr(sys, "argv", ["unmask", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", "160")
    capsys.readouterr()
    try:
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    return Ran(code, *capsys.readouterr())


def is_one_sentence(ran, message):
    """Whether a mistake was told as it should be."""
    assert ran.code == 2, ran
    assert "Traceback" not in ran.err
    told = [line for line in ran.err.splitlines() if line.startswith("Error: ")]
    assert len(told) == 1, ran.err
    assert message in told[0]
    return True
