"""Fine-tuning and prediction with `transformers`, as its documentation does them, for `finetuning.py`.

A plain loop without the Trainer's bookkeeping (which needs `accelerate`), with the Trainer's defaults: batches in
random order from a DataLoader without workers, padded to their longest text by its collators, or all texts to one
length if asked for; its fused AdamW; the attention that it chooses by itself. Windows over a context are padded to the
longest of the batch too, where its guide pads all to the full length: that is to its advantage. The rate of each update
is the other side's, since its own schedule begins with an update at 0. Of AdamW only the place of ε differs: PyTorch
adds it after the second moment is corrected, unmask (as Keras and fairseq) before.
"""

from itertools import chain
from typing import ClassVar

import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
)

from unmask.train.schedule import learning_rate

IGNORED = -100
N_BEST = 20


class Transformers:
    """A model, its optimizer and data.

    Args:
        task: of unmask, which knows the classes.
        examples: to train on, as unmask's reader gave them.
        folder: weights to begin with, those of the other side, head included.
        source: the folder of the pretrained model, for its tokenizer.
        recipe: batch_size, peak_rate, warmup, total_steps and so on; the same as the other side's.
    """

    auto: type
    tokenizer_options: ClassVar[dict] = {}

    def __init__(self, task, examples, folder, source, recipe):
        self.task, self.recipe = task, recipe
        options = self.tokenizer_options if "roberta" in (folder / "config.json").read_text() else {}
        self.tokenizer = AutoTokenizer.from_pretrained(source, **options)
        self.model, told = self.auto.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        if told["missing_keys"] or told["mismatched_keys"]:
            raise SystemExit(f"transformers does not find all weights: {told}")
        self.features = self.featured(examples)
        self.per_epoch = -(-len(self.features) // recipe["batch_size"])
        self.total_steps = int(np.ceil(recipe["epochs"] * self.per_epoch))

    def optimizer(self):
        parameters = list(self.model.named_parameters())
        still = [p for name, p in parameters if name.endswith("bias") or "LayerNorm" in name]
        decaying = [p for name, p in parameters if not (name.endswith("bias") or "LayerNorm" in name)]
        groups = [{"params": decaying, "weight_decay": self.recipe["weight_decay"]}]
        groups += [{"params": still, "weight_decay": 0.0}]
        numbers = {"betas": self.recipe["betas"], "eps": self.recipe["epsilon"]}
        return torch.optim.AdamW(groups, self.recipe["peak_rate"], fused=True, **numbers)

    def updates(self):
        """Trains; gives after each update how many rows it was of."""
        seed, warmup = self.recipe["seed"], round(self.recipe["warmup"] * self.total_steps)
        torch.manual_seed(seed)
        optimizer = self.optimizer()
        rates = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: learning_rate(step, peak=1.0, warmup=warmup, total=self.total_steps)
        )
        batches = DataLoader(
            self.features,
            self.recipe["batch_size"],
            shuffle=True,
            collate_fn=self.collator(),
            generator=torch.Generator().manual_seed(seed),
        )
        endless = chain.from_iterable(batches for _ in range(int(np.ceil(self.recipe["epochs"]))))
        self.model.train()
        for _, batch in zip(range(self.total_steps), endless, strict=False):
            self.model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe["clip_norm"])
            optimizer.step()
            rates.step()
            optimizer.zero_grad()
            yield len(batch["input_ids"])

    def collator(self):
        return DataCollatorWithPadding(self.tokenizer)

    @torch.inference_mode()
    def predict(self, examples):
        """The answers to the examples, from their texts on, in batches of 32 in their order."""
        self.model.eval()
        size = self.recipe["prediction_batch_size"]
        parts = (self.answered(examples[start : start + size]) for start in range(0, len(examples), size))
        return list(chain.from_iterable(parts))


class Texts(Transformers):
    """One label or one number for a text or a pair."""

    auto = AutoModelForSequenceClassification

    def __init__(self, task, examples, folder, source, recipe):
        # Kept here, since the other side's task forgets them when its head takes them in.
        self.mean, self.scale = (task.settings.get(name) for name in ("mean", "scale"))
        super().__init__(task, examples, folder, source, recipe)

    def encode(self, examples, **options):
        texts = [[example.text for example in examples]]
        if examples[0].pair is not None:
            texts.append([example.pair for example in examples])
        return self.tokenizer(*texts, truncation=True, max_length=self.recipe["length"], **options)

    def featured(self, examples):
        encoded = self.encode(examples, padding="max_length" if self.recipe["padding"] == "length" else False)
        columns = {**encoded, "labels": [self.target(example.label) for example in examples]}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def target(self, label):
        """Numbers are learnt as distances from their mean, in deviations, as the other side's recipe has it."""
        return (label - self.mean) / self.scale if self.task.name == "regress" else label

    def answered(self, examples):
        logits_BC = self.model(**self.encode(examples, padding=True, return_tensors="pt")).logits
        if self.task.name == "regress":
            return (logits_BC[:, 0] * self.scale + self.mean).tolist()
        return [self.task.classes[i] for i in logits_BC.argmax(-1).tolist()]


class Tags(Transformers):
    """A label for each word, at its first token; words beyond the last token that is read have none."""

    auto = AutoModelForTokenClassification
    tokenizer_options: ClassVar[dict] = {"add_prefix_space": True}

    def encode(self, examples, **options):
        words = [[example.text[start:end] for start, end in example.words] for example in examples]
        length = self.recipe["length"]
        return self.tokenizer(words, is_split_into_words=True, truncation=True, max_length=length, **options)

    def featured(self, examples):
        encoded = self.encode(examples)
        number = {tag: i for i, tag in enumerate(self.task.classes)}
        features = []
        for row, example in enumerate(examples):
            labels, before = [], None
            for word in encoded.word_ids(row):
                new = word is not None and word != before
                labels.append(number[example.tags[word]] if new else IGNORED)
                before = word
            features.append({**{name: rows[row] for name, rows in encoded.items()}, "labels": labels})
        return features

    def collator(self):
        return DataCollatorForTokenClassification(self.tokenizer)

    def answered(self, examples):
        encoded = self.encode(examples, padding=True, return_tensors="pt")
        best_BL = self.model(**encoded).logits.argmax(-1).tolist()
        found = []
        for row, example in enumerate(examples):
            tags: list[str] = ["O"] * len(example.words)
            before = None
            for place, word in enumerate(encoded.word_ids(row)):
                if word is not None and word != before:
                    tags[word] = self.task.classes[best_BL[row][place]]
                before = word
            found.append(tags)
        return found


class Reading(Transformers):
    """The answer to a question, in windows over its context; each window is a row."""

    auto = AutoModelForQuestionAnswering

    def encode(self, examples, **options):
        return self.tokenizer(
            [example.question.lstrip() for example in examples],
            [example.context for example in examples],
            truncation="only_second",
            max_length=self.recipe["length"],
            stride=self.recipe["stride"],
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            **options,
        )

    def featured(self, examples):
        encoded = self.encode(examples)
        owners, offsets = encoded.pop("overflow_to_sample_mapping"), encoded.pop("offset_mapping")
        features = []
        for row, owner in enumerate(owners):
            span = examples[owner].span
            if span is not None:
                start, end = _place(span, offsets[row], encoded.sequence_ids(row))
                columns = {name: rows[row] for name, rows in encoded.items()}
                features.append({**columns, "start_positions": start, "end_positions": end})
        return features

    def answered(self, examples):
        encoded = self.encode(examples, padding=True, return_tensors="pt")
        owners = encoded.pop("overflow_to_sample_mapping").tolist()
        offsets = encoded.pop("offset_mapping").numpy()
        outputs = self.model(**encoded)
        starts_BL, ends_BL = outputs.start_logits.numpy(), outputs.end_logits.numpy()
        best = [(-np.inf, "")] * len(examples)
        for row, owner in enumerate(owners):
            inside_L = np.array([sequence == 1 for sequence in encoded.sequence_ids(row)])
            score, first, last = _best_span(starts_BL[row], ends_BL[row], inside_L, self.recipe["longest_answer"])
            if score > best[owner][0]:
                text = examples[owner].context[offsets[row][first][0] : offsets[row][last][1]]
                best[owner] = (score, text)
        return [text for _, text in best]


def _place(span, offsets, sequences):
    """First and last token of an answer in a window; 0 and 0 if it is not whole in it."""
    places = [place for place, sequence in enumerate(sequences) if sequence == 1]
    if not places or offsets[places[0]][0] > span[0] or offsets[places[-1]][1] < span[1]:
        return 0, 0
    first = max(place for place in places if offsets[place][0] <= span[0])
    last = min(place for place in places if offsets[place][1] >= span[1])
    return first, last


def _best_span(starts_L, ends_L, inside_L, longest):
    """The best of the spans from one of the best first tokens to one of the best last ones."""
    firsts, lasts = (np.argsort(logits)[-1 : -N_BEST - 1 : -1] for logits in (starts_L, ends_L))
    scores = starts_L[firsts][:, None] + ends_L[lasts]
    length = lasts - firsts[:, None] + 1
    allowed = (length > 0) & (length <= longest) & inside_L[firsts][:, None] & inside_L[lasts]
    scores = np.where(allowed, scores, -np.inf)
    i, j = np.unravel_index(scores.argmax(), scores.shape)
    return scores[i, j], firsts[i], lasts[j]


PEERS = {"classify": Texts, "regress": Texts, "tag": Tags, "read": Reading}
