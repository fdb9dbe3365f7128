"""The help of every verb fits two screens and shows examples; the shell completes verbs, options and values."""

import pytest
import typer
from typer.testing import CliRunner

import command_line
from unmask.cli import completions
from unmask.cli.app import app


def paths(command, path=()):
    """Every verb, as its words."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from paths(inner, (*path, name))


PATHS = list(paths(typer.main.get_command(app)))


def help_of(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = CliRunner().invoke(app, [*path, "--help"], prog_name="unmask")
    assert shown.exit_code == 0
    return shown.output


@pytest.mark.parametrize("path", PATHS, ids=lambda path: " ".join(("unmask", *path)))
def test_help_fits_two_screens_and_has_examples(path, monkeypatch):
    lines = help_of(path, monkeypatch).splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 100
    start = next(i for i, line in enumerate(lines) if line.strip().startswith("Example"))
    assert any(" ".join(("unmask", *path)) in line for line in lines[start:])


def test_verbs_stand_in_the_order_of_work(monkeypatch):
    text = help_of((), monkeypatch)
    places = [
        text.index(f"│ {verb} ") for verb in ("quickstart", "tokenizer", "corpus", "pretrain", "finetune", "doctor")
    ]
    assert places == sorted(places)


def completed(capsys, monkeypatch, line):
    """What bash is offered for the last word of a line."""
    monkeypatch.setenv("_UNMASK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    ran = command_line.run(capsys, monkeypatch)
    assert ran.code == 0, ran.err
    return ran.out.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("unmask fi", ["fill", "finetune"]),
        ("unmask corpus ", ["build", "info"]),
        ("unmask finetune ", ["classify", "regress", "tag", "read", "choose"]),
        ("unmask finetune tag --scheme IOB", ["IOB1", "IOB2", "IOBES"]),
        ("unmask fill my-model --back", ["--backend"]),
        ("unmask fill my-model --backend ", ["torch", "jax", "tensorflow"]),
        ("unmask predict my-model --kind c", ["csv", "conll"]),
        ("unmask pretrain --backend t", ["torch", "tensorflow"]),
        ("unmask pretrain --config bert", ["bert", "bert-mini"]),
        ("unmask pretrain --mask-unit ", ["token", "word", "span"]),
        ("unmask tokenizer train --kind ", ["bpe", "wordpiece", "unigram"]),
        ("unmask corpus build --segmenter r", ["rjieba"]),
        ("unmask corpus build --normalize n", ["nfc", "nfkc", "none"]),
        ("unmask quickstart --language ", ["en", "zh"]),
    ],
)
def test_completion(capsys, monkeypatch, line, offered):
    assert completed(capsys, monkeypatch, line) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(capsys, monkeypatch, shell):
    monkeypatch.setenv("_UNMASK_COMPLETE", f"source_{shell}")
    ran = command_line.run(capsys, monkeypatch)
    assert ran.code == 0
    assert "_UNMASK_COMPLETE" in ran.out


def test_every_value_of_a_recipe_that_is_completed_can_be_read():
    from unmask.train.recipe import Recipe

    for key in ("size", "masking", "mask_unit", "precision"):
        for value in completions.of_recipe(key)():
            assert getattr(Recipe.read("roberta-mini", **{key: value}), key) == value
