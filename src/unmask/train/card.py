"""The model card: README.md of a model folder, which tells data, recipe and figures."""

import json
from collections.abc import Mapping
from typing import Any

from unmask import __version__, backend
from unmask.data.shards import HELDOUT, TRAIN, Corpus
from unmask.train.recipe import Recipe


def model_card(model: Any, corpus: Corpus, recipe: Recipe, metrics: Mapping[str, float]) -> str:
    """Markdown with the header that Hugging Face's hub reads."""
    config = model.config
    classes = {"mlm": f"{_class_prefix(config.family)}ForMaskedLM", "mlm+nsp": "BertForPreTraining"}
    figures = "\n".join(f"| {name.replace('_', ' ')} | {value:,.4g} |" for name, value in metrics.items())
    settings = "\n".join(
        f"| {key} | {json.dumps(value)} |" for key, value in recipe.to_json().items() if value is not None
    )
    return f"""---
library_name: unmask
pipeline_tag: fill-mask
tags: [{config.family}, masked-lm, pretraining]
---

# {config.family}, {config.n_layers} layers × {config.d_model}

A masked language model of {config.n_layers} layers, {config.n_heads} attention heads, width {config.d_model} and
{config.vocab_size:,} tokens, pretrained with unmask {__version__} on {backend.current()}.
It opens in `transformers` as `{classes[recipe.objective]}` and in unmask:

    unmask fill . "{_example(config.family)}"

## Data

{_data(corpus)}

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
