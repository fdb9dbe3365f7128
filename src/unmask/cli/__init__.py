"""The command line: one file a verb, all of them thin. A user's mistake is one sentence and exit code 2."""

import errno
import os
import sys
from pathlib import Path

from unmask.cli.app import app
from unmask.errors import UserError

__all__ = ["app", "main"]


def main() -> None:
    """The entry point of the `unmask` command."""
    try:
        app()
    except (UserError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        print(f"Error: {_sentence(error)}", file=sys.stderr)
        sys.exit(2)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "The disk is full; make room, or choose another place, and run the same command again."
    if isinstance(error, FileExistsError | NotADirectoryError) and error.filename:
        path = Path(os.fsdecode(error.filename))
        if file := next((part for part in (path, *path.parents) if part.is_file()), None):
            return f"{file} is a file, not a folder; choose another place."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)
