"""Which backend the tests run on, and where the real data is."""

import os
from pathlib import Path

import pytest

from unmask import backend
from unmask.errors import UserError

NEEDS_A_BACKEND = (
    "model/*",
    "checkpoint/test_folder.py",
    "checkpoint/test_real_weights.py",
    "checkpoint/test_fit.py",
    "train/test_pretrain.py",
    "train/test_resume.py",
    "train/test_divergence.py",
    "train/test_optimizer.py",
    "train/test_state.py",
    "train/test_finetune.py",
    "train/test_finetune_resume.py",
    "train/test_losses.py",
    "train/test_best.py",
    "train/test_seeds.py",
    "engines/test_keras.py",
    "test_predict.py",
    "test_predict_file.py",
    "test_evaluate.py",
    "cli/test_finetune.py",
    "cli/test_evaluate.py",
    "cli/test_predict.py",
    "cli/test_fill.py",
)


def pytest_addoption(parser):
    parser.addoption("--backend", choices=backend.BACKENDS, help="run the tests marked `backend` on this one")


def pytest_configure(config):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    try:
        config.missing_backend = None
        backend.choose(config.getoption("--backend"))
    except UserError as error:
        if os.environ.get("CI"):
            pytest.exit(f"In CI every backend must be present. {error}", returncode=1)
        config.missing_backend = str(error)


def pytest_report_header(config):
    missing = config.missing_backend
    return f"tests that run a model are skipped: {missing}" if missing else f"backend: {os.environ['KERAS_BACKEND']}"


def pytest_ignore_collect(collection_path, config):
    here = Path(__file__).parent
    relative = collection_path.relative_to(here) if collection_path.is_relative_to(here) else collection_path
    return True if config.missing_backend and any(relative.match(p) for p in NEEDS_A_BACKEND) else None


@pytest.fixture(scope="session")
def shared():
    """The folder with real data and weights; see UNMASK_DATA in CONTRIBUTING.md."""
    folder = os.environ.get("UNMASK_DATA")
    if not folder:
        pytest.skip("UNMASK_DATA is not set, so there is no real data to test on")
    return Path(folder)


@pytest.fixture(scope="session")
def tuned(tmp_path_factory):
    """Small fine-tuned models, by task; made when they are asked for, and not to be changed."""
    from small_tasks import Tuned  # after the backend is chosen

    return Tuned(tmp_path_factory.mktemp("tuned"))
