"""README, contributing guide and changelog stand at the root, where GitHub looks; here they become pages."""

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PAGES = {
    "README.md": "overview",
    "README.zh-CN.md": "overview.zh",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
}
"""Files of the root, and their names in `generated/`."""

_LINK = re.compile(r"\]\((?![a-z]+:|#|/)([^)#\s]+)")


def relinked(text: str, at: Path, shown_at: Path, root: Path) -> str:
    """The links of a page that lies in the folder `at`, for one that is shown in the folder `shown_at`.

    Those to files of the root lead to their pages.
    """
    site = root / "docs"

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(at / found[1]))
        if target.parent == root and target.name in PAGES:
            target = site / "generated" / f"{PAGES[target.name]}.md"
        return f"]({os.path.relpath(target, shown_at)}"

    return _LINK.sub(link, text)


def write_pages(app: Sphinx) -> None:
    """Writes them anew."""
    root, folder = app.srcdir.parent, app.srcdir / "generated"
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        text = relinked((root / name).read_text(encoding="utf-8"), root, folder, root)
        (folder / f"{page}.md").write_text(text, encoding="utf-8")


def relink(app: Sphinx, name: str, source: list[str]) -> None:
    """Links from any other page to those of the root."""
    if not name.startswith("generated/"):
        folder = (app.srcdir / name).parent
        source[0] = relinked(source[0], folder, folder, app.srcdir.parent)


def setup(app: Sphinx) -> dict[str, Any]:
    """Before anything is read."""
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("source-read", relink)
    return {"parallel_read_safe": True}
