"""README, the map and the list of deviations are true: what they show is run, what they name exists."""

import ast
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")

# Not run here, and why: make and pip are what CI itself runs; SRC and DEST are the reader's own folders, which
# tests/cli/test_imports.py stands in for.
NOT_RUN = ("make ", "pip ", "unmask import ")


def blocks(language, page=README):
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.S)


def test_the_python_of_the_readme_runs():
    """All blocks in one process, in order, and each `# (…)` comment after a print is what it prints."""
    code = "\n".join(blocks("python"))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    promised = re.findall(r"^print\(.*?\)  # (\([\d, ]+\))", code, flags=re.M)
    assert len(promised) == 3
    shapes = [re.sub(r"torch\.Size\(\[(.*)\]\)", r"(\1)", line) for line in ran.stdout.splitlines()]
    assert [shape for shape in shapes if shape in promised] == promised


def commands(needed=None, page=README):
    """Those of the block that needs the reader's file, in order, or those that need none."""
    for block in blocks("console", page):
        if next((file for file in ("books/", "reviews.csv") if file in block), None) == needed:
            lines = (line.split("#")[0].strip() for line in block.splitlines())
            yield from (line for line in lines if line and not line.startswith(NOT_RUN))


def run_command(command, **options):
    program, *arguments = shlex.split(command)
    program = str(Path(sys.executable).parent / program)
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("command", list(commands()))
def test_the_commands_of_the_readme_run(command):
    ran = run_command(command)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


@pytest.mark.parametrize("page", [README, CHINESE], ids=["English", "Chinese"])
def test_the_way_from_plain_text_runs(tmp_path, page):
    """The commands as they stand, but for the time: half an hour becomes two steps. The books are made up."""
    draw = random.Random(0)
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "el", "or")]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(12_000)]
    if page is CHINESE:
        words += [chr(draw.randrange(0x4E00, 0x4E00 + 4000)) + chr(0x4E00 + n) for n in range(4000)]
    lines = [" ".join(draw.choices(words, k=12)) + "." for _ in range(6000)]
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "one.txt").write_text("\n\n".join(lines), encoding="utf-8")
    told = list(commands("books/", page))
    assert [command.split()[1] for command in told] == ["tokenizer", "corpus", "pretrain", "fill"]
    for command in told:
        ran = run_command(command.replace("--hours 0.5", "--steps 2"), cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout


def test_the_way_from_a_csv_file_runs(tmp_path):
    """The commands as they stand, on reviews that are made up."""
    draw = random.Random(0)
    words = {"good": ["joy", "lovely", "superb"], "bad": ["dull", "awful", "boring"]}
    rows = []
    for number in range(60):
        label = ("good", "bad")[number % 2]
        text = " ".join(
            [f"film {number}", *draw.choices(["the", "plot", "was", "and"], k=3), draw.choice(words[label])]
        )
        rows.append((text, label))
    for name, chosen in (("reviews", rows[:40]), ("test", rows[40:]), ("new", rows[40:])):
        lines = ["text,label", *(f"{text},{label}" for text, label in chosen)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    told = list(commands("reviews.csv"))
    assert told == list(commands("reviews.csv", CHINESE))
    assert [command.split()[1] for command in told] == ["finetune", "evaluate", "predict"]
    for command in told:
        ran = run_command(command, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout
    assert (tmp_path / "my-model" / "evaluation" / "evaluation.html").is_file()
    assert len((tmp_path / "labelled.csv").read_text(encoding="utf-8").splitlines()) == 21


def test_the_targets_of_the_readme_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"make ([a-z]+)", README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert {"quickstart", "test", "bench"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.M), target


def names_in(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_the_map_leads_to_what_exists():
    text = (ROOT / "docs" / "MAP.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) > 30
    for row in rows:
        file = None
        for name in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1]):
            if "." in name:
                file = ROOT / "src" / "unmask" / name
                assert file.is_file(), name
            elif name != "documents_BL":
                assert name in names_in(file), f"{name} in {file.name}"


def test_every_deviation_is_held_by_a_test():
    text = (ROOT / "docs" / "DEVIATIONS.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    held = [re.search(r"`([\w/]+\.py)::(\w+)` \|$", row) for row in rows]
    assert len(held) > 15
    for row, test in zip(rows, held, strict=True):
        assert test, row
        assert test[2] in names_in(ROOT / "tests" / test[1]), row


def test_links_inside_the_repository():
    for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_nothing_in_the_repository_names_a_machine():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.split():
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        assert not re.search(r"/(root|work|home/[a-z]+)/", text), name
