"""What columns are called that play a role in a task, in English and in Chinese, the likeliest name first."""

import re

FULL_TEXT = (
    *("text", "sentence", "sentence1", "review", "content", "document", "body", "article", "premise", "question1"),
    *("text_a", "text1", "s1", "q1", "query", "question", "comment", "message", "tweet", "utterance", "passage"),
    *("description", "abstract", "sms", "post", "reviewtext", "review_body", "string"),
    *("文本", "句子", "文本1", "句子1", "内容", "正文", "评论", "评论内容", "评价", "问题", "文章", "微博"),
)
TITLES = ("summary", "title", "headline", "标题")
"""What is read only where no longer text stands beside it."""
TEXT = (*FULL_TEXT, *TITLES)
TEXT_ENDINGS = (
    *("text", "body", "review", "content", "comment", "message", "tweet", "article", "post", "abstract", "description"),
    *("文本", "正文", "内容", "评论", "评价"),
)
"""What the name of a text ends in, as `Review Text` does. Words of pairs, such as question, are not among them: half a
pair would be read as if it were the whole."""
PAIRS = (
    *(("sentence1", "sentence2"), ("premise", "hypothesis"), ("premise", "hypo"), ("text_a", "text_b")),
    ("question1", "question2"),
    *(("text1", "text2"), ("sentence_a", "sentence_b"), ("sentence_1", "sentence_2"), ("text_1", "text_2")),
    *(("s1", "s2"), ("q1", "q2"), ("question", "sentence"), ("question", "passage"), ("query", "passage")),
    *(("query", "document"), ("query1", "query2"), ("query", "title"), ("sent1", "sent2"), ("#1_string", "#2_string")),
    *(
        ("文本1", "文本2"),
        ("句子1", "句子2"),
        ("问题1", "问题2"),
        ("前提", "假设"),
        ("文本a", "文本b"),
        ("句子a", "句子b"),
    ),
)
"""Two texts that are read together."""
FIRST_HALVES = ("premise", "sentence1", "text_a", "text1", "question1", "s1", "q1", "query", "文本1", "句子1")
"""What is hardly ever a text by itself where another one stands beside it."""
LABEL = (
    *("label", "labels", "class", "category", "stance", "entailment_judgment", "target", "gold_label", "score"),
    *("similarity", "sentiment", "rating", "stars", "polarity", "topic", "intent", "y", "label_text", "is_duplicate"),
    *("similarity_score", "answer", "cat", "relatedness_score", "quality", "coarse_label", "toxic", "toxicity"),
    *("emotion", "label_desc", "value"),
    *("标签", "类别", "分类", "情感", "分数", "得分", "评分", "相似度", "类型", "标注"),
)
CERTAIN_LABEL = ("label", "labels", "标签")
"""What is one whatever it holds, such as several labels a text, most of which are different."""
SCORES = {"score", "similarity", "similarity_score", "relatedness_score", "toxicity", "value", "分数", "得分", "相似度"}
"""Those that are measured or voted rather than classes."""
LABEL_ENDINGS = (
    *("label", "target", "sentiment", "polarity", "emotion", "intent", "rating", "stars", "star", "score"),
    *("class", "category", "topic"),
    *("标签", "标注", "情感", "评分", "得分", "分数", "类别", "分类", "类型"),
)
"""What the name of a label ends in, as `airline_sentiment` does. What is judged of a text stands before what it is
about: `star_rating` before `product_category`."""
VALUE_ENDINGS = (
    *("score", "similarity", "rating", "stars", "star", "grade", "polarity", "sentiment", "target", "label"),
    *("相似度", "得分", "分数", "评分", "情感", "标签", "标注"),
)
"""The same where the label is a number."""
_MEASURES = (
    *("id", "ids", "uid", "idx", "index", "count", "counts", "num", "number", "total", "vote", "votes", "like"),
    *("likes", "views", "shares", "retweets", "confidence", "probability", "date", "time", "timestamp", "year"),
    *("month", "day", "created", "at", "age", "length", "price", "latitude", "longitude"),
    *("编号", "序号", "数", "数量", "日期", "时间", "年龄", "价格"),
)
_COUNTING = ("n_", "num_", "nb_", "number_of_", "unnamed:_")
"""What the names of counts begin with; `Unnamed: 0` is what pandas makes of an index without a name."""
_NEW_WORD = re.compile(r"(?<=[^\W_A-Z])(?=[A-Z])")
"""Where a word begins with a capital."""
TOKENS = ("tokens", "words", "token", "word", "chars", "characters", "词", "字", "分词")
TAGS = ("tags", "ner_tags", "ner", "labels", "pos_tags", "upos", "tag", "label", "bio", "标签", "标注", "实体标签")
SPANS = ("spans", "entities", "entity", "ents", "annotations", "label", "labels", "实体", "标注")
QUESTION = ("question", "query", "question_text", "question_stem", "问题", "提问", "题目")
CONTEXT = (
    *("context", "passage", "paragraph", "article", "document", "story", "text", "content", "ctx", "premise"),
    *("background", "sent1", "startphrase", "文章", "段落", "上下文", "原文", "背景", "材料", "篇章"),
)
ANSWERS = ("answers", "answer", "answer_text", "答案", "回答")
ID = ("id", "qid", "question_id", "query_id", "example_id", "guid", "idx", "编号", "序号")
CHOICES = ("choices", "options", "endings", "candidates", "answers", "选项")
RIGHT = ("label", "answer", "answerkey", "answer_key", "correct", "gold", "target", "标签", "答案", "正确答案")
"""Which of the choices is right."""

SEVERAL_CHOICES = re.compile(
    r"(choice|ending|option|answer|candidate|alternative|solution|sol|opt|选项)[ _-]?([0-9a-h])"
)
"""`ending0`, `option_a`: choices that stand in a column each."""

_KNOWN = {
    *(*TEXT, *LABEL, *TOKENS, *TAGS, *SPANS, *QUESTION, *CONTEXT, *ANSWERS, *ID, *CHOICES, *RIGHT, "index"),
    *(name for pair in PAIRS for name in pair),
}


def plain(name: str) -> str:
    """A name as it is compared: `Sentence 1` and `sentence-1` are `sentence_1`."""
    return re.sub(r"[ -]+", "_", name.strip().lower())


def ends_in(name: str, word: str) -> bool:
    """Whether it is the last word of a name: `Star Rating`, `starRating` and `star_rating` end in `rating`.

    An index of its own does not count: `Class Index` and `class_id` end in `class`, too.
    """
    words = re.sub(r"\W+", "_", re.sub(_NEW_WORD, "_", name.strip())).lower()
    begin = r"(^|_)" if word.isascii() else ""
    return re.search(rf"{begin}{word}(_(id|idx|index))?$", words) is not None


def is_measure(name: str) -> bool:
    """Whether it counts, numbers or dates something, which is hardly what is to be learned."""
    if any(ends_in(name, word) for word in (*LABEL_ENDINGS, *VALUE_ENDINGS)):
        return False
    return plain(name).startswith(_COUNTING) or any(ends_in(name, word) for word in _MEASURES)


def is_known(name: str) -> bool:
    """Whether a column of that name has a role in some task."""
    return plain(name) in _KNOWN or SEVERAL_CHOICES.fullmatch(plain(name)) is not None
