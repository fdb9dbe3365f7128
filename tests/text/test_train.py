"""Training of tokenizers: as transformers reads them, the same in any order, under a ceiling of memory."""

import gzip
import json
import os
import random
import subprocess
import sys

import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unmask import UserError, load_tokenizer
from unmask.text import train as training
from unmask.text.folder import save_whole
from unmask.text.train import KINDS, Plan, most_frequent_pair, train_tokenizer

SYLLABLES = [
    "ka",
    "ne",
    "pi",
    "do",
    "ru",
    "sta",
    "gel",
    "bor",
    "lin",
    "wy",
    "lo",
    "mi",
    "tu",
    "ser",
    "ván",
    "eß",
    "Ro",
    "天",
    "气",
    "很好",
    "们",
    "123",
    "’s",
    "!",
    "，",
]


def corpus(n=400, seed=0):
    """Made-up words of few syllables, in sentences: both kinds of script, with repeated words."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(600)]
    return [" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(n)]


def trained(kind, size=420, texts=None, **given):
    return train_tokenizer(corpus() if texts is None else texts, Plan(kind=kind, vocab_size=size, **given))


@pytest.fixture(scope="module", params=KINDS)
def folder(request, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param) / "tokenizer"
    save_whole(trained(request.param).tokenizer, out)
    return out


CLASSES = {"bpe": "RobertaTokenizer", "wordpiece": "BertTokenizer", "unigram": "XLMRobertaTokenizer"}


def test_transformers_opens_it_with_its_own_class(folder):
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    kind = folder.parent.name.rstrip("0123456789")
    assert type(theirs).__name__ == CLASSES[kind]
    assert len(theirs) == 420
    specials = [theirs.cls_token, theirs.pad_token, theirs.sep_token, theirs.unk_token, theirs.mask_token]
    ids = theirs.convert_tokens_to_ids(specials)
    if kind == "wordpiece":
        assert specials == ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
        assert ids == [2, 0, 3, 1, 4]
    else:
        assert specials == ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        assert ids == [0, 1, 2, 3, 419]
    assert load_tokenizer(folder).mask_id == theirs.mask_token_id


_opened = {}


def both(folder):
    if folder not in _opened:
        _opened[folder] = load_tokenizer(folder), transformers.AutoTokenizer.from_pretrained(folder)
    return _opened[folder]


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60), pair=st.text(min_size=1, max_size=30))
def test_ids_equal_transformers_on_any_text(folder, text, pair):
    ours, theirs = both(folder)
    assert ours.encode(text, pair).ids == theirs(text, pair)["input_ids"]
    masked = f"{text} {theirs.mask_token}."
    assert ours.encode(masked).ids == theirs(masked)["input_ids"]


@pytest.mark.parametrize(
    ("kind", "options"),
    [("bpe", {"add_prefix_space": True}), ("wordpiece", {"lowercase": False}), ("wordpiece", {"strip_accents": False})],
)
def test_options_reach_transformers(kind, options, tmp_path):
    save_whole(trained(kind, **options).tokenizer, tmp_path / "out")
    ours, theirs = both(tmp_path / "out")
    for text in [*corpus(40, seed=1), "Roka ván", " x", "VÁN eß <mask>"]:
        assert ours.encode(text).ids == theirs(text)["input_ids"]


def test_cased_and_accents():
    def tokens(**options):
        return trained("wordpiece", **options).tokenizer.encode("Ro ván").tokens[1:-1]

    assert "".join(tokens()) == "rovan"
    assert "".join(tokens(lowercase=False)) == "Rován"
    assert "".join(tokens(strip_accents=False)) == "rován"


def test_a_prefix_space_makes_the_first_word_like_any_other():
    tokenizer = trained("bpe", add_prefix_space=True).tokenizer
    word = corpus()[0].split()[0]
    ids = tokenizer.encode(f"{word} {word}").ids[1:-1]
    assert ids[: len(ids) // 2] == ids[len(ids) // 2 :]


_bpe = []


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=100))
def test_any_text_round_trips_through_byte_level_bpe(text):
    if not _bpe:
        _bpe.append(trained("bpe").tokenizer)
    if not any(special in text for special in ("<s>", "</s>", "<pad>", "<unk>", "<mask>")):
        ids = _bpe[0].encode(text).ids
        assert _bpe[0].decode(ids) == text
        assert 3 not in ids


def test_chinese_characters_are_words_of_their_own_in_wordpiece():
    vocabulary = trained("wordpiece").tokenizer.rust.get_vocab()
    assert "天" in vocabulary
    assert not [token for token in vocabulary if "气" in token and token != "气"]


def test_every_kind_says_more_with_fewer_tokens_than_characters():
    for kind in KINDS:
        found = trained(kind)
        text = " ".join(corpus(50))
        assert len(found.tokenizer.encode(text).ids) < 0.7 * len(text)
        assert found.bytes_per_token > 2
        assert found.unknown_share < 0.01
        assert (found.n_texts, found.share) == (400, 1.0)


SCRIPT = """
import hashlib, random, sys
sys.path.insert(0, {tests!r})
from test_train import corpus
from unmask.text.train import Plan, train_tokenizer
texts = corpus()
random.Random({seed}).shuffle(texts)
found = train_tokenizer(texts, Plan(kind={kind!r}, vocab_size=420))
print(hashlib.sha256(found.tokenizer.rust.to_str().encode()).hexdigest(), found.bytes_per_token)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_in_any_process_order_and_number_of_threads(kind):
    """WordPiece and Unigram of the Rust library give another file each time."""
    found = set()
    for seed, threads in ((1, "1"), (2, "2"), (3, "4")):
        code = SCRIPT.format(tests=os.path.dirname(__file__), seed=seed, kind=kind)  # noqa: PTH120
        environment = {**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": str(seed)}
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        found.add(ran.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_too_much_for_the_memory_is_sampled_the_same_in_any_order(kind, monkeypatch, capsys):
    monkeypatch.setattr(training, "_FIXED", 0)
    monkeypatch.setattr(training, "_PER_SEED", 0)
    texts = [text for seed in range(6) for text in corpus(seed=seed)]
    results = []
    for seed in range(3):
        random.Random(seed).shuffle(texts)
        found = trained(kind, 280, texts, memory=1_000_000)
        results.append((found.share, found.tokenizer.rust.to_str()))
    assert len(set(results)) == 1
    assert 0.02 < results[0][0] < 0.9
    assert f"Training on {results[0][0]:.1%} of the text" in capsys.readouterr().err


def test_most_frequent_pair(monkeypatch):
    assert most_frequent_pair({"ab": 5}) == 0  # too small a text to matter
    monkeypatch.setattr(training, "_MOST_PAIRS", 20)
    assert most_frequent_pair({"abab": 5, "xab": 3, "y": 100}) == 13


def test_what_the_rust_trainer_cannot_count_is_thinned(monkeypatch):
    """It counts pairs in 32 bits; above that "the" would be no token of a large English text."""
    monkeypatch.setattr(training, "_MOST_PAIRS", 300)
    found = trained("bpe", 290)
    assert found.share < 1


def test_a_vocabulary_that_is_too_large_or_too_small():
    with pytest.raises(UserError, match=r"A vocabulary of 200 is too small: bpe needs 261 ids at least"):
        Plan(kind="bpe", vocab_size=200)
    for kind in KINDS:
        with pytest.raises(UserError, match=r"The text yields a vocabulary of ([\d,]+) at most, but 90,000") as error:
            trained(kind, 90_000)
        possible = int(str(error.value).split(" of ")[1].split(" at ")[0].replace(",", ""))
        if kind != "unigram":  # where another size prunes another way
            assert trained(kind, possible).tokenizer.n_ids == possible
    for kind in ("wordpiece", "unigram"):
        with pytest.raises(UserError, match=r"too small for this text: its alphabet and the special tokens are \d+"):
            trained(kind, 10)


def test_bad_plans():
    for given_, message in (
        ({"kind": "bp"}, "There is no kind 'bp' of tokenizer; choose one of bpe, wordpiece, unigram"),
        ({"memory": 1000}, "cannot do with 0 MiB of memory; it needs 400 MiB at least"),
        (
            {"kind": "unigram", "vocab_size": 50_000, "memory": 500 << 20},
            "500 MiB of memory; it needs 935 MiB at least",
        ),
        ({"coverage": 0.0}, "Coverage must lie above 0"),
    ):
        with pytest.raises(UserError, match=message):
            Plan(**{"kind": "bpe", "vocab_size": 1000, **given_})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], ["", "  \n "]])
def test_nothing_to_train_on(kind, texts):
    if kind == "bpe" and texts:
        texts = [""]
    with pytest.raises(UserError, match="There is nothing to train on"):
        trained(kind, texts=texts)


def test_halves_of_surrogate_pairs_and_endless_words_are_borne():
    texts = [*corpus(), "a\ud800b", "x" * 300_000, "好" * 5_000]
    for kind in KINDS:
        assert trained(kind, texts=texts).tokenizer.n_ids == 420


def test_a_special_token_in_the_text_becomes_no_second_token():
    tokenizer = trained("unigram", texts=[*corpus(), *["<s> <mask>x"] * 50]).tokenizer
    tokens = [token for token, _ in json.loads(tokenizer.rust.to_str())["model"]["vocab"]]
    assert len(set(tokens)) == len(tokens) == 420


_roberta = []


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80), st.one_of(st.none(), st.text(min_size=1, max_size=40)))
def roberta_ids_equal(text, pair):
    ours, theirs = _roberta
    assert ours.encode(text, pair).ids == theirs(text, pair)["input_ids"]
    if "<" not in text:
        assert ours.decode(ours.encode(text).ids) == text


def test_robertas_own_vocabulary_on_any_text(shared, tmp_path):
    """roberta-base's tokenizer.json, here and in transformers: the same ids, and the text comes back."""
    packed = (shared / "models" / "roberta-bpe" / "roberta-base.tokenizer.json.gz").read_bytes()
    (tmp_path / "tokenizer.json").write_bytes(gzip.decompress(packed))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}')
    _roberta[:] = [load_tokenizer(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)]
    assert _roberta[0].n_ids == 50_265
    roberta_ids_equal()
