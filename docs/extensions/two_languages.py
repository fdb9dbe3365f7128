"""Chinese pages say that they are Chinese, and each guide leads to its other language."""

from typing import Any

from sphinx.application import Sphinx

_OTHER = {"en": ("zh", "中文"), "zh": ("en", "English")}


def add_language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """The attribute `lang`, and a link at the head of a guide."""
    del template, doctree
    if page.startswith("zh/") or page.endswith(".zh"):
        context["language"] = "zh-CN"
    folder, _, name = page.partition("/")
    other, label = _OTHER.get(folder, ("", ""))
    if other and f"{other}/{name}" in app.env.all_docs and "body" in context:
        there = app.builder.get_relative_uri(page, f"{other}/{name}")
        context["body"] = f'<p class="other-language"><a href="{there}">{label}</a></p>\n{context["body"]}'


def setup(app: Sphinx) -> dict[str, Any]:
    """When a page is written."""
    app.connect("html-page-context", add_language)
    app.add_css_file("site.css")
    return {"parallel_read_safe": True}
