"""Reading comprehension: from questions to targets and back, windows that lose no answer, n-best, no answer."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_texts import BYTES, TEXTS, TOKENIZERS
from unmask import UserError, load_tokenizer
from unmask.data.columns import choose_columns
from unmask.data.readers import Record, read_records
from unmask.tasks.questions import Question
from unmask.tasks.read import Read, best_spans, span_scores
from unmask.tasks.spans import solid
from unmask.tasks.units import Window

COLUMNS = {"question": "question", "context": "context", "answers": "answers"}


def ask(context, start, end, question="what"):
    return Question("1", question, context, (context[start:end],), (start,), False, "here")


def record(context, *answers, question="what", place="here"):
    given = [{"text": text, "start": start} for text, start in answers]
    return Record({"question": question, "context": context, "answers": given}, place)


def perfect(units):
    """What a model that has learned its targets says."""
    outputs = []
    for unit in units:
        logits_L2 = np.zeros((unit.length, 2), np.float32)
        logits_L2[unit.targets["start"], 0] = logits_L2[unit.targets["end"], 1] = 30
        outputs.append(logits_L2)
    return outputs


@st.composite
def questions(draw):
    """A question whose answer begins and ends with something that is no white space."""
    context = draw(TEXTS)
    solid_places = [i for i, character in enumerate(context) if not character.isspace()]
    start, end = sorted(draw(st.tuples(*[st.sampled_from(solid_places or [0])] * 2)))
    return ask(context, start, end + 1, question=draw(TEXTS))


@settings(deadline=None, max_examples=150)
@given(questions().filter(lambda one: one.context.strip() and "</s>" not in one.context))
def test_bytes_give_every_answer_back(question):
    task = Read(settings={"max_answer_tokens": 1000})
    units = task.units([question], BYTES, Window(600, stride=200))
    [answer] = task.answers([question], units, perfect(units))
    assert (answer.start, answer.end) == question.span
    assert answer.text == question.answers[0]


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(deadline=None, max_examples=100)
@given(questions())
def test_an_answer_comes_back_within_its_smallest_cover(kind, question):
    """From the first character of the first token that is on it to the last of the last."""
    task = Read(settings={"max_answer_tokens": 1000})
    units = task.units([question], TOKENIZERS[kind], Window(300, stride=100))
    offsets = solid(
        question.context, TOKENIZERS[kind].encode_many([question.context], special=False)[0].offsets
    ).tolist()
    start, end = question.span
    on_it = [(a, b) for a, b in offsets if a < b and a < end and b > start]
    if not on_it:
        assert [unit.targets for unit in units] == [{}] * len(units)
        return
    [answer] = task.answers([question], units, perfect(units))
    assert (answer.start, answer.end) == (on_it[0][0], max(b for _, b in on_it))
    assert answer.text == question.context[answer.start : answer.end]


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(12, 30))
def test_no_answer_is_lost_at_a_windows_edge(kind, data, length):
    tokenizer = TOKENIZERS[kind]
    words = data.draw(st.lists(st.sampled_from(["a", "he", "北", "is", "."]), min_size=1, max_size=80))
    context = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    start = len("".join(f"{word} " for word in words[:first]))
    question = ask(context, start, start + len(words[first]), question=data.draw(TEXTS))
    task = Read()
    units = task.units([question], tokenizer, Window(length, stride=4))
    assert all(unit.length <= length for unit in units)
    held = [unit for unit in units if unit.targets["start"]]
    assert held
    assert {token for unit in units for token in range(*unit.window)} == set(range(len(units[0].offsets_N2)))
    [answer] = task.answers([question], units, perfect(units))
    assert question.answers[0] in answer.text


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_units_are_what_the_tokenizer_makes_of_the_pair(kind):
    tokenizer, question = TOKENIZERS[kind], ask("the cat is in the city", 4, 7)
    [unit] = Read().units([question], tokenizer, Window(100))
    pair = tokenizer.encode("what", question.context)
    assert (unit.sequences[0].ids, unit.sequences[0].segments) == (pair.ids, pair.segments)
    assert unit.targets["start"] > pair.texts.index(1) - 1


def test_targets_of_windows_without_the_answer():
    context = " ".join(["he"] * 30) + " cat"
    answerable = ask(context, len(context) - 3, len(context))
    impossible = Question("2", "what", context, (), (), True, "here")
    unknown = Question("3", "what", context, (), (), False, "here")
    units = Read().units([answerable, impossible, unknown], BYTES, Window(40, stride=8))
    none = {"start": 0, "end": 0}
    of = [[unit.targets for unit in units if unit.example == number] for number in range(3)]
    assert of[0][0] == none
    assert of[0][-1] != none
    assert of[1] == [none] * len(of[1])
    assert of[2] == [{}] * len(of[2])


def made_up(n, *, seed=0, longest=5):
    """A question on n words with random logits in overlapping windows."""
    context = " ".join("abcdefgh"[i % 8] for i in range(n))
    question = Question("1", "h", context, (), (), False, "here")
    task = Read(settings={"max_answer_tokens": longest, "n_best": 7})
    units = task.units([question], TOKENIZERS["WordPiece"], Window(16, stride=4))
    draw = np.random.default_rng(seed)
    return task, question, units, [draw.normal(size=(unit.length, 2)).astype(np.float32) for unit in units]


@pytest.mark.parametrize("n", [1, 3, 40])
def test_n_best_is_that_of_trying_all(n):
    task, question, units, outputs = made_up(n)
    scores = {}
    for unit, logits_L2 in zip(units, outputs, strict=True):
        for i in range(*unit.window):
            for j in range(i, min(i + 5, unit.window[1])):
                at = unit.at - unit.window[0]
                score = logits_L2[at + i, 0] + logits_L2[at + j, 1]
                scores[i, j] = max(scores.get((i, j), -np.inf), score)
    best = sorted(scores, key=lambda span: -scores[span])[:7]
    [answer] = task.answers([question], units, outputs)
    assert [(one.start, one.end) for one in answer.n_best] == [(2 * i, 2 * j + 1) for i, j in best]
    total = sum(np.exp(score) for score in scores.values())
    assert [one.probability for one in answer.n_best] == pytest.approx([np.exp(scores[span]) / total for span in best])
    null = min(logits_L2[0].sum() for logits_L2 in outputs)
    assert answer.score_diff == pytest.approx(null - scores[best[0]], abs=1e-6)
    assert (answer.text, answer.start, answer.end, answer.probability) == answer.n_best[0]
    scores_ND, _ = span_scores(list(zip(units, outputs, strict=True)), 5)
    assert len(best_spans(scores_ND, 10_000)) == len(scores)


def test_no_answer_where_its_score_is_above_the_threshold():
    task, question, units, outputs = made_up(40)
    [answer] = task.answers([question], units, outputs)
    task.settings |= {"impossible": True, "null_threshold": answer.score_diff - 0.1}
    [none] = task.answers([question], units, outputs)
    assert (none.text, none.start, none.end) == ("", 0, 0)
    assert none.score_diff == answer.score_diff
    assert {type(one.probability) for one in (none, *none.n_best)} == {float}  # not NumPy's, which prints otherwise
    assert none.n_best[0][:3] == answer.n_best[0][:3]
    assert 0 < none.probability < 1
    assert none.n_best[0].probability < answer.n_best[0].probability
    task.settings["null_threshold"] = answer.score_diff + 0.1
    assert task.answers([question], units, outputs)[0].text == answer.text


def test_the_threshold_is_tuned():
    """The model finds both spans and holds that the second question has none; the first is answered above -1."""
    examples = [ask("the cat", 4, 7), Question("2", "what", "the cat", (), (), True, "here")]
    task = Read(settings={"impossible": True})
    units = task.units(examples, BYTES, Window(50))
    span = units[0].targets
    outputs = [np.zeros((unit.length, 2)) for unit in units]
    for logits_L2, null in zip(outputs, (12.0, 18.0), strict=True):
        logits_L2[span["start"], 0] = logits_L2[span["end"], 1] = 5
        logits_L2[0] = null / 2
    assert [answer.text for answer in task.answers(examples, units, outputs)] == ["", ""]
    task.tune(examples, units, outputs)
    assert task.settings["null_threshold"] == pytest.approx(5)
    answers = task.answers(examples, units, outputs)
    assert [answer.text for answer in answers] == ["cat", ""]
    figures = task.metrics(examples, answers)
    assert (figures["f1"], figures["has_answer_f1"], figures["no_answer_accuracy"]) == (100, 100, 100)
    task.settings |= {"impossible": False, "null_threshold": 1.0}
    task.tune(examples, units, outputs)
    assert task.settings["null_threshold"] == 1.0


def test_a_model_that_only_keeps_silent_is_told(caplog):
    examples = [ask("the cat", 4, 7), *[Question("2", "what", "the cat", (), (), True, "here")] * 3]
    task = Read(settings={"impossible": True})
    units = task.units(examples, BYTES, Window(50))
    outputs = [np.zeros((unit.length, 2)) for unit in units]
    for logits_L2 in outputs:
        logits_L2[0], logits_L2[-2] = 9, 5  # the same span for all, which is no answer to any
    task.tune(examples, units, outputs)
    assert "None of the 4 held-out questions is answered, though some have an answer" in caplog.text


def test_an_empty_context_has_no_answer():
    task, question = Read(), Question("1", "what", "", (), (), False, "here")
    units = task.units([question], BYTES, Window(50))
    [answer] = task.answers([question], units, [np.zeros((unit.length, 2)) for unit in units])
    assert (answer.text, answer.n_best) == ("", ())


def test_what_is_learned():
    english = Read.learn([record("the cat", ("cat", 4))], COLUMNS)
    assert english.settings == {
        "impossible": False,
        "null_threshold": 0.0,
        "n_best": 20,
        "chinese": False,
        "max_answer_tokens": None,
    }
    task = Read.learn([record("北京是首都", ("北京", 0)), record("北京")], COLUMNS, max_answer_tokens=9)
    assert (task.settings["chinese"], task.settings["impossible"], task.settings["max_answer_tokens"]) == (
        True,
        True,
        9,
    )
    assert Read(settings=task.settings).settings == task.settings


@pytest.mark.parametrize(
    ("context", "chinese", "longest"), [("他" * 60, None, 50), ("a " * 60, None, 30), ("a", True, 50)]
)
def test_a_folder_from_elsewhere_answers_as_the_language_has_it(context, chinese, longest):
    task = Read(settings={"chinese": chinese})
    question = Question("1", "what", context if len(context) > 1 else context * 60, ("x",), (None,), False, "here")
    assert task.in_chinese([question]) == (longest == 50)
    units = task.units([question], BYTES, Window(400))
    first = units[0].at
    outputs = []
    for unit in units:
        logits_L2 = np.zeros((unit.length, 2))
        logits_L2[first, 0] = 9
        logits_L2[first : unit.length - 1, 1] = np.arange(unit.length - 1 - first)
        outputs.append(logits_L2)
    [answer] = task.answers([question], units, outputs)
    tokens = BYTES.encode_many([answer.text], special=False)[0].ids
    assert abs(len(tokens) - longest) < 3


def test_answers_are_looked_for_as_long_as_they_are_in_training():
    context = "he " * 60
    task = Read.learn([record(context, (context.strip(), 0))], COLUMNS)
    task.units([ask(context, 0, 179)], BYTES, Window(400))
    assert task.settings["max_answer_tokens"] == 179
    task.units([ask(context, 0, 299)], BYTES, Window(400))
    assert task.settings["max_answer_tokens"] == 179


def test_moved_and_lost_answers_are_said_once(caplog):
    records = [
        record("the cat", ("cat", 4), place="a.json, question 1"),
        record("the cat", ("cat", 0), place="a.json, question 2"),
        record("the cat", ("dog", 4), place="a.json, question 3"),
    ]
    with caplog.at_level(logging.WARNING, "unmask"):
        examples = Read().examples(records, COLUMNS, labelled=True)
    assert caplog.messages == [
        "1 of 3 answers were found at another offset than said (first: a.json, question 2); 1 of 3 questions have "
        "answers that are not in their context (first: a.json, question 3), where alone the model can look for them."
    ]
    assert [unit.targets != {} for unit in Read().units(examples, BYTES, Window(40))] == [True, True, False]
    assert [example.answers for example in examples] == [("cat",), ("cat",), ("dog",)]  # evaluation counts it


def test_long_questions_and_answers_are_said(caplog):
    example = ask("he " * 40, 0, 60, question="x" * 100)
    with caplog.at_level(logging.WARNING, "unmask"):
        units = Read().units([example], BYTES, Window(64))
    assert all(unit.length <= 64 and unit.targets == {} for unit in units)
    assert caplog.messages == [
        "1 of 1 questions have more than 30 tokens and are cut there (first: here).",
        "1 of 1 answers fit into no window; a longer stride helps (first: here).",
    ]


@pytest.mark.parametrize(("question", "context"), [(" ", "he sat"), ("who?", "\n")])
def test_empty_questions_and_contexts_are_said(caplog, question, context):
    records = [record(context, question=question), record("he sat", question="who?")]
    examples = Read().examples(records, COLUMNS, labelled=False)
    with caplog.at_level(logging.WARNING, "unmask"):
        Read().units(examples, BYTES, Window(40))
    assert caplog.messages == [
        "1 of 2 questions are empty or have an empty context, and what is answered means nothing (first: here)."
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Read().units([], BYTES, Window(5)), "window of 5 tokens with a stride of 0 has no room"),
        (lambda: Read().units([], BYTES, Window(64, stride=60)), "stride of 60 has no room"),
        (lambda: Read.learn([record("a")], COLUMNS), "None of the 1 training questions has an answer"),
        (lambda: Read(settings={"n_best": 0}), "n_best is 0; it must be 1 at least"),
    ],
)
def test_what_cannot_be_read(call, message):
    with pytest.raises(UserError, match=message):
        call()


REAL = {
    ("bert-tiny", "squad1/dev_halfA_24articles.json.gz", 384): (4961, 4961, 4935),
    ("granite-embedding-30m-english", "squad1/dev_halfA_24articles.json.gz", 128): (4961, 4961, 4908),
    ("bert-tiny", "cmrc2018/cmrc2018_trial.json.gz", 512): (1002, 1002, 1001),
    ("granite-embedding-30m-english", "cmrc2018/cmrc2018_trial.json.gz", 512): (1002, 983, 982),
    ("bert-tiny", "drcd/DRCD_dev.json.gz", 384): (3524, 3524, 3521),
}
"""How many questions there are, how many answers a window holds whole, how many come back to the character.

The rest begin or end inside a token ("six" of "sixth"). Granite's tokens are bytes of Chinese: 19 of CMRC's answers are
longer than the 128 tokens that windows share, and lie on their edges.
"""


@pytest.mark.parametrize(("model", "file", "length"), REAL)
def test_every_answer_of_real_data_comes_back(shared, model, file, length):
    records = read_records(shared / "data" / "reading" / file)
    columns = choose_columns("read", records.names, records.sample)
    task = Read.learn(records, columns)
    assert task.settings["chinese"] == ("squad" not in file)
    examples = task.examples(records, columns, labelled=True)
    units = task.units(examples, load_tokenizer(shared / "models" / model), Window(length))
    assert max(unit.length for unit in units) <= length
    known = [unit for unit in units if unit.targets]
    longest = max(unit.targets["end"] - unit.targets["start"] for unit in known) + 1
    task.settings |= {"max_answer_tokens": longest, "n_best": 1}
    answers = task.answers(examples, known, perfect(known))
    held = {unit.example for unit in known}
    pairs = [(examples[number].context[slice(*examples[number].span)].strip(), answers[number].text) for number in held]
    assert all(gold in found for gold, found in pairs)
    assert (len(examples), len(held), sum(gold == found for gold, found in pairs)) == REAL[model, file, length]
