"""The guides are true: every block of code is run, or says why not; English and Chinese tell the same."""

import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import guide_runner
from guide_runner import GuideError, Runner, headings, read_blocks, same_blocks

DOCS = Path(__file__).parent.parent / "docs"
ON_EVERY_BACKEND = ("frameworks.md",)
ENGLISH = sorted((DOCS / "en").glob("*.md"))
GUIDES = [*ENGLISH, *sorted((DOCS / "zh").glob("*.md"))]


def name_of(guide):
    return f"{guide.parent.name}/{guide.stem}"


def blocks_of(guide):
    return read_blocks(guide.read_text(encoding="utf-8"), str(guide))


def is_same_in_english(guide):
    """Then it is not run: its blocks are those of the English guide, but for comments."""
    twin = DOCS / "en" / guide.name
    return guide != twin and twin.exists() and same_blocks(blocks_of(guide), blocks_of(twin))


def run(guide, backend, folder):
    """In a process of its own, on one thread: the same numbers wherever it runs."""
    command = [sys.executable, guide_runner.__file__, guide, "--backend", backend, "--folder", folder]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def need(backend):
    if importlib.util.find_spec(backend) is None and not os.environ.get("CI"):
        pytest.skip(f"{backend} is not installed")


def succeeded(ran):
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-6000:]


@pytest.fixture(scope="module")
def running(request, tmp_path_factory):
    """All guides that are asked for, as many at a time as there are cores."""
    need("torch")
    mine = [item for item in request.session.items if getattr(item, "originalname", "") == "test_a_guide_runs"]
    chosen = [guide for item in mine if not is_same_in_english(guide := item.callspec.params["guide"])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {guide: pool.submit(run, guide, "torch", tmp_path_factory.mktemp(guide.stem)) for guide in chosen}


@pytest.mark.parametrize("guide", [guide for guide in GUIDES if guide.name not in ON_EVERY_BACKEND], ids=name_of)
def test_a_guide_runs(guide, running):
    if guide in running:
        succeeded(running[guide].result())


@pytest.mark.backend
@pytest.mark.parametrize("guide", [guide for guide in GUIDES if guide.name in ON_EVERY_BACKEND], ids=name_of)
def test_a_guide_runs_on_every_backend(guide, tmp_path):
    need(os.environ["KERAS_BACKEND"])
    if not is_same_in_english(guide):
        succeeded(run(guide, os.environ["KERAS_BACKEND"], tmp_path))


def test_both_languages_have_the_same_guides():
    assert [guide.name for guide in GUIDES if guide.parent.name == "zh"] == [guide.name for guide in ENGLISH]


@pytest.mark.parametrize("guide", ENGLISH, ids=name_of)
def test_both_languages_have_the_same_sections(guide):
    twin = DOCS / "zh" / guide.name
    assert headings(twin.read_text(encoding="utf-8")) == headings(guide.read_text(encoding="utf-8"))


@pytest.mark.parametrize("guide", GUIDES, ids=name_of)
def test_few_blocks_are_not_run(guide):
    """Each says why (`read_blocks` refuses a no-run without a reason), and most of a guide is run."""
    code = [block for block in blocks_of(guide) if block.language in ("python", "console")]
    kept = [block for block in code if block.reason]
    assert len(kept) <= max(2, len(code) // 3)


# The runner itself.


def page(*blocks):
    return "# Title\n\n" + "\n\n".join(f"```{info}\n{code}\n```" for info, code in blocks) + "\n"


def run_page(*blocks, backend="torch"):
    runner = Runner(backend)
    return [runner.run(block) for block in read_blocks(page(*blocks))]


def test_python_blocks_share_their_names():
    assert run_page(("python", "x = 2"), ("python", "print(x * 2)  # → 4")) == [True, True]


def test_a_promise_is_compared():
    with pytest.raises(GuideError, match=r"guide\.md:5: the guide promises\s+5\s+but this is printed:\s+4"):
        run_page(("python", "x = 2\nprint(x * 2)  # → 5"))


@pytest.mark.parametrize(
    "code",
    [
        "print('a   b')  # → a b",
        "print(\n    'a',\n    'b',\n)  # → a b",
        "print('a\\nb')\n# → a\n# → b",
        "for letter in 'ab':\n    print(letter)  # → a b",
        "def f():\n    print('a b')  # → a b\nf()",
        "print('#')  # the number sign\nprint('a b')  # → a b",
        "import sys\nprint('x', file=sys.stderr)\nprint('a', end=' ')  # → a",
    ],
)
def test_forms_of_promises(code):
    assert run_page(("python", code)) == [True]


@pytest.mark.parametrize("code", ["x = 2  # → 2", "# → 2", "print(2)\n\n# → 2", "if False:\n    print(2)  # → 2"])
def test_a_promise_without_a_print_is_refused(code):
    with pytest.raises(GuideError, match="promise"):
        run_page(("python", code))


def test_an_error_names_its_line():
    with pytest.raises(GuideError, match=r"(?s)guide\.md:9: the code fails.*ZeroDivisionError"):
        run_page(("python", "x = 0"), ("python", "y = 1\ny / x"))


def test_files_are_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(("csv file=data/reviews.csv", "text,label\n好,正面"), ("text", "not a file"))
    assert (tmp_path / "data" / "reviews.csv").read_text(encoding="utf-8") == "text,label\n好,正面\n"
    with pytest.raises(GuideError, match="not inside"):
        run_page(("text file=../x", "x"))


def test_blocks_of_another_backend_and_no_run_blocks_are_left_out():
    left_out = ("python backend=jax", "1 / 0"), ("python no-run: takes an hour", "1 / 0")
    assert run_page(*left_out) == [False, False]
    with pytest.raises(GuideError, match="ZeroDivisionError"):
        run_page(*left_out, backend="jax")


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ("python no-run", "needs its reason"),
        ("python no-run: ", "needs its reason"),
        ("bash", "write python or console"),
        ("python backend=mxnet", "no backend"),
        ("python norun", "not understood"),
    ],
)
def test_info_strings_that_would_hide_a_block(info, message):
    with pytest.raises(GuideError, match=message):
        read_blocks(page((info, "x")))


def test_commands():
    (block,) = read_blocks(page(("console", "unmask a 'b #c'  # d\n# e\nunmask f \\\n    g\n\npip install h")))
    told = [(4, "unmask a 'b #c'"), (6, "unmask f g"), (9, "pip install h")]
    assert list(guide_runner.commands(block)) == told


def test_a_command_runs_and_must_succeed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_page(("console", "unmask --version\npip install nothing\nunmask --version > version.txt"))
    assert capsys.readouterr().out == (tmp_path / "version.txt").read_text(encoding="utf-8")
    with pytest.raises(GuideError, match=r"guide\.md:4: .*exit code 2"):
        run_page(("console", "unmask info nosuch"))
    with pytest.raises(GuideError, match="one command a line"):
        run_page(("console", "unmask --version | head"))
    with pytest.raises(GuideError, match="nothing that is run"):
        run_page(("console", "unmaks --version"))
    run_page(("console", "KERAS_BACKEND=jax unmask info nosuch"))


def test_blocks_are_equal_but_for_comments():
    one = read_blocks(page(("python", "x = 1  # one\nprint(x)  # → 1"), ("console", "unmask a  # b"), ("text", "a")))
    other = read_blocks(page(("python", "# 一\nx = 1\nprint(x)  # → 1"), ("console", "unmask a  # 二"), ("text", "二")))
    assert same_blocks(one, other)
    assert not same_blocks(one, read_blocks(page(("python", "x = 1\nprint(x)  # → 2"), ("console", "unmask a"))))
    assert not same_blocks(one, other[:1])


def test_headings():
    assert headings("# A\n\n```python\n# no heading\n```\n\n## B\n\n### C\n") == [1, 2, 3]
