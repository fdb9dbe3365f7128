"""Answers: the official rules of SQuAD and CMRC, written a second time and otherwise; made-up and real answers."""

import gzip
import itertools
import json
import random
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.errors import UserError
from unmask.tasks.metrics.answers import (
    answer_metrics,
    answer_scores,
    answer_statistic,
    best_null_threshold,
    chinese_exact_match,
    chinese_f1,
    exact_match,
    f1,
    longest_common_run,
    segments,
)


def squad_words(text):
    """Lower case, no ASCII punctuation, no articles, by runs of letters and digits instead of a pattern."""
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    runs = ["".join(run) for _, run in itertools.groupby(kept, str.isalnum)]
    return "".join(" " if run in ("a", "an", "the") else run for run in runs).split()


def squad_peer(prediction, answers):
    """(exact match, F1) of SQuAD 2.0."""
    golds = [words for words in map(squad_words, answers) if words] or [[]]
    ours = squad_words(prediction)
    best = 0.0
    for gold in golds:
        left, common = list(gold), 0
        for word in ours:
            if word in left:
                left.remove(word)
                common += 1
        if not ours or not gold:
            best = max(best, float(ours == gold))
        else:
            best = max(best, 2 * common / (len(ours) + len(gold)))
    return float(any(" ".join(ours) == " ".join(gold) for gold in golds)), best


ENGLISH = st.one_of(
    st.lists(
        st.sampled_from(["a", "The", "an", "cat", "Cat", "U.S.", "don't", "–", "the-", "é", "_", "1990s", '"', "猫"]),
        max_size=7,
    ).map(" ".join),
    st.text(alphabet="aAnthe .-–'_\t\u3000é\u0301漢1", max_size=20),
)


@settings(deadline=None, max_examples=1000)
@given(ENGLISH, st.lists(ENGLISH, max_size=3))
def test_english_answers_are_scored_as_squad_does(prediction, answers):
    expected = squad_peer(prediction, answers)
    assert (exact_match(prediction, answers), f1(prediction, answers)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("prediction", "answers", "exact", "overlap"),
    [
        ("The Norman dynasty!", ["norman  Dynasty"], 1, 1),
        ("in the 10th century", ["10th and 11th centuries", "10th century"], 0, 0.8),
        ("cat cat cat", ["cat dog"], 0, 0.4),
        ("", ["cat"], 0, 0),
        ("", [], 1, 1),
        ("cat", [], 0, 0),
        ("The", [], 1, 1),
        ("...", ["cat"], 0, 0),
        ("the", ["The"], 1, 1),
        ("cat", ["a", "the cat"], 1, 1),
        ("", ["a", "cat"], 0, 0),
        ("", ["", "“"], 0, 0),
        ("3,000", ["3000"], 1, 1),
        ("theatre", ["atre"], 0, 0),
    ],
)
def test_english_answers(prediction, answers, exact, overlap):
    assert exact_match(prediction, answers) == exact
    assert f1(prediction, answers) == pytest.approx(overlap)


def cmrc_segments(text):
    """Character by character; words of letters and digits alone, which need no rules."""
    listed = "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"
    found, word = [], ""
    for letter in text.lower().strip():
        if letter in listed:
            continue
        if 0x4E00 <= ord(letter) <= 0x9FA5:
            found += [*word.split(), letter]
            word = ""
        else:
            word += letter
    return found + word.split()


def cmrc_peer(prediction, answers):
    """(exact match, F1) of CMRC 2018: the longest common run is the longest n-gram of both."""
    listed = dict.fromkeys(map(ord, "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"))
    exact = any(
        prediction.lower().strip().translate(listed) == gold.lower().strip().translate(listed) for gold in answers
    )
    best, ours = 0.0, cmrc_segments(prediction)
    for gold in map(cmrc_segments, answers):
        for n in range(min(len(ours), len(gold)), 0, -1):
            grams = [{tuple(row[i : i + n]) for i in range(len(row) - n + 1)} for row in (ours, gold)]
            if grams[0] & grams[1]:
                best = max(best, 2 * n / (len(ours) + len(gold)))
                break
    return float(exact), best


CHINESE = st.text(alphabet="中国臺灣大學年ABab19 ，。《》「」（）…％-\u3000", max_size=14)


@settings(deadline=None, max_examples=1000)
@given(CHINESE, st.lists(CHINESE, min_size=1, max_size=3))
def test_chinese_answers_are_scored_as_cmrc_does(prediction, answers):
    expected = cmrc_peer(prediction, answers)
    assert (chinese_exact_match(prediction, answers), chinese_f1(prediction, answers)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("prediction", "answers", "exact", "overlap"),
    [
        ("《红楼梦》", ["红楼梦"], 1, 1),
        ("國立臺灣大學", ["臺灣大學"], 0, 0.8),
        ("国立台湾大学", ["國立臺灣大學"], 0, 1 / 6),  # simplified is not traditional
        ("1998年3月", ["１９９８年３月"], 0, 1 / 4),  # nor are full-width digits the others
        ("ABC公司", ["abc公司"], 1, 1),
        ("", ["中国"], 0, 0),
        ("，。", ["！"], 1, 0),
        ("", [], 1, 1),
        ("「」", [], 1, 1),
        ("中", [], 0, 0),
        ("中国北京", ["北京中国", "北京市中国"], 0, 0.5),
    ],
)
def test_chinese_answers(prediction, answers, exact, overlap):
    assert chinese_exact_match(prediction, answers) == exact
    assert chinese_f1(prediction, answers) == pytest.approx(overlap)


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        # The words of NLTKWordTokenizer in nltk 3.10.4, with which CMRC's script parts what is not Chinese.
        ("在Windows 95上", "在 windows 95 上"),
        ("约1,000.5%", "约 1,000.5 %"),
        ("J.K.罗琳, Ph.D.", "j.k . 罗 琳 , ph.d ."),
        ("(don't) I'm \"new\" ... 'tis [a&b]", "( do n't ) i 'm `` new '' ... ' tis [ a & b ]"),
        ("John's dogs' cannot; stop!", "john 's dogs ' can not ; stop !"),
        ('I wanna say "hi."', "i wan na say `` hi . ''"),
        ("A-B：C/D——e…", "abcd — — e…"),
    ],
)
def test_segments(text, parted):
    assert segments(text) == parted.split()


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="ab", max_size=10), st.text(alphabet="ab", max_size=10))
def test_the_longest_common_run(one, other):
    parts = (one[i:j] for i in range(len(one) + 1) for j in range(i, len(one) + 1))
    assert longest_common_run(one, other) == max(len(part) for part in parts if part in other)


def read_answers(path):
    """For each question its gold answers and a stretch of its context that may overlap one."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    draw = random.Random(0)
    for article in document["data"] if isinstance(document, dict) else document:
        for paragraph in article.get("paragraphs", [article]):
            context = paragraph.get("context") or paragraph["context_text"]
            for question in paragraph["qas"]:
                golds = [gold["text"] if isinstance(gold, dict) else gold for gold in question["answers"]]
                start = max(0, context.find(golds[0]) + draw.randint(-5, 5))
                yield context[start : start + max(1, len(golds[0]) + draw.randint(-5, 5))], golds


def test_real_english_answers(shared):
    rows = list(read_answers(shared / "data" / "reading" / "squad1" / "dev_halfA_24articles.json.gz"))
    assert len(rows) > 4000
    scores = answer_scores(*zip(*rows, strict=True), chinese=False)
    np.testing.assert_allclose(scores, [squad_peer(*row) for row in rows])
    assert 0.2 < scores[:, 1].mean() < 0.9
    assert (answer_scores([golds[0] for _, golds in rows], [golds for _, golds in rows], chinese=False) == 1).all()


@pytest.mark.parametrize("name", ["cmrc2018/cmrc2018_trial.json.gz", "drcd/DRCD_dev.json.gz"])
def test_real_chinese_answers(shared, name):
    rows = list(read_answers(shared / "data" / "reading" / name))
    assert len(rows) > 900
    # Where there is nothing but Chinese, letters and digits, both part words alike.
    simple = [
        row
        for row in rows
        if all(c.isalnum() or c in "，。、《》「」（）·" for text in [row[0], *row[1]] for c in text)
    ]
    assert len(simple) > 0.7 * len(rows)
    scores = answer_scores(*zip(*simple, strict=True), chinese=True)
    np.testing.assert_allclose(scores, [cmrc_peer(*row) for row in simple])
    assert 0.2 < scores[:, 1].mean() < 0.9
    assert (answer_scores([golds[0] for _, golds in rows], [golds for _, golds in rows], chinese=True) == 1).all()


def test_the_mean_over_questions_in_per_cent():
    found = answer_metrics(["the cat", "a dog", ""], [["Cat"], ["dog house", "bird"], ["fish"]], chinese=False)
    assert found == pytest.approx({"exact_match": 100 / 3, "f1": 100 * (1 + 2 / 3) / 3})


def test_questions_without_an_answer_are_told_apart():
    found = answer_metrics(["cat", "", "dog", "bird"], [["cat"], [], [], ["a big bird"]], chinese=False)
    assert found == pytest.approx(
        {
            "exact_match": 50,
            "f1": 100 * (1 + 1 + 0 + 2 / 3) / 4,
            "has_answer_exact_match": 50,
            "has_answer_f1": 100 * (1 + 2 / 3) / 2,
            "no_answer_accuracy": 50,
        }
    )
    assert answer_metrics([""], [[]], chinese=True) == {"exact_match": 100, "f1": 100, "no_answer_accuracy": 100}


def test_a_sample_has_the_figures_of_its_questions():
    draw = random.Random(0)
    predictions = [draw.choice(["", "a cat", "dog house"]) for _ in range(60)]
    answers = [draw.choice([[], ["cat"], ["house", "the dog"]]) for _ in range(60)]
    statistic = answer_statistic(predictions, answers, chinese=False)
    for seed in range(10):
        chosen = np.random.default_rng(seed).integers(0, 60, 60)
        expected = answer_metrics([predictions[i] for i in chosen], [answers[i] for i in chosen], chinese=False)
        assert statistic(chosen) == pytest.approx(expected)


def test_one_prediction_for_each_question():
    with pytest.raises(UserError, match="2 predictions for 1 questions"):
        answer_metrics(["a", "b"], [["a"]], chinese=False)
    with pytest.raises(UserError, match="no examples"):
        answer_metrics([], [], chinese=True)


def mean_f1(threshold, rows):
    return sum((score > threshold) if impossible else (score <= threshold) * f1 for score, f1, impossible in rows)


@settings(deadline=None, max_examples=500)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.floats(-50, 50), st.sampled_from([-1.0, 0.0, np.nextafter(0.0, 1), 2.0])),
            st.floats(0, 1),
            st.booleans(),
        ),
        min_size=1,
        max_size=15,
    )
)
def test_no_threshold_is_better_than_the_best(rows):
    rows = [(score, 0.0 if impossible else overlap, impossible) for score, overlap, impossible in rows]
    found = best_null_threshold(*map(np.array, zip(*rows, strict=True)))
    others = [-100.0, *(score for score, _, _ in rows)]
    assert mean_f1(found, rows) >= max(mean_f1(other, rows) for other in others) - 1e-6


def test_the_threshold_leaves_room_on_both_sides():
    assert best_null_threshold([-2.0, 4.0], [1.0, 0.0], [False, True]) == 1.0
    assert best_null_threshold([-2.0, 4.0], [1.0, 1.0], [False, False]) == 5.0
    assert best_null_threshold([-2.0, 4.0], [0.0, 0.0], [True, True]) == -3.0
    # Wrong answers to both: it is the same whether they are given.
    assert best_null_threshold([-3.0, 2.0], [0.0, 0.0], [False, False]) == -0.5
    # Two scores with no number between them.
    low, high = 1 + 2**-52, 1 + 2**-51
    assert best_null_threshold([low, high], [1.0, 0.0], [False, True]) == low
    assert best_null_threshold([], [], []) == 0.0
    with pytest.raises(UserError, match="not finite"):
        best_null_threshold([np.nan], [1.0], [False])
