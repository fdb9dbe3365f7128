"""Tagging: a label for each word of a text, and the entities that they make (Devlin et al. 2018, section 5.3).

The text is encoded once, as a whole, so that each token is as it would be in running text. A word's label is read at
the first of its tokens. Words that share a token are labelled together, as one word; a word without any token (a
control character that BERT drops) belongs to an entity if the words on both its sides do, and in plain labelling takes
the label before it. So every word gets a label.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unmask.data.readers import Record
from unmask.errors import UserError
from unmask.tasks import schemes
from unmask.tasks.classify import softmax
from unmask.tasks.metrics.bootstrap import Statistic
from unmask.tasks.metrics.entities import Entity, entity_statistic
from unmask.tasks.spans import Span, groups, solid, speakers
from unmask.tasks.tagged import (
    TaggedExample,
    by_character,
    cut_words,
    from_spans,
    from_tokens,
    listed,
    misplaced,
    spans_of,
    tags_of,
    touching,
    words_of,
)
from unmask.tasks.task import Task
from unmask.tasks.texts import text_of
from unmask.tasks.units import Unit, Window
from unmask.tasks.windows import Frame, best_window, cut, frame_of
from unmask.text import Tokenizer
from unmask.text.words import has_han

log = logging.getLogger("unmask")

_AT_ONCE = 4096
_DEFAULT_SCHEME = "IOB2"
_OFTEN_CUT = 0.1
"""If more of the spans begin or end inside a word, as in languages that write words together, no word is whole."""


class TaggedEntity(NamedTuple):
    """An entity found in a text."""

    start: int
    """Its first character."""
    end: int
    label: str
    text: str
    probability: float
    """The least, over its words, of the probability that the word belongs to an entity of this label."""


@dataclass(frozen=True)
class TagAnswer:
    """A text with a tag for each word, and the entities that the tags make."""

    text: str
    words: tuple[Span, ...]
    tags: tuple[str, ...]
    """As the scheme writes the entities, whatever sequence the model gave; conlleval's rules read that."""
    probabilities: tuple[float, ...]
    """What the model gave the likeliest tag of each word."""
    entities: tuple[TaggedEntity, ...]


@dataclass(frozen=True)
class TagUnit(Unit):
    """A window over a text, with the tokens that speak for words in it."""

    positions: list[int]
    """Where those tokens stand among the ids."""
    spans: list[Span]
    """The words that each speaks for: the first and the end."""

    @property
    def wanted(self) -> list[int]:
        """Those tokens; the others' tags nobody reads."""
        return self.positions


class Tag(Task[TaggedExample, TagAnswer]):
    """Named-entity recognition, and any labelling of words.

    Settings: `scheme`, one of `unmask.tasks.schemes.SCHEMES`; `characters`, whether words are single characters.
    """

    name: ClassVar[str] = "tag"
    head: ClassVar[str] = "tag"

    def __init__(self, classes: tuple[str, ...] = (), settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(classes, {"characters": False, **(settings or {})})
        if "scheme" not in self.settings:
            self.settings["scheme"] = schemes.scheme_of_classes(classes)
        self.scheme: str = self.settings["scheme"]
        self.index = {tag: number for number, tag in enumerate(classes)}
        self._of_label: dict[str, list[int]] = {}
        for tag, number in self.index.items():
            for entity in schemes.entities([tag], self.scheme):
                self._of_label.setdefault(entity.label, []).append(number)

    @property
    def metric(self) -> str:  # type: ignore[override]
        """F1 of entities; for plain labels the share of words with the right one."""
        return "accuracy" if self.scheme == "plain" else "f1"

    @classmethod
    def learn(cls, records: Iterable[Record], columns: Mapping[str, str], **options: Any) -> "Tag":
        """The task with the tags of these records; for each kind of entity all tags that the scheme has.

        Args:
            records: of the training data.
            columns: `tokens` or `text`, and `tags` or `spans`.
            options: `scheme`; without it, it is guessed from the tags, and IOB2 for spans.
        """
        scheme = None if options.get("scheme") is None else schemes.named(options["scheme"])
        tags: list[list[str]] = []
        labels, kinds, n_cut, are_words = Counter[str](), Counter[str](), 0, True
        for record in records:
            tokens = listed(record, columns["tokens"]) if "tokens" in columns else None
            kinds.update(map(_kind, tokens or ()))
            if "tags" in columns:
                tags.append(listed(record, columns["tags"]))
                are_words = are_words and tags[-1] == tokens
            elif "spans" in columns:
                text = text_of(record, columns["text"])
                spans = spans_of(record, columns["spans"], text)
                labels.update(span.label for span in spans)
                n_cut += cut_words(spans, words_of(text))
        if tags and are_words:
            raise UserError(
                f"The tags in {columns['tags']!r} are the words themselves; say another column with --tags."
            )
        if scheme is None and "tags" in columns:
            scheme = schemes.guess_scheme(tags)
            said = "plain labels" if scheme == "plain" else scheme
            log.info("The tags are read as %s (another scheme: --scheme).", said)
        scheme = scheme or _DEFAULT_SCHEME
        characters = kinds["Han"] * 4 > kinds["other"] and kinds["long"] * 100 < kinds.total()
        if n_cut > _OFTEN_CUT * labels.total():
            characters = True
            log.info(
                "%d of %d spans begin or end inside a word, so characters are labelled one by one.",
                *(n_cut, labels.total()),
            )
        return cls(_classes(tags, labels, scheme), {"scheme": scheme, "characters": characters})

    def examples(self, records: Iterable[Record], columns: Mapping[str, str], *, labelled: bool) -> list[TaggedExample]:
        """Records as texts with words; sequences that break the scheme are read by conlleval's rules and counted.

        Where a record has neither tokens nor labels, its words are found by rule: `unmask.tasks.tagged.words_of`.
        """
        if labelled and not {"tags", "spans"} & set(columns):
            raise UserError("Tagging needs a column of tags or of spans; name it.")
        examples, broken, odd, elsewhere = [], [], Counter[str](), list[str]()
        for record in records:
            example, breaking = self._example(record, columns, labelled=labelled)
            examples.append(example)
            if labelled and "spans" in columns and "tags" not in columns:
                wrong = misplaced(record, columns["spans"], example.text)
                elsewhere += [f"{record.place}: {one}" for one in wrong]
            broken += [record.place] * bool(breaking)
            odd.update(breaking)
        if elsewhere:
            log.warning(
                "Spans whose text is another than they say: %d (first: %s); offsets must count characters, not bytes "
                "or UTF-16 units.",
                *(len(elsewhere), elsewhere[0]),
            )
        if broken:
            self._refuse_others(examples, odd, broken[0])
            log.warning(
                "%d of %d tag sequences break %s (first: %s); they are read by conlleval's rules.",
                *(len(broken), len(examples), self.scheme, broken[0]),
            )
        return examples

    def _refuse_others(self, examples: Listed[TaggedExample], odd: Counter[str], place: str) -> None:
        """An error where all tags but O are of another kind, such as parts of speech: they would all be read as O."""
        different = [tag for tag, _ in odd.most_common() if tag != schemes.OUTSIDE]
        if different and all(tag == schemes.OUTSIDE for example in examples for tag in example.tags or ()):
            raise UserError(
                f"{place}: none of the tags ({_some(different, 8)}) is among those of the training data: "
                f"{_some(self.classes)}."
            )

    def _example(
        self, record: Record, columns: Mapping[str, str], *, labelled: bool
    ) -> tuple[TaggedExample, list[str]]:
        """A record as an example, and the tags that break the scheme."""
        characters, tags, breaking = bool(self.settings["characters"]), None, list[str]()
        spans: list[Entity] | None = None
        if "tokens" in columns or (labelled and "tags" in columns):
            text, words = from_tokens(record, columns, characters=characters)
            if labelled:
                tags = tags_of(record, columns["tags"], len(words))
                breaking = [tags[at] for at in schemes.broken(tags, self.scheme)]
        else:
            text = text_of(record, columns["text"])
            words = words_of(text, characters=characters)
            if labelled:
                tags, spans = from_spans(text, spans_of(record, columns["spans"], text), words, self.scheme)
        kept = None if tags is None else tuple(self._canonical(tags))
        # Plain labels are compared word by word.
        whole = None if spans is None or self.scheme == "plain" else tuple(spans)
        example = TaggedExample(text, tuple(words), kept, record.place, whole)
        self._refuse_unknown(example, "write O for it" if "tags" in columns else "leave its span out")
        return example, breaking

    def _canonical(self, tags: list[str]) -> list[str]:
        """The tags as the scheme writes their entities."""
        if self.scheme == "plain":
            return tags
        return schemes.tags(schemes.entities(tags, self.scheme), len(tags), self.scheme)

    def _refuse_unknown(self, example: TaggedExample, without: str) -> None:
        """An error where a tag is none of the training data's; `without` is how data do without it."""
        for number, tag in enumerate(example.tags or ()):
            if tag in self.index:
                continue
            word = example.text[slice(*example.words[number])]
            # The labels of all words, such as parts of speech, have no O.
            other = without if schemes.OUTSIDE in self.index else "write one of those for it"
            raise UserError(  # with the word, since the place is that of a whole sentence
                f"{example.place}: the tag {tag!r} at word {number + 1}, {word!r:.80}, is not among those of the "
                f"training data: {_some(self.classes)}; train with examples of it, or {other}."
            )

    def units(self, examples: Listed[TaggedExample], tokenizer: Tokenizer, window: Window) -> list[Unit]:
        """Windows over the texts. None is cut: without a stride, windows share a quarter of their tokens.

        A word's label is asked for, and counts in training, in the one window where it has most context. A text
        without any token that speaks for a word has no unit.
        """
        frame = frame_of(tokenizer, 1)
        room = window.length - frame.size
        if room < 1:
            raise UserError(
                f"A window of {window.length} tokens has no room for text beside {frame.size} special tokens."
            )
        overlap = room // 4 if window.stride is None else window.stride
        units: list[Unit] = []
        inexact: list[str] = []
        for at in range(0, len(examples), _AT_ONCE):
            part = examples[at : at + _AT_ONCE]
            encodings = tokenizer.encode_many([example.text for example in part], special=False)
            for number, (example, encoding) in enumerate(zip(part, encodings, strict=True), start=at):
                tokens, spans = groups(speakers(example.words, solid(example.text, encoding.offsets)))
                targets, exact = self._targets(example.tags, spans)
                inexact += [] if exact and self._is_whole(example) else [example.place]
                windows = cut(len(encoding.ids), room, overlap)
                units += _windows(number, frame, encoding.ids, windows, (tokens, spans, targets))
        if inexact:
            log.warning(
                "In %d of %d texts a label begins or ends inside a word or token (first: %s); the whole of it is "
                "labelled, so such a label cannot be found.",
                *(len(inexact), len(examples), inexact[0]),
            )
        return units

    def _is_whole(self, example: TaggedExample) -> bool:
        """Whether the entities that the data say by character are those that the words' tags make."""
        if example.entities is None:
            return True
        return tuple(by_character(schemes.entities(example.tags or (), self.scheme), example.words)) == example.entities

    def _targets(self, tags: Listed[str] | None, spans: list[Span]) -> tuple[list[int] | None, bool]:
        """The class of each group of words, and whether the words' tags can be had back from them."""
        if tags is None:
            return None, True
        if self.scheme == "plain":
            chosen = [tags[first] for first, _ in spans]
        else:
            chosen = schemes.tags(touching(schemes.entities(tags, self.scheme), spans), len(spans), self.scheme)
        exact = self._word_tags(chosen, spans, len(tags)) == list(tags)
        return [self.index.get(tag, -1) for tag in chosen], exact

    def _word_tags(self, group_tags: list[str], spans: list[Span], n_words: int) -> list[str]:
        if self.scheme != "plain":
            entities = schemes.entities(group_tags, self.scheme)
            words = [Entity(spans[start][0], spans[end - 1][1], label) for start, end, label in entities]
            return schemes.tags(words, n_words, self.scheme)
        return [self.classes[0] if group < 0 else group_tags[group] for group in _group_of_word(spans, n_words)]

    def answers(
        self, examples: Listed[TaggedExample], units: Listed[Unit], outputs: Listed[np.ndarray]
    ) -> list[TagAnswer]:
        """For each text its tags and entities; the likeliest class of each word, repaired as conlleval reads it."""
        rows: list[list[tuple[Span, np.ndarray]]] = [[] for _ in examples]
        for unit, logits_LC in zip(units, outputs, strict=True):
            if not isinstance(unit, TagUnit):
                raise TypeError("answers takes the units that `units` made.")
            rows[unit.example] += zip(unit.spans, logits_LC[unit.positions], strict=True)
        return [
            self._answer(example, sorted(found, key=lambda row: row[0]))
            for example, found in zip(examples, rows, strict=True)
        ]

    def _answer(self, example: TaggedExample, rows: list[tuple[Span, np.ndarray]]) -> TagAnswer:
        n, spans = len(example.words), [span for span, _ in rows]
        probabilities_GC = softmax(
            np.array([logits for _, logits in rows], np.float64).reshape(len(rows), len(self.classes))
        )
        group_tags = [self.classes[best] for best in probabilities_GC.argmax(1)]
        groups_of = _group_of_word(spans, n)
        likeliest = [*probabilities_GC.max(1).tolist(), 0.0]  # the last is for a text in which no token speaks
        sure = [likeliest[group] for group in groups_of]
        entities = []
        for start, end, label in schemes.entities(group_tags, self.scheme):
            first, last = example.words[spans[start][0]][0], example.words[spans[end - 1][1] - 1][1]
            probability = float(probabilities_GC[start:end, self._of_label[label]].sum(1).min())
            entities.append(TaggedEntity(first, last, label, example.text[first:last], min(probability, 1.0)))
        tags = self._word_tags(group_tags, spans, n)
        return TagAnswer(example.text, example.words, tuple(tags), tuple(sure), tuple(entities))

    def tune(self, examples: Listed[TaggedExample], units: Listed[Unit], outputs: Listed[np.ndarray]) -> None:
        """Adjusts nothing, but tells if nothing was learnt."""
        answers = self.answers(examples, units, outputs)
        if _has_entities(examples) and not _has_entities(answers):
            log.warning(
                "No word of the %d held-out texts gets a label but O: the model has not learnt any yet; give it more "
                "--epochs, a higher --peak-rate or more examples.",
                len(examples),
            )

    def compared(self, example: TaggedExample, answer: TagAnswer) -> tuple[list[Entity], list[Entity]]:
        """What is there to be found and what was found: by word, or by character if the data say it so.

        With plain labels, such as parts of speech, each word is compared by itself.
        """
        read = schemes.words if self.scheme == "plain" else partial(schemes.entities, scheme=self.scheme)
        gold, found = read(example.tags or ()), read(answer.tags)
        if example.entities is None:
            return gold, found
        return list(example.entities), by_character(found, answer.words)

    def statistic(self, examples: Listed[TaggedExample], answers: Listed[TagAnswer]) -> Statistic:
        """`accuracy` over words, and but for plain labels `precision`, `recall` and `f1` of entities."""
        pairs = [(example.tags or (), answer.tags) for example, answer in zip(examples, answers, strict=True)]
        counts_N2 = np.array([(sum(map(str.__eq__, *pair)), len(pair[0])) for pair in pairs]).reshape(-1, 2)
        compared = [self.compared(example, answer) for example, answer in zip(examples, answers, strict=True)]
        of_entities = entity_statistic([gold for gold, _ in compared], [found for _, found in compared])

        def statistic(indices: np.ndarray) -> dict[str, float]:
            right, n_words = counts_N2[indices].sum(0).tolist()
            figures = {} if self.scheme == "plain" else of_entities(indices)
            return {**figures, "accuracy": right / max(1, n_words)}

        return statistic


def _some(tags: Listed[str], most: int = 20) -> str:
    return ", ".join(tags[:most]) + (f" and {len(tags) - most} more" if len(tags) > most else "")


def _kind(token: str) -> str:
    return "long" if len(token) > 1 else "Han" if has_han(token) else "other"


def _classes(tags: list[list[str]], labels: Counter[str], scheme: str) -> tuple[str, ...]:
    """The classes of a task: all tags of the scheme, or the plain labels, the commonest first."""
    if scheme == "plain":
        counts = Counter(tag for sentence in tags for tag in sentence)
        found = [label for label, _ in sorted((counts + labels).items(), key=lambda one: (-one[1], one[0]))]
        classes = tuple(found if tags else ["O", *found])
    else:
        kinds = labels.keys() | {entity.label for sentence in tags for entity in schemes.entities(sentence, scheme)}
        classes = tuple(schemes.all_tags(sorted(kinds), scheme))
    if len(classes) < 2:
        only = f"only the label {classes[0]!r}" if classes else "no labels"
        raise UserError(f"The training data have {only}; tagging needs two at least.")
    return classes


def _group_of_word(spans: list[Span], n_words: int) -> list[int]:
    """For each word its group; for one without, the group before it, or else the first; -1 if there is none."""
    begins = np.array([start for start, _ in spans], np.int64)
    found = np.searchsorted(begins, np.arange(n_words), side="right") - 1
    return np.maximum(found, min(0, len(spans) - 1)).tolist()


def _windows(
    number: int,
    frame: Frame,
    ids: list[int],
    windows: list[Span],
    asked: tuple[list[int], list[Span], list[int] | None],
) -> list[TagUnit]:
    """The units of one text; each group of words is asked for in the best window of its token."""
    tokens, spans, targets = asked
    home = best_window(len(ids), windows)[tokens]
    before = frame.start_of()
    units = []
    for which, (start, end) in enumerate(windows):
        mine = np.flatnonzero(home == which)
        sequence = frame.around(ids[start:end])
        positions = [tokens[group] - start + before for group in mine]
        labels: dict[str, np.ndarray] = {}
        if targets is not None:
            labels["tags"] = np.full(len(sequence.ids), -1, np.int64)
            labels["tags"][positions] = [targets[group] for group in mine]
        if positions:
            units.append(TagUnit(number, (sequence,), labels, positions, [spans[group] for group in mine]))
    return units


def _has_entities(tagged: Iterable[TaggedExample] | Iterable[TagAnswer]) -> bool:
    return any(tag != schemes.OUTSIDE for one in tagged for tag in one.tags or ())
