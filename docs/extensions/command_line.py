"""What the page of the command line includes, made by Typer from the commands themselves."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PAGE = Path("generated") / "command-line.md"


def write_page(app: Sphinx) -> None:
    """Asks `typer … utils docs` for it."""
    command = [sys.executable, "-m", "typer", "unmask.cli.app", "utils", "docs", "--name", "unmask"]
    asked = subprocess.run([*command, "--title", "Command line"], capture_output=True, check=True, encoding="utf-8")
    page = app.srcdir / PAGE
    page.parent.mkdir(exist_ok=True)
    page.write_text(tidied(asked.stdout), encoding="utf-8")


def tidied(text: str) -> str:
    """Without its title and without prompts, which a copied command would carry along."""
    text = text.partition("\n")[2]
    text = re.sub(r"^\$ ", "", text, flags=re.M)
    return re.sub(r"^(#+) `(.*)`$", r"\1 \2", text, flags=re.M)


def setup(app: Sphinx) -> dict[str, Any]:
    """Before anything is read."""
    app.connect("builder-inited", write_page, priority=100)
    return {"parallel_read_safe": True}
