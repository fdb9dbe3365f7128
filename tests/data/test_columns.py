"""Columns find their roles by name and content, on tables of every kind and on every real file."""

import pytest

from unmask.data.columns import choose_columns
from unmask.data.readers import Record, read_records
from unmask.errors import UserError

TEXTS = ["a fine film indeed", "what a poor plot", "they played rather well", "nobody would see it twice"]
OTHERS = ["the cat sat down", "a dog ran off", "some birds flew south", "all the fish swam"]
WORDS = [["EU", "is"], ["it"]]
TAGS = [["B-ORG", "O"], ["O"]]
SPANS = [[{"start": 0, "end": 2, "label": "ORG"}], []]


def choose(task, said=None, labelled=True, say=None, **columns):
    rows = zip(*columns.values(), strict=True)
    sample = [Record(dict(zip(columns, row, strict=True)), f"line {n}") for n, row in enumerate(rows)]
    return choose_columns(task, list(columns), sample, said or {}, labelled=labelled, say=say)


def numbered(*columns):
    return {str(number): list(column) for number, column in enumerate(columns, 1)}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"text": TEXTS, "label": "0101"}, {"text": "text", "label": "label"}),
        ({"Label": "0101", "Review Body": TEXTS}, {"text": "Review Body", "label": "Label"}),
        (
            {"index": "0123", "sentence1": TEXTS, "sentence2": OTHERS, "label": "abab"},
            {"text": "sentence1", "pair": "sentence2", "label": "label"},
        ),
        (
            {"Premise": TEXTS, "Hypothesis": OTHERS, "gold_label": "abab"},
            {"text": "Premise", "pair": "Hypothesis", "label": "gold_label"},
        ),
        (
            {"question": TEXTS, "sentence": OTHERS, "label": "abab"},
            {"text": "question", "pair": "sentence", "label": "label"},
        ),
        ({"title": OTHERS, "content": TEXTS, "label": "0101"}, {"text": "content", "label": "label"}),
        ({"文本": TEXTS, "标签": "0101"}, {"text": "文本", "label": "标签"}),
        ({"句子1": TEXTS, "句子2": OTHERS, "类别": "0101"}, {"text": "句子1", "pair": "句子2", "label": "类别"}),
        ({"foo": TEXTS, "bar": "abab"}, {"text": "foo", "label": "bar"}),
        ({"text": TEXTS, "text_label": ["long " * 9] * 4, "target": [0, 1, 0, 1]}, {"text": "text", "label": "target"}),
        (
            {"Quality": "0101", "#1 ID": "5678", "#2 ID": "6789", "#1 String": TEXTS, "#2 String": OTHERS},
            {"text": "#1 String", "pair": "#2 String", "label": "Quality"},
        ),
        (numbered(["gj04", "gj04", "cj99", "cj99"], "1011", ["", "*", "", ""], TEXTS), {"text": "4", "label": "2"}),
        (numbered(TEXTS, OTHERS, "0110"), {"text": "1", "pair": "2", "label": "3"}),
        (numbered("0123", TEXTS, OTHERS, "abab"), {"text": "2", "pair": "3", "label": "4"}),
        (numbered("abab", TEXTS), {"text": "2", "label": "1"}),
        (
            numbered(["很好看的电影", "不好看的电影", "非常好的酒店", "房间太小了吧"], "1010"),
            {"text": "1", "label": "2"},
        ),
    ],
)
def test_classify(columns, expected):
    assert choose("classify", **columns) == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"s1": TEXTS, "s2": OTHERS, "score": ["1.5", "2", "0", "5"]}, {"text": "s1", "pair": "s2", "label": "score"}),
        ({"text": TEXTS, "label": "abab", "rating": [1, 2.5, 3, 4]}, {"text": "text", "label": "rating"}),
        ({"text": TEXTS, "score": ["1.5", "nan", "2", "5"]}, {"text": "text", "label": "score"}),
        (
            numbered("0234", ["0009", "0003", "0004", "0001"], TEXTS, OTHERS, ["1.5", "2.0", "0", "5"]),
            {"text": "3", "pair": "4", "label": "5"},
        ),
    ],
)
def test_regress(columns, expected):
    assert choose("regress", **columns) == expected


@pytest.mark.parametrize(
    ("task", "columns", "sentence"),
    [
        (
            *("regress", {"text": TEXTS, "n": "0123", "score": ["3,5", "1,0", "2", "5,5"]}),
            "No column holds numbers for the label: 'score' looks like the one, but '3,5' (line 0) is no number; write "
            "a point for its comma.",
        ),
        (
            *("regress", {"text": TEXTS, "score": ["1.5", "nan", "", "5"]}),
            "No column holds numbers for the label: 'score' looks like the one, but 'nan' (line 1) is no number; mend "
            "it, or say another column with --label.",
        ),
        (
            *("regress", {"text": TEXTS, "foo": ["good", "bad", "bad", "good"]}),
            "No column holds numbers for the label: 'foo' looks like the one, but 'good' (line 0) is no number; mend "
            "it, or say another column with --label.",
        ),
        (
            *("regress", {"text": TEXTS + OTHERS, "score": ["1", "", None, "2", "", "", "3", "4"]}),
            "No column holds numbers for the label: 'score' looks like the one, but 4 of its first 8 are empty; leave "
            "those out.",
        ),
        (
            *("regress", {"text": TEXTS, "a": ["x"] * 4, "b": ["y"] * 4}),
            "Which column holds the label? Say --label with one of a, b.",
        ),
        (
            *("tag", {"tokens": WORDS, "tags": [["B-ORG", "O"], "O"]}),
            "No column holds lists for the tags: 'tags' looks like the one, but 'O' (line 1) is no list; mend it, or "
            "say another column with --tags.",
        ),
        (
            *("tag", {"text": TEXTS, "label": "0101"}),
            "No column holds lists for the spans: 'label' looks like the one, but '0' (line 0) is no list; mend it, or "
            "say another column with --spans.",
        ),
    ],
)
def test_columns_whose_contents_do_not_fit(task, columns, sentence):
    with pytest.raises(UserError) as error:
        choose(task, **columns)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"id": "01", "tokens": WORDS, "pos_tags": [[1, 2], [3]], "ner_tags": [[1, 0], [0]]},
            {"tokens": "tokens", "tags": "ner_tags"},
        ),
        ({"text": ["EU is", "it"], "tokens": WORDS, "tags": TAGS}, {"tokens": "tokens", "tags": "tags"}),
        ({"text": ["EU is", "it"], "spans": SPANS}, {"text": "text", "spans": "spans"}),
        ({"text": ["EU is", "it"], "label": [[[0, 2, "ORG"]], []]}, {"text": "text", "spans": "label"}),
        ({"text": ["EU is", "it is"], "tags": ["B-ORG O", "O O"]}, {"text": "text", "tags": "tags"}),
        ({"text": ["EU is", "it is"], "entities": ['[{"start": 0}]', "[]"]}, {"text": "text", "spans": "entities"}),
    ],
)
def test_tag(columns, expected):
    assert choose("tag", **columns) == expected


def test_tag_by_another_column():
    values = {"tokens": ["EU"], "tags": ["B-ORG"], "columns": [["EU"], ["NN"], ["B-ORG"]]}
    sample = [Record({**values, "1": ["EU"], "2": ["NN"], "3": ["B-ORG"]}, "a.conll, line 1")]
    names = ["tokens", "tags", "2"]
    assert choose_columns("tag", names, sample, {}) == {"tokens": "tokens", "tags": "tags"}
    for number in ("2", "3"):
        assert choose_columns("tag", names, sample, {"tags": number}) == {"tokens": "tokens", "tags": number}
    with pytest.raises(UserError, match="There is no column '4' for --tags, only tokens, tags, 2"):
        choose_columns("tag", names, sample, {"tags": "4"})
    assert choose("tag", labelled=False, text=TEXTS) == {"text": "text"}


def test_read():
    columns = {"id": "1", "title": ["T"], "context": ["c"], "question": ["q"], "answers": [{"text": ["c"]}]}
    found = {"question": "question", "context": "context", "answers": "answers", "id": "id"}
    assert choose("read", **columns) == found
    assert choose("read", 段落=["c"], 问题=["q"], 答案=["c"]) == {
        "question": "问题",
        "context": "段落",
        "answers": "答案",
    }
    assert choose("read", labelled=False, passage=["c"], query=["q"]) == {"question": "query", "context": "passage"}
    with pytest.raises(UserError, match=r"Which column holds the answers\? Say --answers with one of n\."):
        choose("read", context=["c"], question=["q"], n=["1"])


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"sent1": ["a"], "sent2": ["b"], "ending0": ["c"], "ending1": ["d"], "ending2": ["e"], "label": [1]},
            {"context": "sent1", "question": "sent2", "choices": "ending0,ending1,ending2", "label": "label"},
        ),
        (
            {"sent1": ["He sat"], "ending0": ["down at last."], "ending1": ["up in bed."], "label": ["1"]},
            {"context": "sent1", "choices": "ending0,ending1", "label": "label"},
        ),
        (
            {"article": ["a"], "question": ["q"], "options": [["x", "y"]], "answer": ["A"]},
            {"context": "article", "question": "question", "choices": "options", "label": "answer"},
        ),
        (
            {"premise": ["a"], "choice1": ["x"], "choice2": ["y"], "label": [0]},
            {"context": "premise", "choices": "choice1,choice2", "label": "label"},
        ),
        (
            {"question": ["q"], "option_b": ["y"], "option_a": ["x"], "answer": ["A"]},
            {"question": "question", "choices": "option_a,option_b", "label": "answer"},
        ),
        (
            {"文章": ["a"], "问题": ["q"], "选项": [["x", "y"]], "答案": ["x"]},
            {"context": "文章", "question": "问题", "choices": "选项", "label": "答案"},
        ),
    ],
)
def test_choose(columns, expected):
    assert choose("choose", **columns) == expected


def test_columns_that_spreadsheets_leave_behind_play_no_role():
    columns = {"v1": ["ham", "spam"] * 2, "v2": TEXTS, "3": ["", "and some more of it", "", ""], "4": [""] * 4}
    assert choose("classify", **columns) == {"text": "v2", "label": "v1"}
    assert choose("classify", labelled=False, v1=["short"] * 4, **{"2": [""] * 4}) == {"text": "v1"}
    assert choose("classify", {"text": "3"}, **columns)["text"] == "3"


N_ROWS = 30


def cycle(*values):
    return [values[n % len(values)] for n in range(N_ROWS)]


def prose(about, n_words=12):
    """Different texts: what they are about, and words that change from row to row."""
    words = TEXTS[0].split() + TEXTS[1].split() + TEXTS[2].split() + OTHERS[2].split()
    return [f"{about} {n}: {' '.join(words[n % 5 :][:n_words])}" for n in range(N_ROWS)]


IDS = [1000 + 37 * n % 101 for n in range(N_ROWS)]
COUNTS = cycle("0", "0", "1", "3")
DATES = [f"2015-02-{1 + n % 28:02} 11:35:52 -0800" for n in range(N_ROWS)]
FRACTIONS = [str(round(0.5 + 17 * n % 31 / 62, 4)) for n in range(N_ROWS)]
STARS = cycle("5", "1", "4", "2", "5", "3", "5")
MOODS = cycle("negative", "neutral", "positive", "negative")
TITLES = prose("short", 2)
BODIES = prose("this is what i think of it", 14)
SPARSE = cycle("", "", "", "", "negative")

SCHEMAS = {
    "Amazon US reviews": (
        {
            **{"marketplace": cycle("US"), "customer_id": IDS, "review_id": [f"R{n}" for n in IDS]},
            **{"product_id": cycle("B00", "B01", "B02"), "product_parent": cycle(7, 8, 9), "product_title": TITLES},
            **{"product_category": cycle("Books", "Toys"), "star_rating": STARS, "helpful_votes": COUNTS},
            **{"total_votes": cycle(0, 1, 2), "vine": cycle("N", "N", "Y"), "verified_purchase": cycle("Y", "N")},
            **{"review_headline": TITLES, "review_body": BODIES, "review_date": DATES},
        },
        {"text": "review_body", "label": "star_rating"},
        "star_rating",
    ),
    "Amazon US reviews, in part": (
        {
            **{"marketplace": cycle("US"), "review_id": IDS, "star_rating": STARS, "title": TITLES},
            **{"review_body": BODIES, "helpful_votes": COUNTS},
        },
        {"text": "review_body", "label": "star_rating"},
        "star_rating",
    ),
    "Amazon reviews, 5-core": (
        {
            **{
                "reviewerID": IDS,
                "asin": cycle("B00", "B01"),
                "reviewerName": TITLES,
                "helpful": cycle([0, 1], [2, 2]),
            },
            **{"reviewText": BODIES, "overall": STARS, "summary": TITLES, "unixReviewTime": IDS, "reviewTime": DATES},
        },
        {"text": "reviewText", "label": "overall"},
        "overall",
    ),
    "Amazon fine food": (
        {
            **{"Id": IDS, "ProductId": cycle("B00", "B01"), "HelpfulnessNumerator": COUNTS, "Score": STARS},
            **{"Time": IDS, "Summary": TITLES, "Text": BODIES},
        },
        {"text": "Text", "label": "Score"},
        "Score",
    ),
    "Twitter US airline": (
        {
            **{"tweet_id": IDS, "airline_sentiment": MOODS, "airline_sentiment_confidence": FRACTIONS},
            **{"negativereason": cycle("Late Flight", "", ""), "negativereason_confidence": cycle("0.7", "", "1.0")},
            **{"airline": cycle("Delta", "United"), "airline_sentiment_gold": SPARSE, "name": TITLES},
            **{"negativereason_gold": SPARSE, "retweet_count": COUNTS, "text": BODIES, "tweet_coord": cycle("")},
            **{"tweet_created": DATES, "tweet_location": cycle("New York", ""), "user_timezone": cycle("Quito", "")},
        },
        {"text": "text", "label": "airline_sentiment"},
        None,
    ),
    "Women's clothing": (
        {
            **{"1": list(range(N_ROWS)), "Clothing ID": cycle(767, 1080), "Age": cycle(33, 34, 60), "Title": TITLES},
            **{"Review Text": BODIES, "Rating": STARS, "Recommended IND": cycle(1, 1, 0)},
            **{"Positive Feedback Count": COUNTS, "Division Name": cycle("General", "Petite")},
            **{"Department Name": cycle("Tops", "Dresses"), "Class Name": cycle("Knits", "Pants")},
        },
        {"text": "Review Text", "label": "Rating"},
        "Rating",
    ),
    "Women's clothing, without the rating": (
        {
            **{"1": list(range(N_ROWS)), "Clothing ID": cycle(767, 1080), "Age": cycle(33, 34, 60), "Title": TITLES},
            **{"Review Text": BODIES, "Recommended IND": cycle(1, 1, 0), "Positive Feedback Count": COUNTS},
        },
        {"text": "Review Text", "label": "Recommended IND"},
        "Recommended IND",
    ),
    "AG News": (
        {"Class Index": cycle(3, 4, 1, 2), "Title": TITLES, "Description": BODIES},
        {"text": "Description", "label": "Class Index"},
        "Class Index",
    ),
    "Yelp": (
        {
            **{"review_id": IDS, "user_id": IDS, "business_id": cycle("x", "y"), "stars": STARS, "useful": COUNTS},
            **{"funny": COUNTS, "cool": COUNTS, "text": BODIES, "date": DATES},
        },
        {"text": "text", "label": "stars"},
        "stars",
    ),
    "IMDB of Kaggle": ({"review": BODIES, "sentiment": MOODS}, {"text": "review", "label": "sentiment"}, None),
    "SMS spam": ({"v1": cycle("ham", "ham", "spam"), "v2": BODIES}, {"text": "v2", "label": "v1"}, None),
    "Financial PhraseBank": (numbered(MOODS, BODIES), {"text": "2", "label": "1"}, None),
    "Hate speech": (
        {
            **{"1": IDS, "count": cycle(3, 3, 6), "hate_speech": cycle(0, 1), "offensive_language": cycle(3, 0)},
            **{"neither": cycle(0, 3), "class": cycle(2, 1, 0), "tweet": BODIES},
        },
        {"text": "tweet", "label": "class"},
        "class",
    ),
    "Google Play": (
        {
            **{"App": cycle("10 Best Foods", "Zedge"), "Translated_Review": BODIES, "Sentiment": MOODS},
            **{"Sentiment_Polarity": FRACTIONS, "Sentiment_Subjectivity": FRACTIONS},
        },
        {"text": "Translated_Review", "label": "Sentiment"},
        "Sentiment_Polarity",
    ),
    "Steam": (
        {
            **{"app_id": cycle(10, 20), "app_name": cycle("Counter Strike", "Rust"), "review_text": BODIES},
            **{"review_score": cycle(-1, 1), "review_votes": cycle(0, 1)},
        },
        {"text": "review_text", "label": "review_score"},
        "review_score",
    ),
    "Covid tweets": (
        {
            **{"UserName": IDS, "ScreenName": IDS, "Location": cycle("London", "New York"), "TweetAt": DATES},
            **{"OriginalTweet": BODIES, "Sentiment": cycle("Extremely Positive", "Negative")},
        },
        {"text": "OriginalTweet", "label": "Sentiment"},
        None,
    ),
    "Drug reviews": (
        {
            **{"uniqueID": IDS, "drugName": cycle("a", "b"), "condition": cycle("Birth Control", "Acne")},
            **{"review": BODIES, "rating": STARS, "date": DATES, "usefulCount": COUNTS},
        },
        {"text": "review", "label": "rating"},
        "rating",
    ),
    "Dianping, in Chinese": (
        {"用户ID": IDS, "店铺评分": STARS, "点赞数": COUNTS, "标题": TITLES, "用户评论": BODIES, "评论时间": DATES},
        {"text": "用户评论", "label": "店铺评分"},
        "店铺评分",
    ),
    "Douban": (
        {"ID": IDS, "Crawl_Date": DATES, "Number": cycle(1, 2), "Star": STARS, "Comment": BODIES, "Like": COUNTS},
        {"text": "Comment", "label": "Star"},
        "Star",
    ),
    "Quora": (
        {
            **{"id": IDS, "qid1": IDS, "qid2": IDS, "question1": BODIES, "question2": prose("how do i")},
            **{"is_duplicate": cycle(0, 1)},
        },
        {"text": "question1", "pair": "question2", "label": "is_duplicate"},
        "is_duplicate",
    ),
    "MNLI": (
        {
            **{"index": IDS, "promptID": IDS, "pairID": IDS, "genre": cycle("fiction", "travel")},
            **{"sentence1_parse": BODIES, "sentence1": BODIES, "sentence2": prose("so"), "label1": MOODS},
            **{"label2": SPARSE, "gold_label": MOODS},
        },
        {"text": "sentence1", "pair": "sentence2", "label": "gold_label"},
        None,
    ),
    "STS with names": (
        {
            **{"genre": cycle("news"), "year": cycle(2012, 2013), "old_index": IDS, "sentence1": BODIES},
            **{"sentence2": prose("so"), "score": FRACTIONS},
        },
        {"text": "sentence1", "pair": "sentence2", "label": "score"},
        "score",
    ),
    "SICK": (
        {
            **{"pair_ID": IDS, "sentence_A": BODIES, "sentence_B": prose("so")},
            **{"relatedness_score": cycle("4.5", "3.2", "1", "3.6"), "entailment_judgment": cycle("NEUTRAL", "CON")},
        },
        {"text": "sentence_A", "pair": "sentence_B", "label": "entailment_judgment"},
        "relatedness_score",
    ),
    "SICK, with all of its columns": (
        {
            **{"pair_ID": IDS, "sentence_A": BODIES, "sentence_B": prose("so")},
            **{"entailment_label": cycle("NEUTRAL", "CON"), "relatedness_score": cycle("4.5", "3.2", "1", "3.6")},
            **{"entailment_AB": cycle("A_neutral_B", "A_entails_B"), "sentence_A_dataset": cycle("FLICKR", "STS")},
        },
        {"text": "sentence_A", "pair": "sentence_B", "label": "entailment_label"},
        "relatedness_score",
    ),
    "Stance of SemEval": (
        {"ID": IDS, "Target": cycle("Atheism", "Climate"), "Tweet": BODIES, "Stance": cycle("AGAINST", "FAVOR")},
        {"text": "Tweet", "label": "Stance"},
        None,
    ),
    "Comments with votes": (
        {"comment": BODIES, "score": COUNTS, "sentiment": MOODS},
        {"text": "comment", "label": "sentiment"},
        "score",
    ),
    "OLID": (
        {
            **{"id": IDS, "tweet": BODIES, "subtask_a": cycle("OFF", "NOT")},
            **{"subtask_b": cycle("TIN", "UNT", "NULL"), "subtask_c": cycle("NULL", "NULL", "NULL", "IND", "GRP")},
        },
        {"text": "tweet", "label": "subtask_a"},
        None,
    ),
    "Civil Comments": (
        {
            **{"text": BODIES, "toxicity": FRACTIONS, "severe_toxicity": FRACTIONS, "obscene": FRACTIONS},
            **{"threat": FRACTIONS, "insult": FRACTIONS, "sexual_explicit": FRACTIONS},
        },
        {"text": "text", "label": "toxicity"},
        "toxicity",
    ),
    "Tweets about entities, without a header": (
        numbered([str(2401 + n // 6) for n in range(N_ROWS)], cycle("Borderlands", "Nvidia"), MOODS, BODIES),
        {"text": "4", "label": "3"},
        None,
    ),
}
"""Public files by their columns, the guess for classes, and the label for numbers where there is one."""


@pytest.mark.parametrize(("columns", "expected", "number"), SCHEMAS.values(), ids=SCHEMAS)
def test_public_schemas(columns, expected, number):
    assert choose("classify", **columns) == expected
    if number is not None:
        assert choose("regress", **columns) == {**expected, "label": number}


@pytest.mark.parametrize("schema", ["Amazon US reviews", "Twitter US airline", "Women's clothing", "AG News", "Steam"])
def test_names_tell_where_a_file_is_too_small_to_tell(schema):
    columns, expected, _ = SCHEMAS[schema]
    assert choose("classify", **{name: values[:5] for name, values in columns.items()}) == expected


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ({"text": BODIES, "starRating": STARS, "flag": cycle(0, 1)}, "starRating"),
        ({"text": BODIES, "News Category": cycle("a", "b"), "flag": cycle(0, 1)}, "News Category"),
        ({"text": BODIES, "mood:label": cycle("a", "b"), "flag": cycle(0, 1)}, "mood:label"),
        ({"text": BODIES, "kind": cycle("a", "b"), "retweet_count": COUNTS, "vote": COUNTS}, "kind"),
        ({"text": BODIES, "kind": cycle("a", "b"), "Unnamed: 0": COUNTS, "num_words": COUNTS}, "kind"),
        ({"text": BODIES, "kind": cycle("a", "b"), "toxicity_score": FRACTIONS}, "kind"),
        ({"text": BODIES, "kind": cycle("a", "b"), "post_score": IDS}, "kind"),
        ({"text": BODIES, "kind": cycle("a", "b"), "expert_label": SPARSE}, "kind"),
        ({"text": BODIES, "topic": cycle("a", "b"), "star_rating": STARS}, "topic"),
        ({"text": BODIES, "name": TITLES, "retweet_count": COUNTS}, "retweet_count"),
    ],
)
def test_a_label_by_the_end_of_its_name(columns, label):
    assert choose("classify", **columns)["label"] == label


def test_ids_are_no_classes_though_they_recur():
    """Kaggle's tweets about entities have each id six times."""
    ids, entities = [str(n // 6) for n in range(500)], [f"thing {n % 90}" for n in range(500)]
    moods, bodies = [MOODS[n % N_ROWS] for n in range(500)], [f"all that i think of it {n}" for n in range(500)]
    assert choose("classify", **numbered(ids, entities, moods, bodies))["label"] == "3"
    grades, kinds = [str(n % 7) for n in range(500)], [str(100 + n % 15) for n in range(500)]
    assert choose("classify", **numbered(ids, grades, moods, bodies))["label"] == "2"
    assert choose("classify", **numbered(grades, bodies, kinds))["label"] == "3"  # of numbers alone the last


def test_which_of_several_columns_of_classes_is_the_label():
    kinds = {"source": cycle("a", "b"), "words": BODIES, "kind": cycle("c", "d")}
    assert choose("classify", {"text": "words"}, **kinds)["label"] == "kind"  # what stands before it is about the text
    with pytest.raises(UserError, match=r"Which column holds the label\? Say --label with one of kind, other\."):
        choose("classify", {"text": "words"}, **kinds, other=cycle("e", "f"))
    with pytest.raises(UserError, match=r"Say --label with one of valence, arousal\."):
        choose("regress", text=BODIES, valence=FRACTIONS, arousal=FRACTIONS)
    parts = {"words": BODIES, "task_1": cycle("c", "d"), "task_2": cycle("e", "f")}
    assert choose("classify", **parts)["label"] == "task_1"


def test_a_column_named_label_is_one_whatever_it_holds():
    columns = {"text": BODIES, "labels": [f"one {n}, two {n}" for n in range(N_ROWS)], "news_category": MOODS}
    assert choose("classify", **columns)["label"] == "labels"


def test_of_two_texts_that_stand_apart_the_much_longer_one_is_read():
    """Sentiment140 has dates before its tweets, other files titles."""
    dates = [f"Mon Apr 06 22:{10 + n}:45 PDT 2009" for n in range(N_ROWS)]
    users = [f"user{n}" for n in range(N_ROWS)]
    tweets = numbered(cycle("0", "4"), IDS, dates, cycle("NO_QUERY"), users, BODIES)
    assert choose("classify", {"label": "1"}, **tweets) == {"text": "6", "label": "1"}
    assert choose("classify", **numbered(MOODS, dates, BODIES)) == {"text": "3", "label": "1"}
    titled = numbered(TITLES, MOODS, prose("what i think of it", 40))
    assert choose("classify", **titled) == {"text": "3", "label": "2"}
    assert choose("classify", **numbered(titled["3"], MOODS, TITLES)) == {"text": "1", "label": "2"}
    with pytest.raises(UserError, match="Which column holds the text"):
        choose("classify", **numbered(TEXTS, "abab", OTHERS))


def test_a_number_by_the_end_of_its_name():
    columns = {"text": BODIES, "class_label": cycle(0, 1), "helpful_votes": IDS, "age": FRACTIONS}
    assert choose("regress", **columns, sim_score=FRACTIONS)["label"] == "sim_score"
    assert choose("regress", **columns)["label"] == "class_label"
    assert choose("regress", text=BODIES, kind=cycle("a", "b"), age=cycle("33", "", "60"))["label"] == "age"
    with pytest.raises(UserError, match="'airline_sentiment' looks like the one, but 'negative'"):
        choose("regress", **SCHEMAS["Twitter US airline"][0])


def test_halves_of_a_pair_are_asked_for():
    columns = {"title": TITLES, "question_text": BODIES, "answer_text": prose("so"), "label": cycle(0, 1)}
    with pytest.raises(UserError, match="Which column holds the text"):
        choose("classify", **columns)


@pytest.mark.parametrize("first", ["premise", "sentence1", "Text A", "question1", "s1", "query", "句子1"])
def test_half_a_pair_is_not_guessed(first):
    columns = {first: BODIES, "other": prose("so"), "label": cycle(0, 1), "date": DATES}
    with pytest.raises(UserError) as error:
        choose("classify", **columns)
    assert str(error.value) == (
        f"{first!r} is by its name the first of two texts that are read together; say --pair with one of other, or "
        "--pair none."
    )
    assert choose("classify", {"pair": "other"}, **columns) == {"text": first, "pair": "other", "label": "label"}
    for alone in ({"pair": "none"}, {"text": first}):
        assert choose("classify", alone, **columns) == {"text": first, "label": "label"}
    del columns["other"]
    assert choose("classify", **columns) == {"text": first, "label": "label"}


def test_a_hypothesis_may_be_cut_short():
    assert choose("classify", premise=TEXTS, hypo=OTHERS, label="abab")["pair"] == "hypo"


def test_spans_of_tokens_are_refused():
    with pytest.raises(UserError) as error:
        choose("tag", {"tokens": "words", "spans": "ents"}, words=WORDS, ents=SPANS)
    assert str(error.value) == (
        "--spans counts the characters of a text, but --tokens gives words; say --text in place of --tokens, or --tags "
        "in place of --spans."
    )
    said = {"tokens": "words", "tags": "tags", "text": "text", "spans": "ents"}  # the latter two are of training
    assert choose("tag", said, words=WORDS, ents=SPANS, tags=TAGS, text=["EU is", "it"]).keys() >= {"tokens", "tags"}


def test_what_was_said_comes_first():
    columns = {"text": TEXTS, "note": OTHERS, "label": "0101", "mood": "abab"}
    assert choose("classify", {"text": "note", "label": "mood"}, **columns) == {"text": "note", "label": "mood"}
    assert choose("classify", {"pair": "note"}, **columns) == {"text": "text", "pair": "note", "label": "label"}
    assert choose("classify", {"text": "2", "label": None}, **columns) == {"text": "note", "label": "label"}
    pair = {"sentence1": TEXTS, "sentence2": OTHERS, "label": "0101"}
    assert choose("classify", {"pair": "none"}, **pair) == {"text": "sentence1", "label": "label"}
    assert choose("classify", {"text": "sentence2"}, **pair) == {"text": "sentence2", "label": "label"}
    choices = {"question": ["q"], "b": ["y"], "a": ["x"], "answer": ["A"]}
    assert choose("choose", {"choices": "a, b"}, **choices)["choices"] == "a,b"
    assert choose("choose", {"choices": ["b", "a"]}, **choices)["choices"] == "b,a"


def test_guesses_are_said_in_one_sentence():
    said = []
    columns = {"text": TEXTS, "label": "0101"}
    choose("classify", say=said.append, **columns)
    assert said == ["The text is taken from 'text', the label from 'label' (other columns: --text, --label)."]
    choose("classify", {"text": "text"}, say=said.append, **columns)
    assert said[1:] == ["The label is taken from 'label' (other columns: --label)."]
    choose("tag", say=said.append, words=[["a"]], tags=[["O"]])
    assert said[2:] == ["The tokens are taken from 'words', the tags from 'tags' (other columns: --tokens, --tags)."]
    choose("classify", {"text": "text", "label": "label"}, say=said.append, **columns)
    assert len(said) == 3


@pytest.mark.parametrize(
    ("said", "columns", "sentence"),
    [
        ({"text": "body"}, {"text": TEXTS, "n": "0101"}, "There is no column 'body' for --text, only text, n."),
        (
            {"tags": "n"},
            {"text": TEXTS, "n": "0101"},
            "--tags has no meaning for classify, which knows --text, --pair, --label.",
        ),
        ({"label": "9"}, numbered(TEXTS, "0101"), "There is no column '9' for --label, only 1, 2."),
        ({}, {"a": TEXTS, "b": OTHERS, "c": "0101"}, "Which column holds the text? Say --text with one of a, b, c."),
        (
            {"label": "text,label"},
            {"text": TEXTS, "label": "0101"},
            "No column is left for the text: the label is 'text,label', and there are only text, label; each role "
            "needs a column of its own.",
        ),
        ({}, {"text": TEXTS}, "There is no column for the label, only text; the data must have one."),
    ],
)
def test_what_is_not_there(said, columns, sentence):
    with pytest.raises(UserError) as raised:
        choose("classify", said, **columns)
    assert str(raised.value) == sentence


def test_bytes_play_no_role():
    blobs = [b"\xff", b"\xfe"] * 2
    assert choose("classify", content=blobs, words=TEXTS, flag=blobs, kind="abab") == {"text": "words", "label": "kind"}
    questions = {"id": blobs, "question": OTHERS, "context": TEXTS}
    assert choose("read", labelled=False, **questions) == {"question": "question", "context": "context"}
    for said in ({}, {"text": "text"}):
        with pytest.raises(UserError) as error:
            choose("classify", said, text=blobs, label="abab")
        assert str(error.value) == (
            "The column 'text' for --text holds bytes that cannot be read as text; give its --encoding, such as "
            "gb18030, big5, utf-16 or latin-1, or another column."
        )


def test_a_file_to_predict():
    assert choose("classify", labelled=False, text=TEXTS) == {"text": "text"}
    assert choose("classify", labelled=False, **numbered(TEXTS)) == {"text": "1"}
    assert choose("classify", labelled=False, text=TEXTS, label="0101") == {"text": "text"}


def test_a_column_of_answers_is_not_looked_at_in_a_file_to_predict():
    columns = {"kind": ["good", "poor"] * 2, "words": ["film", "plot"] * 2}
    assert choose("classify", {"label": "kind"}, labelled=False, **columns) == {"text": "words"}
    assert choose("classify", {"label": "kind", "text": "1"}, labelled=False, **columns) == {"text": "kind"}
    assert choose("classify", {"label": "1"}, labelled=False, **numbered(TEXTS)) == {"text": "1"}
    tagged = {"tags": "tags", "spans": "ents"}
    assert choose("tag", tagged, labelled=False, words=WORDS, tags=TAGS, ents=SPANS) == {"tokens": "words"}


def test_no_such_task():
    with pytest.raises(UserError, match="There is no task 'guess'; choose among classify"):
        choose("guess", text=TEXTS)


REAL = {
    "sentiment/sst2/*": ("classify", {"text": "sentence", "label": "label"}),
    "sentiment/imdb/*": ("classify", {"text": "text", "label": "label"}),
    "sentiment/chnsenticorp/*": ("classify", {"text": "text_a", "label": "label"}),
    "topic/trec6/*": ("classify", {"text": "text", "label": "label"}),
    "topic/tnews/*.tsv.gz": ("classify", {"text": "1", "label": "2"}),
    "pairs/rte/[td]*": ("classify", {"text": "sentence1", "pair": "sentence2", "label": "label"}),
    "pairs/rte/val*": ("classify", {"text": "2", "pair": "3", "label": "4"}),
    "pairs/stsb/*": ("regress", {"text": "8", "pair": "9", "label": "10"}),
    "pairs/afqmc/*": ("classify", {"text": "1", "pair": "2", "label": "3"}),
    "acceptability/cola/*": ("classify", {"text": "4", "label": "2"}),
    "ner/*/*": ("tag", {"tokens": "tokens", "tags": "tags"}),
    "reading/*/*": ("read", {"question": "question", "context": "context", "answers": "answers", "id": "id"}),
}
NOT_EXAMPLES = {"labels.json", "labels.txt"}


@pytest.mark.parametrize("pattern", REAL)
def test_real_files(shared, pattern):
    task, expected = REAL[pattern]
    paths = sorted((shared / "data").glob(pattern))
    assert paths
    for path in paths:
        records = read_records(path)
        assert choose_columns(task, records.names, records.sample, {}) == expected, path


def test_no_real_file_is_left_out(shared):
    rooms = ("sentiment", "topic", "pairs", "acceptability", "ner", "reading")
    files = {path for room in rooms for path in (shared / "data" / room).rglob("*") if path.is_file()}
    read = {path for pattern in REAL for path in (shared / "data").glob(pattern)}
    assert {path.name for path in files - read} <= NOT_EXAMPLES


def test_a_column_named_none_is_no_second_text():
    columns = {"text": TEXTS, "none": "0101", "other": "1010"}
    for nothing in ("", "none"):
        assert choose("classify", {"text": "text", "pair": nothing, "label": "none"}, **columns) == {
            "text": "text",
            "label": "none",
        }
    assert choose("classify", {"text": "text", "pair": "2", "label": "other"}, **columns)["pair"] == "none"


def test_choices_are_asked_for_with_their_form():
    with pytest.raises(UserError, match="Say --choices with a column of lists, or several, a,b,c, of q, A, B"):
        choose("choose", q=TEXTS, A="wxyz", B="stuv")


def test_a_comma_may_part_thousands_or_decimals():
    records = [Record({"text": "a house by the sea", "price": "1,339"}, "x.csv, line 2")]
    with pytest.raises(UserError, match=r"write 1339 if the comma parts thousands, 1\.339 if decimals"):
        choose_columns("regress", ["text", "price"], records, {}, labelled=True)


def test_one_column_for_two_roles_is_refused():
    records = [Record({"text": "a house by the sea", "price": "1"}, "x.csv, line 2")]
    with pytest.raises(UserError, match="--text and --label are both 'text'; each needs a column of its own"):
        choose_columns("classify", ["text", "price"], records, {"text": "text", "label": "text"}, labelled=True)
