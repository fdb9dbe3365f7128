"""A reading's sections: questions by their words and kinds, answers marked in their contexts."""

import doctest
import gzip
import json
from collections import Counter

import pytest

from unmask.report import reading as module
from unmask.report.reading import ReadAnswer, question_word, reading_errors, reading_sections
from unmask.tasks.metrics.answers import answer_metrics

CONTEXT = "The tower was built in 1889 by Gustave Eiffel in Paris and restored in 1986."


def asked(question, answers, predicted, probability=None, context=CONTEXT, place="place"):
    start = context.index(predicted) if predicted else None
    starts = [context.index(answer) for answer in answers]
    return ReadAnswer(place, question, context, answers, starts, predicted, start, probability)


ANSWERS = [
    asked("When was it built?", ["1889", "in 1889"], "1986", 0.4, place="1"),
    asked("Who built it?", [], "Gustave Eiffel", 0.9, place="2"),
    asked("Where is it?", ["Paris"], "", 0.2, place="3"),
    asked("Who built it?", ["Gustave Eiffel"], "Eiffel", 0.9, place="4"),
    asked("When?", ["1889"], "1889", 0.9, place="5"),
    asked("Why?", [], "", 0.9, place="6"),
]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        *(("Who was she?", "who"), ("Whose house?", "who"), ("To whom?", "who"), ("The WHAT?", "what")),
        *(("How many?", "how many"), ("How does it work?", "how"), ("In which year?", "which"), ("Why so?", "why")),
        *(("Is it somewhat true?", "other"), ("", "other"), ("When and where?", "when"), ("Whoever came?", "other")),
        *(("谁写的？", "who"), ("是誰？", "who"), ("什么时候开始？", "when"), ("何時？", "when"), ("哪一年？", "when")),
        *(
            ("在哪里？", "where"),
            ("在什么地方？", "where"),
            ("为什么去？", "why"),
            ("為何？", "why"),
            ("多少人？", "how many"),
        ),
        *(
            ("有几个？", "how many"),
            ("几乎都错了吗？", "other"),
            ("如何做？", "how"),
            ("怎麼做？", "how"),
            ("哪个城市？", "which"),
        ),
        *(("这是什么？", "what"), ("這是什麼？", "what"), ("何谓水？", "what")),
    ],
)
def test_question_words(question, word):
    assert question_word(question).split(" / ")[0] == word


@pytest.mark.parametrize(
    "name", ["cmrc2018/cmrc2018_trial.json.gz", "drcd/DRCD_dev.json.gz", "squad1/dev_halfA_24articles.json.gz"]
)
def test_most_real_questions_have_a_question_word(shared, name):
    with gzip.open(shared / "data" / "reading" / name, "rt", encoding="utf-8") as file:
        articles = json.load(file)["data"]
    questions = [asked["question"] for one in articles for part in one["paragraphs"] for asked in part["qas"]]
    words = Counter(map(question_word, questions))
    assert len(words) == 9
    # 1.7 % in CMRC, 7.7 % in DRCD (`… 的目的為？` has none), 1.4 % in SQuAD.
    assert words["other"] < 0.08 * len(questions)


def tables(answers, chinese=False):
    return {section.title: section for section in reading_sections(answers, chinese=chinese)}


def test_groups_together_are_the_whole():
    found = tables(ANSWERS)
    all_of_them = answer_metrics([a.predicted for a in ANSWERS], [a.answers for a in ANSWERS], chinese=False)
    for title in ("By kind", "By question word", "By length of context"):
        rows = found[title].rows
        assert sum(row[1] for row in rows) == len(ANSWERS)
        for column, name in ((2, "exact_match"), (3, "f1")):
            mean = sum(row[1] * row[column] for row in rows) / len(ANSWERS)
            assert mean == pytest.approx(all_of_them[name])
    kinds = {row[0]: row[2] for row in found["By kind"].rows}
    assert kinds["Answerable"] == all_of_them["has_answer_exact_match"]
    assert kinds["Unanswerable"] == all_of_them["no_answer_accuracy"]
    assert found["Answered or not"].rows == [("Answerable", 3, 1), ("Unanswerable", 1, 1)]
    assert [row[1] for row in found["By question word"].rows] == [2, 2, 1, 1]


def test_lengths_are_in_order():
    answers = [asked("Why?", ["x"], "x", context="x" + "y" * n) for n in range(0, 1000, 10)]
    rows = tables(answers)["By length of context"].rows
    assert [row[0] for row in rows] == ["1 to 251", "261 to 501", "511 to 751", "761 to 991"]
    assert "By kind" not in tables(answers)
    assert reading_sections([], chinese=False) == []


def test_the_worst_answers_come_first():
    found = reading_errors(ANSWERS, chinese=False)
    assert [error.place for error in found] == ["2", "1", "3", "4"]
    assert found[0].head == "Who built it?"
    assert (found[0].gold, found[0].predicted) == ("(no answer)", "Gustave Eiffel (0.900)")
    assert found[2].predicted == "(no answer) (0.200)"
    assert found[3].score == pytest.approx(100 * 2 / 3)


def test_answers_are_marked_in_their_context():
    first = next(error for error in reading_errors(ANSWERS, chinese=False) if error.place == "1")
    marked = [(first.text[mark.start : mark.end], mark.kind) for mark in first.marks]
    # Gold answers that overlap are one mark.
    assert marked == [("in 1889", "gold"), ("1986", "predicted")]
    assert first.gold == "1889 / in 1889"


def test_chinese_answers_are_compared_by_characters():
    answer = asked("什么时候？", ["1889年"], "于1889年", context="铁塔于1889年建成。")
    (error,) = reading_errors([answer], chinese=True)
    assert 0 < error.score < 100
    assert reading_errors([answer], chinese=False)[0].score == 0
    assert tables([answer], chinese=True)["By question word"].rows[0][3] == error.score


def test_examples_in_the_docstrings():
    assert doctest.testmod(module).attempted == 1
    assert doctest.testmod(module).failed == 0


def test_an_answer_that_is_not_in_the_context_is_not_marked():
    answer = ReadAnswer("1", "Who?", CONTEXT, ["Nobody", "Eiffel"], [None, CONTEXT.index("Eiffel")], "Paris", 49, 0.5)
    (error,) = reading_errors([answer], chinese=False)
    assert error.gold == "Nobody / Eiffel"
    assert [(mark.start, mark.kind) for mark in error.marks] == [(39, "gold"), (49, "predicted")]
