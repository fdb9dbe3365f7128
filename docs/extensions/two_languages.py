"""Chinese pages say that they are Chinese and can be searched, and each guide leads to its other language."""

import re
from itertools import pairwise
from typing import Any

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

_OTHER = {"en": ("zh", "中文"), "zh": ("en", "English")}
_HAN = re.compile(r"[\u3400-\u9fff]{2,}")


class SearchBoth(SearchEnglish):
    """English words, and of Chinese, which has no spaces, every two neighbouring characters: most words have two.

    Longer words are found as parts of what stands between two punctuation marks.
    """

    def split(self, input: str) -> list[str]:
        """What is put into the index."""
        pairs = {a + b for run in _HAN.findall(input) for a, b in pairwise(run)}
        return [*super().split(input), *sorted(pairs)]


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
    """When a page is written, and when its words are collected."""
    app.add_search_language(SearchBoth)
    app.connect("html-page-context", add_language)
    app.add_css_file("site.css")
    return {"parallel_read_safe": True}
