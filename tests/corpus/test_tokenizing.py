"""Tokenizing in batches gives what the tokenizer gives, for any number of workers; none outlives its parent."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import psutil
import pytest

import tiny_tokenizers
from unmask.corpus.tokenizing import Batch, BatchTokenizer, Recipe, tokenized
from unmask.data.shards import SENTENCE, WORD

TEXTS = ["The cat and the hat. In it!", "<mask> and </s> are what somebody wrote", "汉字", "", "x" * 5000]


def recipe(tokenizer, **more):
    return Recipe(tokenizer.rust.to_str(), tokenizer.settings, "none", **{"with_signatures": False, **more})


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_ids_are_those_of_the_tokenizer(kind):
    tokenizer = getattr(tiny_tokenizers, kind)()
    made = BatchTokenizer(recipe(tokenizer))(TEXTS)
    tokenizer.rust.encode_special_tokens = True
    wanted = [tokenizer.rust.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert [part.tolist() for part in np.split(made.ids, made.ends[:-1])] == wanted
    assert made.ids.dtype == np.uint16
    assert made.figures["tokens"].tolist() == [len(ids) for ids in wanted]
    assert made.figures["bytes"].tolist() == [len(text.encode()) for text in TEXTS]
    firsts = [0, *made.ends[:2]]
    assert (made.begins[firsts] == WORD | SENTENCE).all()


def test_special_tokens_in_a_text_are_text():
    for tokenizer in (tiny_tokenizers.bert(), tiny_tokenizers.roberta()):
        made = BatchTokenizer(recipe(tokenizer))(["a <mask> b </s> c [MASK] d [SEP]"])
        assert tokenizer.mask_id not in made.ids
        assert made.ids.min() > 4
        assert made.figures["unknown"].tolist() == [0]


def test_nothing_at_all():
    made = BatchTokenizer(recipe(tiny_tokenizers.bert(), with_signatures=True))([])
    assert len(made.ids) == len(made.begins) == len(made.ends) == 0
    assert made.signatures == []


def batches(n):
    for i in range(n):
        yield Batch([f"{text} {i}" for text in TEXTS], [], [], [], {}, {"number": i})


def test_any_number_of_workers_gives_the_same_in_order():
    found = []
    for workers in (1, 2):
        made = list(tokenized(batches(7), recipe(tiny_tokenizers.roberta(), with_signatures=True), workers, 20_000))
        assert [batch.position["number"] for batch, _ in made] == list(range(7))
        found.append([(m.ids.tolist(), m.begins.tolist(), [s.tolist() for s in m.signatures]) for _, m in made])
    assert found[0] == found[1]


def test_workers_end_with_a_parent_that_was_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import sys, time
        sys.path.insert(0, sys.argv[1])
        import tiny_tokenizers
        from unmask.corpus.tokenizing import Batch, Recipe, tokenized
        if __name__ == "__main__":
            tokenizer = tiny_tokenizers.bert()
            recipe = Recipe(tokenizer.rust.to_str(), tokenizer.settings, "none", False)
            for batch, made in tokenized((Batch(["x"], [], [], [], {}, {}) for _ in range(9)), recipe, 2, 1):
                print("ready", flush=True)
                time.sleep(100)
        """)
    )
    here = Path(tiny_tokenizers.__file__).parent
    parent = subprocess.Popen([sys.executable, str(script), here], stdout=subprocess.PIPE, text=True)
    assert parent.stdout.readline() == "ready\n"
    workers = psutil.Process(parent.pid).children(recursive=True)
    assert workers
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []


def test_a_script_that_each_worker_would_run_again_is_told_so(tmp_path):
    """Without `if __name__ == "__main__"` a worker dies as it begins; more than a pipe holds must not be on its way."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from unmask.corpus.tokenizing import Batch, Recipe, tokenized
        recipe = Recipe("x" * 1_000_000, {}, "none", False)
        list(tokenized((Batch(["x"], [], [], [], {}, {}) for _ in range(9)), recipe, 2, 1))
        """)
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 1
    assert "must stand below `if __name__" in ran.stderr
