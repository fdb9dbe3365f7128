"""Which files of a dataset on the hub are read: its config and split, by its card or by names."""

from fnmatch import fnmatchcase

import pytest

from unmask.data import hub
from unmask.data.where import find_sources
from unmask.errors import UserError


def test_a_dataset_that_cannot_be_reached(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="the hub cannot be reached"):
        find_sources(["hf:no-such-owner/no-such-name"])


WIKIANN = [f"{name}/{split}-00000-of-00001.parquet" for name in ("zh", "zh-yue") for split in ("test", "train")]
GLUE = [
    "dataset_infos.json",
    "mnli/train-00000-of-00002.parquet",
    "mnli/train-00001-of-00002.parquet",
    "mnli/validation_matched-00000-of-00001.parquet",
    "mnli/validation_mismatched-00000-of-00001.parquet",
    "mnli_matched/validation-00000-of-00001.parquet",
    "sst2/train-00000-of-00001.parquet",
    "sst2/validation-00000-of-00001.parquet",
]
ANLI = [f"plain_text/{split}-00000-of-00001.parquet" for split in ("dev_r1", "dev_r2", "train_r1", "train_r2")]
EMOTION = [f"{name}-00000-of-00001.parquet" for name in ("split/train", "split/validation", "unsplit/train")]


@pytest.fixture
def chosen(monkeypatch, tmp_path):
    """The files that are taken of a dataset with these names and this card; no others are fetched."""

    def take(names, source, card=None):
        def fetch(_, kind, wanted):
            for name in names:
                if any(fnmatchcase(name, pattern) for pattern in wanted):
                    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                    (tmp_path / name).touch()
            return tmp_path

        monkeypatch.setattr(hub, "listed_on_hub", lambda name, kind: names[::-1])
        monkeypatch.setattr(hub, "card_on_hub", lambda name, names: card or {})
        monkeypatch.setattr(hub, "from_hub", fetch)
        found = [source.path for source in find_sources([f"hf:owner/name{source}"])]
        assert sorted(found) == sorted(path for path in tmp_path.rglob("*") if path.is_file())
        return [str(path.relative_to(tmp_path)) for path in found]

    return take


@pytest.mark.parametrize(
    ("names", "source", "files"),
    [
        (WIKIANN, ":zh", ["zh/train-00000-of-00001.parquet"]),
        (WIKIANN, ":zh:test", ["zh/test-00000-of-00001.parquet"]),
        (WIKIANN, ":zh-yue:default", ["zh-yue/train-00000-of-00001.parquet"]),
        (WIKIANN, ":yue", ["zh-yue/train-00000-of-00001.parquet"]),
        (GLUE, ":mnli", GLUE[1:3]),
        (GLUE, ":mnli:validation", GLUE[3:5]),
        (GLUE, ":mnli:validation_matched", GLUE[3:4]),
        (GLUE, ":sst2:validation", GLUE[7:]),
        (ANLI, ":train_r1", ANLI[2:3]),
        (ANLI, ":plain_text:dev_r1", ANLI[:1]),
        (ANLI, "", ANLI[2:]),
        (["a/train/0.parquet", "a/dev_x/0.parquet", "a/dev_y/0.parquet"], ":a:dev_x", ["a/dev_x/0.parquet"]),
        (["train-00-of-01-b42a775f407cee45.csv", "train_2.csv"], ":train", ["train-00-of-01-b42a775f407cee45.csv"]),
        (["test_sets/train.csv", "test_sets/test.csv"], ":test_sets", ["test_sets/train.csv"]),
        (["test_sets/train.csv", "test_sets/dev.csv"], "::dev", ["test_sets/dev.csv"]),
        (["data.csv", "dataset_infos.json", "README.txt"], "", ["data.csv"]),
        (["parquet/train.parquet", "csv/train.csv"], "", ["parquet/train.parquet"]),
        (["train.csv", "small/train.csv"], "", ["train.csv"]),
        (["train[1].csv", "test[1].csv"], "", ["train[1].csv"]),
        (["train/b.jsonl", "train/a/c.jsonl", "test/d.jsonl"], "", ["train/a/c.jsonl", "train/b.jsonl"]),
        (["2020/a.jsonl", "2021/a.jsonl"], "", ["2020/a.jsonl", "2021/a.jsonl"]),
    ],
)
def test_the_config_and_the_split_of_a_dataset_by_names(chosen, names, source, files):
    assert chosen(names, source) == files


@pytest.mark.parametrize(
    ("names", "source", "said"),
    [
        (EMOTION, "", "hf:owner/name has several configs: split, unsplit; name one, as in hf:owner/name:split."),
        (WIKIANN, "::test", "has several configs: zh, zh-yue; name one, as in hf:owner/name:zh:test."),
        (["v1/en/train.csv", "v2/en/train.csv"], ":en", "several configs: v1/en, v2/en; .* hf:owner/name:v1/en."),
        ([f"{n:02}/train.csv" for n in range(22)], "", "18, 19 and 2 more; name one"),
        (ANLI, ":train_r3", "hf:owner/name:train_r3 has no file that can be read"),
    ],
)
def test_configs_that_are_not_told_apart(chosen, names, source, said):
    with pytest.raises(UserError, match=said):
        chosen(names, source)
    assert chosen(["v1/en/train.csv", "v2/en/train.csv"], ":v1/en") == ["v1/en/train.csv"]


def config(name, files, **more):
    return {"config_name": name, "data_files": files, **more}


def splits(**paths):
    return [{"split": split, "path": path} for split, path in paths.items()]


EMOTION_CARD = {
    "configs": [
        config("unsplit", splits(train="unsplit/train-*")),
        config("split", splits(train="split/train-*", validation="split/validation-*"), default=True),
    ]
}
TABLES = ["dev.csv", "holdout.csv", "other.csv", "train_other.csv", "deep/er/holdout.csv"]


@pytest.mark.parametrize(
    ("names", "source", "configs", "files"),
    [
        (EMOTION, "", EMOTION_CARD["configs"], EMOTION[:1]),
        (EMOTION, ":unsplit", EMOTION_CARD["configs"], EMOTION[2:]),
        (EMOTION, ":split:validation", EMOTION_CARD["configs"], EMOTION[1:2]),
        (EMOTION, "::validation", EMOTION_CARD["configs"], EMOTION[1:2]),
        (EMOTION, ":default", [config("default", "unsplit/*"), config("split", "split/*")], EMOTION[2:]),
        (TABLES, "", [config("a", splits(train="other.csv", test=["holdout.csv"]))], ["other.csv"]),
        (TABLES, ":a:test", [config("a", splits(train="other.csv", test=["holdout.csv"]))], ["holdout.csv"]),
        (TABLES, "::test", [config("a", splits(test="*.csv"), data_dir="deep/er")], ["deep/er/holdout.csv"]),
        (TABLES, "::test", [config("a", splits(test="**/holdout.csv"))], ["deep/er/holdout.csv", "holdout.csv"]),
        (TABLES, "", [config("a", ["other.csv", "dev.csv"])], ["other.csv"]),
        (TABLES, "", [{"config_name": "a", "sep": ","}], ["train_other.csv"]),
        (["en/train.csv", "zh/train.csv"], "", [config("all", "*/*.csv")], ["en/train.csv", "zh/train.csv"]),
        (["en/train.csv"], ":en", ["en", "zh"], ["en/train.csv"]),
    ],
)
def test_the_config_and_the_split_of_a_dataset_by_its_card(chosen, names, source, configs, files):
    assert chosen(names, source, {"configs": configs}) == files


def test_a_card_without_a_default(chosen):
    card = {"configs": [config(name, splits(train=f"{name}/train-*")) for name in ("zh", "zh-yue")]}
    for source in ("", "::train", ":en:train"):
        with pytest.raises(UserError, match=r"several configs: zh, zh-yue; name one, as in hf:owner/name:zh"):
            chosen(WIKIANN, source, card)
