"""Small labelled data for each task that a tiny model can learn in a minute, and that tiny model, untrained."""

import json
import random

from unmask.config import ModelConfig
from unmask.text import Tokenizer
from unmask.text.build import BERT_SPECIALS, wordpiece

GOOD, BAD = ("joy", "fine", "great", "lovely"), ("dull", "poor", "awful", "boring")
PLAIN = ("the", "film", "was", "and", "a", "story", "with", "its", "end", "one", "hour", "of")
NAMES = ("Anna", "Boris", "Clara", "Dmitri")
PLACES = ("Berlin", "Cairo", "Delhi", "Essen")
COLOURS = ("red", "green", "blue", "white")
MARKS = (".", "?", ",", "_")
EPOCHS = {"multi": 24, "regress": 24, "pair": 12}
TASKS = ("classify", "multi", "pair", "regress", "tag", "read", "choose")

CONFIG = ModelConfig(
    family="bert",
    vocab_size=1,
    n_layers=1,
    n_heads=2,
    d_model=64,
    d_ff=128,
    max_positions=32,
    n_segments=2,
    pad_id=0,
    dropout=0.1,
    attention_dropout=0.1,
    norm="post",
    norm_eps=1e-12,
    activation="gelu",
    positions="learned",
    positions_after_pad=False,
    embedding_norm=True,
    embedding_scale=False,
    initializer_range=0.1,
)


def tokenizer():
    """WordPiece that knows every word of these data, and letters."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    words = [*GOOD, *BAD, *PLAIN, *NAMES, *PLACES, *COLOURS, *MARKS, "which", "colour", "is", "it", "film"]
    vocabulary = [*BERT_SPECIALS, *letters, *(f"##{letter}" for letter in letters), *words]
    return Tokenizer(wordpiece(list(dict.fromkeys(vocabulary)), lowercase=False), {"do_lower_case": False})


def write_model(folder, head="encoder", *, seed=0, **changes):
    """A model folder with weights drawn at random."""
    from unmask.checkpoint import save_model
    from unmask.model import Bert

    words = tokenizer()
    save_model(Bert(CONFIG.replace(vocab_size=words.n_ids, **changes), head, seed=seed), words, folder)
    return folder


def sentence(draw, *words, n=6):
    """Plain words with these somewhere among them."""
    chosen = draw.choices(PLAIN, k=n)
    for word in words:
        chosen.insert(draw.randrange(len(chosen) + 1), word)
    return " ".join(chosen)


def _classify(draw):
    good = draw.random() < 0.5
    return {"text": sentence(draw, draw.choice(GOOD if good else BAD)), "label": "good" if good else "bad"}


def _multi(draw):
    kinds = {"person": NAMES, "place": PLACES, "colour": COLOURS}
    labels = [kind for kind in kinds if draw.random() < 0.5]
    return {"text": sentence(draw, *(draw.choice(kinds[kind]) for kind in labels)), "label": ";".join(labels)}


def _pair(draw):
    """Only the second text tells: a word of the first means nothing."""
    row = _classify(draw)
    return {"text_a": sentence(draw, draw.choice(GOOD + BAD), n=4), "text_b": row["text"], "label": row["label"]}


def _regress(draw):
    n_good = draw.randrange(4)
    words = [draw.choice(GOOD if i < n_good else BAD) for i in range(3)]
    return {"text": sentence(draw, *words, n=4), "score": f"{n_good / 3:.3f}"}


def _tag(draw):
    tokens = sentence(draw, draw.choice(NAMES), draw.choice(PLACES)).split()
    return {
        "tokens": tokens,
        "tags": ["B-PER" if token in NAMES else "B-LOC" if token in PLACES else "O" for token in tokens],
    }


def _read(draw):
    colour = draw.choice(COLOURS)
    context = sentence(draw, colour, n=8)
    answers = {"text": [colour], "answer_start": [context.index(colour)]}
    return {"id": str(draw.random()), "question": "which colour is it ?", "context": context, "answers": answers}


def _choose(draw):
    right = draw.randrange(3)
    choices = [sentence(draw, draw.choice(GOOD if i == right else BAD), n=2) for i in range(3)]
    return {"context": sentence(draw, n=4), "choices": choices, "label": right}


_MAKERS = {
    "classify": _classify,
    "multi": _multi,
    "pair": _pair,
    "regress": _regress,
    "tag": _tag,
    "read": _read,
    "choose": _choose,
}


def rows(task, n, seed=0):
    """Labelled examples."""
    draw = random.Random(f"{task} {seed}")
    return [_MAKERS[task](draw) for _ in range(n)]


def write_rows(path, content):
    """CSV, CoNLL columns or JSON lines, as the ending says."""
    if path.suffix == ".csv":
        lines = [",".join(content[0]), *(",".join(str(value) for value in row.values()) for row in content)]
    elif path.suffix == ".conll":
        lines = [
            "\n".join(f"{w} {t}" for w, t in zip(row["tokens"], row["tags"], strict=True)) + "\n" for row in content
        ]
    else:
        lines = [json.dumps(row) for row in content]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_data(folder, task, n=160, seed=0, name="data"):
    """A file of labelled examples, in the kind of file that is usual for the task."""
    ending = {"tag": "conll", "read": "jsonl", "choose": "jsonl"}.get(task, "csv")
    return write_rows(folder / f"{name}-{task}-{seed}.{ending}", rows(task, n, seed))


def verb(task):
    """The task's name on the command line."""
    return {"multi": "classify", "pair": "classify"}.get(task, task)


class Tuned:
    """Models that were fine-tuned on these data, each when it is first asked for."""

    def __init__(self, folder):
        self.folder, self._base = folder, None
        self._predictors = {}

    @property
    def base(self):
        """The untrained encoder that all of them start from."""
        if self._base is None:
            self._base = write_model(self.folder / "base")
        return self._base

    def data(self, task, **changes):
        """Where the training data of a task are."""
        from unmask.train.labelled import Data

        train = str(write_data(self.folder, task))
        return Data(**{"task": verb(task), "train": train, "multi_label": task == "multi", **changes})

    def test_file(self, task):
        """Examples that no model has seen."""
        return write_data(self.folder, task, n=40, seed=1)

    def tuning(self, **changes):
        """A recipe that is short and learns."""
        from unmask.train.tuning import Tuning

        return Tuning(**{"epochs": 10, "batch_size": 16, "peak_rate": 3e-3, "patience": 10, **changes})

    def __call__(self, task):
        """The folder of the model for a task."""
        from unmask.train.finetune import finetune

        out = self.folder / f"tuned-{task}"
        if not (out / "metrics.json").is_file():
            finetune(self.data(task), str(self.base), out, self.tuning(epochs=EPOCHS.get(task, 6)))
        return out

    def predictor(self, task):
        """The model for a task, loaded and compiled once; for tests that change nothing of it."""
        from unmask import load

        if task not in self._predictors:
            self._predictors[task] = load(self(task))
        return self._predictors[task]
