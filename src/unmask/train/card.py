"""The model card: README.md of a model folder, which tells data, recipe and figures."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask import __version__, backend
from unmask.data.shards import HELDOUT, TRAIN, Corpus
from unmask.tasks.task import Task
from unmask.train.labelled import Data
from unmask.train.recipe import SHAPE, Recipe

_CARD = """---
library_name: unmask
pipeline_tag: fill-mask
tags: [{family}, masked-lm, pretraining]
---

# {family}, {n_layers} layers × {d_model}

A masked language model of {n_layers} layers, {n_heads} attention heads, width {d_model} and {vocab_size:,} tokens,
pretrained with unmask {version} on {backend}. It opens in `transformers` as `{hf_class}` and in unmask:

    unmask fill . "{example}"

## Data

{data}

## Figures

| figure | value |
|---|---|
{figures}

The held-out part was never trained on; its masks are always the same. Perplexity is e to the mean loss at masked
positions. The perplexity of token frequencies is what one gets who knows only how often each token occurs.

![training curve](curve.png)

## Recipe

| key | value |
|---|---|
{settings}

## Limits

The model has learnt what its data say, with their errors and prejudices. It was evaluated at filling masks and at
nothing else; fine-tune and evaluate it for the task at hand before use.
"""


def model_card(model: Any, corpus: Corpus, recipe: Recipe, metrics: Mapping[str, float]) -> str:
    """Markdown with the header that Hugging Face's hub reads."""
    config = model.config
    hf_class = f"{_class_prefix(config.family)}{'ForMaskedLM' if recipe.objective == 'mlm' else 'ForPreTraining'}"
    left_out = SHAPE if recipe.model is not None else ()
    said = {k: json.dumps(v) for k, v in recipe.to_json().items() if v is not None and k not in left_out}
    return _CARD.format(
        family=config.family,
        n_layers=config.n_layers,
        n_heads=config.n_heads,
        d_model=config.d_model,
        vocab_size=config.vocab_size,
        version=__version__,
        backend=backend.current(),
        hf_class=hf_class,
        example=_example(config.family),
        data=_data(corpus),
        figures="\n".join(f"| {name.replace('_', ' ')} | {_shown(value)} |" for name, value in metrics.items()),
        settings="\n".join(f"| {key} | {value} |" for key, value in said.items()),
    )


_TASK_CARD = """---
library_name: unmask
base_model: {base}
tags: [{family}, {task}]
---

# {task}, {family}, {n_layers} layers × {d_model}

Fine-tuned with unmask {version} on {backend} from `{base}` for the task {task}{labels}. It opens in `transformers`, and
in unmask:

    unmask predict . --input FILE --output FILE
    unmask evaluate . --data FILE

## Figures on the held-out examples, by which the best epoch was chosen

| figure | value |
|---|---|
{figures}

![training curve](curve.png)

## Recipe

| key | value |
|---|---|
{settings}

## Limits

The model was trained on {examples:,} examples of `{train}` and has learnt their errors and prejudices. Evaluate it on
examples that it has never seen, of the kind that it will meet, before use.
"""


def task_card(
    model: Any, task: Task[Any, Any], data: Data, plan: Mapping[str, Any], metrics: Mapping[str, float]
) -> str:
    """The card of a fine-tuned model."""
    config = model.config
    shown = ", ".join(task.classes[:20]) + (" …" if len(task.classes) > 20 else "")
    return _TASK_CARD.format(
        base=plan["model"],
        family=config.family,
        task=task.name,
        n_layers=config.n_layers,
        d_model=config.d_model,
        version=__version__,
        backend=backend.current(),
        labels=f" with the labels {shown}" if task.classes else "",
        figures="\n".join(f"| {name.replace('_', ' ')} | {_shown(value)} |" for name, value in metrics.items()),
        settings="\n".join(f"| {k} | {json.dumps(v)} |" for k, v in plan["recipe"].items() if v is not None),
        examples=metrics["examples"],
        train=Path(data.train).name,
    )


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _class_prefix(family: str) -> str:
    return {"roberta": "Roberta", "bert": "Bert", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}.get(
        family, "DistilBert"
    )


def _example(family: str) -> str:
    return "Paris is the [MASK] of France." if family == "bert" else "Paris is the <mask> of France."


def _data(corpus: Corpus) -> str:
    manifest, report = corpus.manifest, corpus.manifest.get("report", {})
    sources = [str(source.get("name", source.get("path", "?"))) for source in manifest.get("sources", [])]
    named = ", ".join(sources[:10]) + (f" and {len(sources) - 10} more" if len(sources) > 10 else "")
    lines = [f"{corpus.tokens(TRAIN):,} tokens of training and {corpus.tokens(HELDOUT):,} held out."]
    if named:
        lines.append(f"Sources: {named}.")
    if report.get("documents"):
        lines.append(f"{report['documents']:,} documents.")
    return "\n".join([*lines, f"Fingerprint of the corpus: `{corpus.fingerprint[:16]}`."])
