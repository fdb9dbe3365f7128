"""The site builds without a warning, so without a link that leads nowhere, and every page is in it."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
GUIDES = sorted(path.relative_to(DOCS).with_suffix("") for path in DOCS.glob("[ez][nh]/*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    needed = ("sphinx", "myst_parser", "furo", "torch")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"{', '.join(missing)} is not installed; run: make install")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", out / "trees"]
    environment = {**os.environ, "KERAS_BACKEND": "torch"}
    built = subprocess.run([*command, DOCS, out / "html"], capture_output=True, text=True, check=False, env=environment)
    assert built.returncode == 0, built.stderr[-6000:]
    return out / "html"


def read(site, name):
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_every_guide_is_in_the_site_and_in_its_sidebar(site):
    assert len(GUIDES) > 2
    home = read(site, "index")
    for guide in GUIDES:
        assert (site / f"{guide}.html").is_file()
        assert f'href="{guide}.html"' in home


def test_chinese_pages_say_so_and_lead_to_the_english_ones(site):
    for guide in GUIDES:
        page = read(site, guide)
        other = "zh" if guide.parent.name == "en" else "en"
        assert f'href="../{other}/{guide.name}.html"' in page
        assert ('lang="zh-CN"' in page[:200]) == (guide.parent.name == "zh")


def test_titles_of_chinese_pages_are_chinese(site):
    for guide in GUIDES:
        title = re.search(r"<title>(.*?)</title>", read(site, guide), flags=re.S)[1]
        assert bool(re.search(r"[\u4e00-\u9fff]", title)) == (guide.parent.name == "zh") or "TensorFlow" in title


def test_the_reference_comes_from_docstrings(site):
    assert "The likeliest tokens for each mask, and the text filled in." in read(site, "api/unmask")
    assert "scaled_dot_product_attention" in read(site, "api/model")
    commands = read(site, "commands")
    for verb in ("quickstart", "finetune", "corpus build"):
        assert f"unmask {verb}" in commands


def test_pages_need_no_network(site):
    """Neither scripts nor styles nor fonts from elsewhere; formulas are MathML."""
    for path in site.rglob("*.html"):
        assert not re.search(r'<(script|link|img)[^>]+(src|href)="(https?:)?//', path.read_text(encoding="utf-8")), path
    if "\\sqrt" in (DOCS / "en" / "attention.md").read_text(encoding="utf-8"):
        assert "<msqrt>" in read(site, "en/attention")


def test_chinese_words_can_be_searched(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    words = json.loads(index[index.index("{") : index.rindex("}") + 1])["terms"]
    for word in ("注意", "分类", "微调", "attent"):
        assert word in words


def test_pages_of_the_root(site):
    assert "Adding a task" in read(site, "generated/contributing")
    assert 'href="contributing.html"' in read(site, "generated/overview")
