"""`unmask import`: the three verbs on real files, what they print, and exit code 2 without a traceback."""

import json
import subprocess
import sys
from argparse import Namespace

import pytest
import tensorflow as tf
import torch
import transformers

import hf_models
from unmask.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs `unmask …` in this process: (exit code, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["unmask", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def fairseq(tmp_path):
    """The smallest RoBERTa that fairseq could have trained, with one classification head."""
    width, state = 4, {}

    def linear(name, n_out, n_in):
        state.update({f"{name}.weight": torch.rand(n_out, n_in), f"{name}.bias": torch.rand(n_out)})

    def norm(name):
        state.update({f"{name}.weight": torch.rand(width), f"{name}.bias": torch.rand(width)})

    state["encoder.sentence_encoder.embed_tokens.weight"] = state["encoder.lm_head.weight"] = torch.rand(9, width)
    state["encoder.sentence_encoder.embed_positions.weight"] = torch.rand(12, width)
    norm("encoder.sentence_encoder.layernorm_embedding")
    layer = "encoder.sentence_encoder.layers.0"
    for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
        linear(f"{layer}.self_attn.{part}", width, width)
    linear(f"{layer}.fc1", 8, width)
    linear(f"{layer}.fc2", width, 8)
    norm(f"{layer}.self_attn_layer_norm")
    norm(f"{layer}.final_layer_norm")
    linear("encoder.lm_head.dense", width, width)
    norm("encoder.lm_head.layer_norm")
    state["encoder.lm_head.bias"] = torch.rand(9)
    linear("classification_heads.mnli.dense", width, width)
    linear("classification_heads.mnli.out_proj", 3, width)
    folder = tmp_path / "fairseq"
    folder.mkdir()
    torch.save({"args": Namespace(encoder_attention_heads=2), "model": state}, folder / "model.pt")
    (folder / "dict.txt").write_text("262 9\n13 8\n11 7\nmadeupword0000 0\n", encoding="utf-8")
    return folder


@pytest.fixture
def pickled(tmp_path):
    folder = tmp_path / "pickled"
    model = hf_models.make("bert", "mlm")
    model.config.architectures = ["BertForMaskedLM"]
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    return folder


@pytest.fixture
def google(tmp_path):
    """BERT's encoder of one layer, all zeros: what is in it is tested elsewhere."""
    folder = tmp_path / "uncased_L-1"
    folder.mkdir()
    raw = {"vocab_size": 6, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2}
    raw |= {"intermediate_size": 8, "max_position_embeddings": 10, "type_vocab_size": 2, "hidden_act": "gelu"}
    (folder / "bert_config.json").write_text(json.dumps(raw), encoding="utf-8")
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n", encoding="utf-8")
    layer = "bert/encoder/layer_0"
    kernels = {f"{layer}/attention/self/{part}": (4, 4) for part in ("query", "key", "value")}
    kernels |= {f"{layer}/attention/output/dense": (4, 4), f"{layer}/intermediate/dense": (4, 8)}
    kernels |= {f"{layer}/output/dense": (8, 4)}
    shapes = {f"{name}/kernel": shape for name, shape in kernels.items()}
    shapes |= {f"{name}/bias": (shape[1],) for name, shape in kernels.items()}
    for norm in ("bert/embeddings", f"{layer}/attention/output", f"{layer}/output"):
        shapes |= {f"{norm}/LayerNorm/{part}": (4,) for part in ("gamma", "beta")}
    for name, rows in {"word": 6, "position": 10, "token_type": 2}.items():
        shapes[f"bert/embeddings/{name}_embeddings"] = (rows, 4)
    tf.raw_ops.SaveV2(
        prefix=str(folder / "bert_model.ckpt"),
        tensor_names=list(shapes),
        shape_and_slices=[""] * len(shapes),
        tensors=[tf.zeros(shape) for shape in shapes.values()],
    )
    return folder


def test_fairseq(run, fairseq, tmp_path):
    dest = tmp_path / "dest"
    code, out, err = run("import", "fairseq", fairseq, dest)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{dest}: roberta with the head mlm, 1 layers of width 4, 2 attention heads, 9 tokens.",
        f"No tokenizer is imported, since {fairseq} has no encoder.json and vocab.bpe; name them with --bpe.",
        "The checkpoint also classifies (mnli); --head NAME imports such a head instead.",
    ]
    assert transformers.AutoModelForMaskedLM.from_pretrained(dest).config.vocab_size == 9


def test_fairseq_with_a_classification_head(run, fairseq, tmp_path):
    code, out, _ = run("import", "fairseq", fairseq / "model.pt", tmp_path / "dest", "--head", "mnli")
    assert code == 0
    assert "roberta with the head classify" in out
    assert transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "dest").num_labels == 3


@pytest.mark.parametrize(
    ("options", "sentence", "lower"),
    [
        ((), "Text is lower-cased, going by the folder's name, uncased_L-1; --cased says otherwise.", True),
        (("--cased",), None, False),
        (("--uncased",), None, True),
    ],
)
def test_google_bert(options, sentence, lower, run, google, tmp_path):
    code, out, _ = run("import", "google-bert", google, tmp_path / "dest", *options)
    assert code == 0
    lines = out.splitlines()
    assert "bert with the head encoder, 1 layers of width 4" in lines[0]
    assert lines[1:] == ([sentence] if sentence else [])
    tokens = transformers.AutoTokenizer.from_pretrained(tmp_path / "dest").tokenize("THE")
    assert tokens == (["the"] if lower else ["[UNK]"])


def test_torch(run, pickled, tmp_path):
    code, out, _ = run("import", "torch", pickled, tmp_path / "dest")
    assert code == 0
    assert "bert with the head mlm, 2 layers of width 16, 2 attention heads, 60 tokens." in out
    assert transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "dest").config.vocab_size == 60


@pytest.mark.parametrize("verb", ["fairseq", "google-bert", "torch"])
def test_a_mistake_is_one_sentence_and_exit_code_2(verb, run, tmp_path):
    code, out, err = run("import", verb, tmp_path / "nowhere", tmp_path / "dest")
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "dest").exists()


def test_a_taken_destination(run, pickled):
    code, _, err = run("import", "torch", pickled, pickled)
    assert code == 2
    assert err == f"Error: {pickled} is not empty; an import needs a new or an empty folder, so name another one.\n"


def test_no_traceback_in_a_process_of_its_own(fairseq, tmp_path):
    whole = (fairseq / "model.pt").read_bytes()
    (fairseq / "model.pt").write_bytes(whole[: len(whole) // 2])
    program = "from unmask.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "import", "fairseq", str(fairseq), str(tmp_path / "dest")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"Error: {fairseq / 'model.pt'} is truncated, damaged or no PyTorch file; copy or download it again.\n"
    )


@pytest.mark.parametrize("verb", ["fairseq", "google-bert", "torch"])
def test_help_has_an_example(verb, run):
    code, out, _ = run("import", verb, "--help")
    assert code == 0
    assert f"unmask import {verb} " in out
    assert "Example" in out
