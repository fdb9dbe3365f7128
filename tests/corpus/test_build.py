"""A corpus is the same however it was built: with any number of workers, and killed at any moment."""

import errno
import gzip
import hashlib
import io
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import tiny_tokenizers
from unmask.corpus import shard_writer
from unmask.corpus.build import CorpusOptions, Stopped, build_corpus
from unmask.corpus.pieces import LARGEST_PIECE
from unmask.corpus.tokenizing import WorkerError, tokenized
from unmask.data.shards import HELDOUT, SENTENCE, TRAIN, WORD, Corpus
from unmask.errors import UserError
from unmask.text import Tokenizer, load_tokenizer

WORDS = ["the", "and", "of", "to", "in", "he", "was", "that", "it", "his", "cat", "sat", "mat", "汉字", "Über", "naïve"]


@pytest.fixture
def sources(tmp_path):
    """Two files with some hundred kilobytes, some duplicates, some near-duplicates, and one long document."""
    rng = random.Random(0)
    texts = [f"{' '.join(rng.choices(WORDS, k=rng.randint(5, 90)))}. The end of {i}!" for i in range(300)]
    texts += [f"{text} again" for text in texts[:200:4] if len(text) > 150] + texts[100:300:5]
    rng.shuffle(texts)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("\n\n".join(texts[:150]) + "\n\n" + "a very long book " * 5_000, "utf-8")
    with gzip.open(tmp_path / "in" / "b.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate([*texts[150:], "", None]))
    return [tmp_path / "in"]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr("unmask.corpus.feed.BATCH_CHARACTERS", 10_000)


def options(**more):
    return CorpusOptions(**{"shard_tokens": 20_000, "held_out": 0.05, "segmenter": "none", **more})


def contents(folder):
    """Every file but the lock, by its hash."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def texts_in(corpus, split):
    tokenizer = load_tokenizer(corpus.folder)
    for shard in corpus.shards(split):
        for start, end in zip(shard.documents[:-1], shard.documents[1:], strict=True):
            yield tokenizer.decode(shard.ids[start:end])


def test_every_document_comes_through(tmp_path):
    (tmp_path / "a.txt").write_text("One two.\nThree!\n\nFour  five\n\nOne two.\nThree!\n\nÜber 汉字。好\n\nsix")
    corpus = build_corpus([tmp_path / "a.txt"], tiny_tokenizers.roberta(), tmp_path / "out", options(), workers=1)
    found = [*texts_in(corpus, TRAIN), *texts_in(corpus, HELDOUT)]
    assert sorted(found) == sorted(["One two.\nThree!", "Four five", "Über 汉字。好", "six"])
    assert len(list(texts_in(corpus, HELDOUT))) == 1  # 5 % of four documents are none, but one there must be
    shard = corpus.shards(TRAIN)[0]
    assert (shard.begins[shard.documents[:-1]] == WORD | SENTENCE).all()
    report = corpus.manifest["report"]
    assert (report["documents"], report["documents_read"], report["exact_duplicates"]) == (4, 5, 1)
    assert report["tokens"] == corpus.tokens(TRAIN) + corpus.tokens(HELDOUT)
    assert not (corpus.folder / ".build").exists()


def test_the_manifest_tells_where_it_came_from(tmp_path, sources):
    tokenizer = tiny_tokenizers.bert()
    corpus = build_corpus(sources, tokenizer, tmp_path / "out", options(), workers=1)
    path = tmp_path / "in" / "a.txt"
    assert corpus.manifest["sources"][0] == {
        "name": str(path),
        "bytes": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    written = (corpus.folder / "tokenizer.json").read_bytes()
    assert corpus.manifest["tokenizer_hash"] == hashlib.sha256(written).hexdigest()
    assert corpus.manifest["options"]["held_out"] == 0.05
    assert load_tokenizer(corpus.folder).mask_id == tokenizer.mask_id
    shards = corpus.manifest["shards"]
    assert [shard["name"] for shard in shards if shard["split"] == TRAIN][:3] == ["00000", "00001", "00002"]
    assert all(shard["tokens"] <= 20_000 or shard["documents"] == 1 for shard in shards)
    assert sum(shard["documents"] for shard in shards) == corpus.manifest["report"]["documents"]
    assert corpus.manifest["report"]["longest"][0]["source"] == str(path)
    assert corpus.manifest["report"]["empty"] == 2


@pytest.mark.parametrize("more", [{}, {"near_duplicates": 0.8, "held_out": 12}, {"keep_duplicates": True}])
def test_any_number_of_workers_gives_the_same_bytes(tmp_path, sources, more):
    made = [
        contents(build_corpus(sources, tiny_tokenizers.roberta(), tmp_path / f"{n}", options(**more), workers=n).folder)
        for n in (1, 2, 3)
    ]
    assert made[0] == made[1] == made[2]
    assert len(made[0]) > 15


def test_duplicates(tmp_path, sources):
    reports = {}
    for name, more in {"exact": {}, "near": {"near_duplicates": 0.7}, "kept": {"keep_duplicates": True}}.items():
        corpus = build_corpus(sources, tiny_tokenizers.bert(), tmp_path / name, options(**more), workers=1)
        reports[name] = corpus.manifest["report"]
    assert reports["exact"]["exact_duplicates"] == 40
    assert reports["kept"]["exact_duplicates"] == 0
    assert reports["kept"]["documents"] == reports["exact"]["documents"] + 40
    assert 30 <= reports["near"]["near_duplicates"] <= 50
    assert reports["near"]["documents"] == reports["exact"]["documents"] - reports["near"]["near_duplicates"]


def test_the_order_of_files_does_not_change_what_is_held_out(tmp_path, sources):
    files = [tmp_path / "in" / "a.txt", tmp_path / "in" / "b.jsonl.gz"]
    one = build_corpus(files, tiny_tokenizers.roberta(), tmp_path / "1", options(), workers=1)
    two = build_corpus(files[::-1], tiny_tokenizers.roberta(), tmp_path / "2", options(), workers=1)
    assert sorted(texts_in(one, HELDOUT)) == sorted(texts_in(two, HELDOUT))
    assert sorted(texts_in(one, TRAIN)) == sorted(texts_in(two, TRAIN))


def test_a_long_document_stays_one(tmp_path, sources):
    assert LARGEST_PIECE < 17 * 5_000
    corpus = build_corpus(sources, tiny_tokenizers.roberta(), tmp_path / "out", options(held_out=0), workers=1)
    sizes = np.concatenate([np.diff(shard.documents) for shard in corpus.shards(TRAIN)])
    assert (sizes > 50_000).sum() == 1
    assert corpus.tokens(HELDOUT) == 0
    assert corpus.shards(HELDOUT) == []


BUILD = """
    import os, random, signal, sys
    from pathlib import Path
    sys.path.insert(0, {here!r})
    import tiny_tokenizers
    from unmask.corpus import build as corpus, feed, ledger, shard_writer
    from unmask.corpus.build import CorpusOptions, build_corpus

    def dying(owner, name, at, *, before):
        '''Makes the n-th call of a function the last thing that this process does.'''
        function, calls = getattr(owner, name), []
        def call(*args, **kwargs):
            calls.append(name)
            if before and len(calls) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*args, **kwargs)
            if len(calls) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return result
        setattr(owner, name, call)

    if __name__ == "__main__":
        feed.BATCH_CHARACTERS = 10_000
        death = sys.argv[3:]
        if death:
            owners = {{"corpus": corpus, "shard_writer": shard_writer, "Ledger": ledger.Ledger}}
            owner = {{**owners, "rmtree": corpus.shutil}}[death[0]]
            dying(owner, death[1], int(death[2]), before=death[3] == "before")
        print("begun", flush=True)
        options = CorpusOptions(shard_tokens=20_000, held_out=0.05, segmenter="none", near_duplicates=0.8)
        build_corpus([sys.argv[1]], tiny_tokenizers.roberta(), sys.argv[2], options, workers={workers}, save_every=0)
        print("finished")
"""


@pytest.fixture
def build(tmp_path, sources):
    """Runs the build in a process of its own; gives the process."""

    def start(out, *death, workers=1):
        script = tmp_path / "build.py"
        here = str(Path(tiny_tokenizers.__file__).parent)
        script.write_text(textwrap.dedent(BUILD).format(here=here, workers=workers))
        command = [sys.executable, str(script), str(sources[0]), str(tmp_path / out), *map(str, death)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


def finish(process):
    output, errors = process.communicate()
    return process.returncode, output, errors


@pytest.mark.parametrize(
    "death",
    [
        *(("shard_writer", "write_documents", n, when) for n, when in ((1, "before"), (1, "after"), (4, "after"))),
        *(("Ledger", "commit", n, when) for n, when in ((1, "after"), (2, "before"), (3, "after"))),
        *(("corpus", "write_json", 1, when) for when in ("before", "after")),
    ],
    ids=lambda death: "-".join(map(str, death)),
)
def test_killed_at_every_kind_of_moment(tmp_path, build, death):
    assert finish(build("whole"))[0] == 0
    code, output, errors = finish(build("killed", *death))
    assert (code, output) == (-signal.SIGKILL, "begun\n"), errors
    assert finish(build("killed"))[0] == 0
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_again_and_again_at_random(tmp_path, build, workers):
    code, _, errors = finish(build("whole", workers=workers))
    assert code == 0, errors
    rng, kills = random.Random(workers), 0
    while True:
        process = build("killed", workers=workers)
        assert process.stdout.readline() == "begun\n"
        time.sleep(rng.uniform(0.05, 1.2) if kills < 8 else 0)
        if kills < 8:
            process.kill()
        code, output, errors = finish(process)
        if code == 0:
            break
        assert code == -signal.SIGKILL, errors
        kills += 1
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_stopped_after_each_batch_it_goes_on(tmp_path, sources):
    tokenizer = tiny_tokenizers.roberta()
    whole = build_corpus(sources, tokenizer, tmp_path / "whole", options(), workers=1)
    stops, said = 0, []
    while True:
        asked = []
        try:
            build_corpus(
                sources,
                tokenizer,
                tmp_path / "parts",
                options(),
                workers=1,
                stop=lambda asked=asked: bool(asked.append(1)) or len(asked) > 3,
                say=said.append,
            )
            break
        except Stopped:
            stops += 1
    assert stops >= 2
    assert any("Going on in" in line for line in said)
    assert contents(tmp_path / "parts") == contents(whole.folder)


def test_a_finished_corpus_is_left_alone(tmp_path, sources):
    said = []
    build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.name != ".lock"}
    build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "out", options(), workers=2, say=said.append)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert said == [f"{tmp_path / 'out'} is finished already, from the same files with the same options."]


@pytest.mark.parametrize("is_finished", [False, True])
def test_another_command_in_the_same_folder_is_refused(tmp_path, sources, is_finished):
    def again(files=sources, tokenizer=None, **more):
        return build_corpus(files, tokenizer or tiny_tokenizers.bert(), tmp_path / "out", options(**more), workers=1)

    if is_finished:
        again()
    else:
        with pytest.raises(Stopped):
            build_corpus(
                sources, tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1, stop=lambda: _begun(tmp_path)
            )
    with pytest.raises(UserError, match=r"--held-out was 0.05, is 0.1 now; --seed was 0, is 1 now"):
        again(held_out=0.1, seed=1)
    with pytest.raises(UserError, match="the tokenizer is another one"):
        again(tokenizer=tiny_tokenizers.roberta())
    with pytest.raises(UserError, match="it had 2 input files, 1 come now"):
        again([sources[0] / "a.txt"])
    path = sources[0] / "a.txt"
    text = path.read_bytes()
    path.write_bytes(text[:-1] + b"!")
    with pytest.raises(UserError, match=r"a.txt has changed since"):
        again()
    path.write_bytes(text)  # another time, the same content
    again()


def _begun(tmp_path):
    """True from the moment on when the build has written something down."""
    return (tmp_path / "out" / TRAIN).exists()


def test_a_file_that_changes_meanwhile(tmp_path, sources, monkeypatch):
    def changing(*args, **kwargs):
        (sources[0] / "a.txt").write_text("something else")
        return written(*args, **kwargs)

    written = shard_writer.write_documents
    monkeypatch.setattr(shard_writer, "write_documents", changing)
    with pytest.raises(UserError, match=r"a.txt changed while it was read"):
        build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_full_disk(tmp_path, sources, monkeypatch):
    whole = build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "whole", options(), workers=1)
    calls, write = [], shard_writer.write_documents

    def full(*args):
        calls.append(args)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*args)

    monkeypatch.setattr(shard_writer, "write_documents", full)
    with pytest.raises(UserError, match=r"The disk of .*out is full; make room and run the same command again"):
        build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1)
    build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1)
    assert contents(tmp_path / "out") == contents(whole.folder)


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are POSIX")
@pytest.mark.parametrize("limit", [20_000, 90_000, 200_000])
def test_files_that_cannot_grow_are_told_as_a_full_disk(tmp_path, sources, limit):
    """A real limit on the size of files, so that SQLite and NumPy raise what they raise."""
    script = tmp_path / "full.py"
    script.write_text(
        textwrap.dedent(f"""
        import resource, sys
        sys.path.insert(0, {str(Path(tiny_tokenizers.__file__).parent)!r})
        import tiny_tokenizers
        from unmask.corpus.build import CorpusOptions, build_corpus
        from unmask.errors import UserError
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        try:
            build_corpus([{str(sources[0])!r}], tiny_tokenizers.roberta(), {str(tmp_path / "out")!r}, workers=1)
        except UserError as error:
            print(error)
        """)
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert "is full; make room" in ran.stdout, ran.stderr


def test_one_run_a_folder(tmp_path, sources):
    from unmask.files import only_run_in

    with only_run_in(tmp_path / "out"), pytest.raises(UserError, match="Another run is at work"):
        build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "out", workers=1)


@pytest.mark.parametrize(
    ("texts", "more", "said"),
    [
        ("", {}, "There is no text in these files"),
        ("\n \n\n\t\n", {}, "There is no text in these files"),
        ("a\n\nb", {"held_out": 2}, "would hold out all 2 documents"),
        ("a\n\nb\n\nc", {"held_out": 0.999999}, "holds out every document"),
    ],
)
def test_a_corpus_with_nothing_to_train_on(tmp_path, texts, more, said):
    (tmp_path / "a.txt").write_text(texts)
    with pytest.raises(UserError, match=said):
        build_corpus([tmp_path / "a.txt"], tiny_tokenizers.bert(), tmp_path / "out", options(**more), workers=1)
    (tmp_path / "b.txt").write_text("one\n\ntwo")
    assert build_corpus([tmp_path / "b.txt"], tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1)


def test_a_tokenizer_that_cannot_mask(tmp_path):
    import tokenizers

    (tmp_path / "a.txt").write_text("text")
    bare = Tokenizer(tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "text": 1})))
    with pytest.raises(UserError, match="The tokenizer has no mask_token, cls_token, sep_token"):
        build_corpus([tmp_path / "a.txt"], bare, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_refused_leaves_no_folder_or_can_be_tried_again(tmp_path):
    with pytest.raises(UserError, match="There is no file"):
        build_corpus([tmp_path / "missing.txt"], tiny_tokenizers.bert(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "a.jsonl").write_text("{")
    with pytest.raises(UserError, match="is not valid JSON"):
        build_corpus([tmp_path / "a.jsonl"], tiny_tokenizers.bert(), tmp_path / "out")
    (tmp_path / "a.jsonl").write_text('{"text": "mended"}')
    assert build_corpus([tmp_path / "a.jsonl"], tiny_tokenizers.bert(), tmp_path / "out", workers=1)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_refused_late_can_be_tried_again(tmp_path, sources, workers, monkeypatch):
    """After shards were written, with other options or with mended files."""
    monkeypatch.setattr("unmask.data.unpack.BLOCK", 10_000)

    def again(**more):
        tokenizer, how = tiny_tokenizers.bert(), options(shard_tokens=1_000, **more)
        return build_corpus(sources, tokenizer, tmp_path / "out", how, workers=workers, save_every=0)

    with (tmp_path / "in" / "a.txt").open("ab") as file:
        file.write(b"caf\xe9 " + b"late " * 5_000)
    with pytest.raises(UserError, match="byte 0xe9 is not utf-8; give another --encoding, or --encoding-errors"):
        again(encoding_errors="refuse")
    lines = gzip.decompress((tmp_path / "in" / "b.jsonl.gz").read_bytes())
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(lines + b"{"))
    with pytest.raises(UserError, match="is not valid JSON"):
        again()
    assert not (tmp_path / "out").exists()
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    assert again().manifest["report"]["invalid"] == 1


def test_what_the_files_are_not_to_blame_for_costs_nothing_done_so_far(tmp_path, sources, monkeypatch):
    """A worker that died, or a package that is missing when the build goes on."""
    whole = build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "whole", options(), workers=1)

    def again(said):
        with pytest.raises(UserError, match=said):
            build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1, save_every=0)

    def dying(*args):
        yield from itertools.islice(tokenized(*args), 8)
        raise WorkerError("A worker died")

    def missing(*_):
        raise UserError("This needs the package zstandard")

    with monkeypatch.context() as patch:
        patch.setattr("unmask.corpus.build.tokenized", dying)
        again("A worker died")
    with monkeypatch.context() as patch:
        patch.setattr("unmask.corpus.build.read_source", missing)
        again("needs the package")
    said = []
    build_corpus(sources, tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1, say=said.append)
    assert said[0] == f"Going on in {tmp_path / 'out'}."
    assert contents(tmp_path / "out") == contents(whole.folder)


def test_a_folder_with_other_things_in_it(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.safetensors").touch()
    with pytest.raises(UserError, match=r"holds other files \(model.safetensors\); choose a new or an empty folder"):
        build_corpus([tmp_path / "a.txt"], tiny_tokenizers.bert(), tmp_path / "out")


def test_the_corpus_inside_the_folder_that_it_is_built_from(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo")
    for _ in range(2):
        corpus = build_corpus([tmp_path], tiny_tokenizers.bert(), tmp_path / "out", options(), workers=1)
        assert [source["name"] for source in corpus.manifest["sources"]] == [str(tmp_path / "a.txt")]


def test_the_folder_that_one_stands_in(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one\n\ntwo")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    corpus = build_corpus(["../a.txt"], tiny_tokenizers.bert(), ".", options(), workers=1)
    assert [source["name"] for source in corpus.manifest["sources"]] == ["../a.txt"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"near_duplicates": 80}, "--near-duplicates is 80; it must lie between 0 and 1"),
        ({"near_duplicates": 0.8, "keep_duplicates": True}, "contradict each other"),
        ({"shard_tokens": 0}, "room for 1 token or more"),
        ({"seed": 2**64}, "does not fit into 64 bits"),
        ({"normalize": "nfd"}, "There is no normalization 'nfd'"),
        ({"held_out": -1}, "must be a share below 1"),
        ({"encoding": "klingon"}, "knows no encoding 'klingon'"),
    ],
)
def test_options_are_checked(more, said):
    with pytest.raises(UserError, match=said):
        CorpusOptions(**more)


def test_workers_and_segmenter_are_checked(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(UserError, match="0 workers can do no work"):
        build_corpus([tmp_path / "a.txt"], tiny_tokenizers.bert(), tmp_path / "out", workers=0)
    with pytest.raises(UserError, match="segmenter"):
        build_corpus([tmp_path / "a.txt"], tiny_tokenizers.bert(), tmp_path / "o", options(segmenter="nothing"))


class _Input:
    """Standard input from a pipe, as sys.stdin is one."""

    def __init__(self, content):
        reader, writer = os.pipe()
        os.write(writer, content)
        os.close(writer)
        self.buffer = io.BufferedReader(io.FileIO(reader))


def test_standard_input_is_copied_and_goes_on(tmp_path, monkeypatch):
    content = b"one\n\ntwo\n\nthree " * 500
    tokenizer = tiny_tokenizers.bert()
    monkeypatch.setattr(sys, "stdin", _Input(content))
    copy = tmp_path / "out" / ".build" / "stdin"
    with pytest.raises(Stopped):
        build_corpus(["-"], tokenizer, tmp_path / "out", workers=1, stop=copy.exists)
    monkeypatch.setattr(sys, "stdin", _Input(b"other text that must not be read"))
    said = []
    corpus = build_corpus(["-"], tokenizer, tmp_path / "out", workers=1, say=said.append)
    assert "Standard input was copied when the build began; that copy is used." in said
    wanted = {"name": "-", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert corpus.manifest["sources"] == [wanted]
    monkeypatch.setattr(sys, "stdin", _Input(content))
    build_corpus(["-"], tokenizer, tmp_path / "out", workers=1, say=said.append)
    assert "is finished already" in said[-1]
    monkeypatch.setattr(sys, "stdin", _Input(b"other"))
    with pytest.raises(UserError, match="- has changed since"):
        build_corpus(["-"], tokenizer, tmp_path / "out", workers=1)


def test_json_lines_from_standard_input_go_on_as_such(tmp_path, monkeypatch):
    content = b"".join(b'{"text": "document %d"}\n' % i for i in range(2_000))
    monkeypatch.setattr(sys, "stdin", _Input(content))

    def build(**more):
        how = options(shard_tokens=999)
        return build_corpus(["-"], tiny_tokenizers.bert(), tmp_path / "out", how, workers=1, **more)

    with pytest.raises(Stopped):
        build(stop=lambda: _begun(tmp_path))
    said = []
    corpus = build(say=said.append)
    assert any("is read as JSON lines" in line for line in said)
    assert "Going on in" in "".join(said)
    assert corpus.manifest["report"]["documents"] == 2_000
    assert all(re.fullmatch(r"document \d+", text) for text in texts_in(corpus, TRAIN))


def test_standard_input_that_was_refused_is_read_anew(tmp_path, monkeypatch):
    how = options(encoding_errors="refuse")
    monkeypatch.setattr(sys, "stdin", _Input(b"caf\xe9"))
    with pytest.raises(UserError, match="-, line 1: byte 0xe9 is not utf-8"):
        build_corpus(["-"], tiny_tokenizers.bert(), tmp_path / "out", how, workers=1)
    monkeypatch.setattr(sys, "stdin", _Input("café\n\nthé".encode()))
    corpus = build_corpus(["-"], tiny_tokenizers.bert(), tmp_path / "out", how, workers=1)
    assert corpus.manifest["report"]["documents"] == 2


def test_real_chinese_reviews(shared, tmp_path):
    """Most characters of these reviews are in the vocabulary; the report tells the script and the duplicates."""
    source = shared / "data/corpus/shopping_reviews_zh"
    corpus = build_corpus([source], load_tokenizer(shared / "models/bert-tiny"), tmp_path / "out", workers=2)
    report = corpus.manifest["report"]
    assert report["documents_read"] == 62_774
    assert report["documents"] + report["exact_duplicates"] + report["empty"] == 62_774
    assert report["scripts"]["Han"] > 0.95
    assert report["words"] < report["tokens"]
    assert 0.008 < report["held_out"]["documents"] / report["documents"] < 0.012
    assert Corpus(tmp_path / "out").fingerprint == corpus.fingerprint
