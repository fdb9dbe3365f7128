"""`unmask tokenizer train` as a user meets it."""

import gzip
import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import transformers

from unmask import UserError, load_tokenizer
from unmask.cli.tokenizer import parse_size

UNMASK = str(Path(sys.executable).parent / "unmask")


def run(*arguments):
    return subprocess.run([UNMASK, *map(str, arguments)], capture_output=True, text=True, check=False)


def refused(*arguments):
    ran = run(*arguments)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.startswith("Error: ")
    assert ran.stderr.count("\n") == 1
    return ran.stderr


@pytest.fixture
def files(tmp_path):
    """The same words in a plain file, in a packed one and as JSON lines."""
    draw = random.Random(0)
    syllables = ["ka", "ne", "pi", "do", "ru", "sta", "gel", "bor", "lin", "天", "气"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(400)]
    lines = [" ".join(draw.choices(words, k=8)) for _ in range(600)]
    paths = [tmp_path / "a.txt", tmp_path / "b.txt.gz", tmp_path / "c.jsonl"]
    paths[0].write_text("\n\n".join(lines[:200]), encoding="utf-8")
    paths[1].write_bytes(gzip.compress("\n\n".join(lines[200:400]).encode()))
    paths[2].write_text("".join(json.dumps({"text": line}) + "\n" for line in lines[400:]), encoding="utf-8")
    return paths


def train(out, *files, kind="bpe", size=400):
    return ["tokenizer", "train", "--kind", kind, "--vocab-size", size, "--out", out, *files]


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_trained_from_files_in_any_order(kind, files, tmp_path):
    ran = run(*train(tmp_path / "one", *files, kind=kind, size=270))
    assert ran.returncode == 0, ran.stderr
    assert f"{kind}, 270 ids" in ran.stdout
    assert "bytes a token" in ran.stdout
    assert f"Next: unmask corpus build --tokenizer {tmp_path / 'one'} --out CORPUS {files[0]}" in ran.stdout
    again = run(*train(tmp_path / "two", *reversed(files), kind=kind, size=270))
    assert again.returncode == 0, again.stderr
    first, second = ((tmp_path / name / "tokenizer.json").read_bytes() for name in ("one", "two"))
    assert first == second
    assert load_tokenizer(tmp_path / "one").n_ids == 270


def test_standard_input(files, tmp_path):
    command = [UNMASK, "tokenizer", "train", "--kind", "bpe", "--vocab-size", "300", "--out"]
    text = files[0].read_text(encoding="utf-8")
    piped = subprocess.run(
        [*command, str(tmp_path / "piped"), "-"], input=text, capture_output=True, text=True, check=False
    )
    assert piped.returncode == 0, piped.stderr
    named = subprocess.run([*command, str(tmp_path / "named"), str(files[0])], capture_output=True, check=False)
    assert named.returncode == 0
    assert (tmp_path / "piped/tokenizer.json").read_bytes() == (tmp_path / "named/tokenizer.json").read_bytes()


def test_json_lines_from_standard_input(files, tmp_path):
    command = [UNMASK, *map(str, train(tmp_path / "piped", "-"))]
    piped = subprocess.run(command, input=files[2].read_bytes(), capture_output=True, check=False)
    assert b"Standard input is read as JSON lines" in piped.stderr
    assert run(*train(tmp_path / "named", files[2])).returncode == 0
    assert (tmp_path / "piped/tokenizer.json").read_bytes() == (tmp_path / "named/tokenizer.json").read_bytes()


def test_mistakes(files, tmp_path):
    out = tmp_path / "out"
    empty, binary, broken = tmp_path / "empty.txt", tmp_path / "binary.txt", tmp_path / "broken.txt"
    empty.write_text("")
    binary.write_bytes(b"abc\0def")
    broken.write_bytes(files[0].read_bytes() + b" \xff\xfe ")
    assert "There is nothing to train on" in refused(*train(out, empty))
    assert "NUL bytes" in refused(*train(out, binary))
    assert "There is no file nosuch.txt" in refused(*train(out, "nosuch.txt"))
    assert "is not utf-8" in refused(*train(out, broken), "--encoding-errors", "refuse")
    assert "There is no kind 'word'" in refused(*train(out, files[0], kind="word"))
    assert "bpe needs 261 ids at least" in refused(*train(out, files[0], size=100))
    assert "is no size of memory" in refused(*train(out, files[0]), "--memory", "lots")
    assert "needs 400 MiB at least" in refused(*train(out, files[0]), "--memory", "10M")
    assert "--cased or --uncased is for --kind wordpiece only" in refused(*train(out, files[0]), "--uncased")
    assert "--keep-accents is for --kind wordpiece only" in refused(*train(out, files[0]), "--strip-accents")
    assert "for --kind bpe only" in refused(*train(out, files[0], kind="unigram"), "--add-prefix-space")
    assert "--coverage is for --kind wordpiece or unigram only, not for bpe" in refused(
        *train(out, files[0]), "--coverage", 0.5
    )
    assert not out.exists()
    ran = run(*train(out, broken))
    assert ran.returncode == 0
    assert "2 places were not utf-8 and were replaced" in ran.stderr
    (out / "trained_from.json").unlink()
    assert "is not empty" in refused(*train(out, files[0]))
    assert "is a file" in refused(*train(files[0], files[0]))


def test_again_it_is_finished(files, tmp_path):
    out = tmp_path / "out"  # inside the folder that it is trained on
    assert run(*train(out, tmp_path)).returncode == 0
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    for again in (run(*train(out, tmp_path)), run(*train(out, *files[::-1]))):
        assert again.returncode == 0, again.stderr
        assert f"{out} is finished already, from the same files with the same options." in again.stderr
        assert again.stdout.startswith("Next: unmask corpus build")
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == before
    opened = transformers.AutoTokenizer.from_pretrained(out)
    assert opened("ka ne")["input_ids"] == load_tokenizer(out).encode("ka ne").ids

    other = refused(*train(out, *files, size=300), "--add-prefix-space")
    assert f"{out} holds the tokenizer of another command: --vocab-size was 400, is 300 now; --add-prefix" in other
    other = refused(*train(out, *files, kind="wordpiece"))
    assert "--kind was bpe, is wordpiece now" in other
    assert "it had 3 input files, 1 come now" in refused(*train(out, files[0]))
    files[1].write_bytes(gzip.compress(b"other words"))
    assert "b.txt.gz has changed since" in refused(*train(out, *files))
    (out / "tokenizer.json").unlink()
    assert "is not empty" in refused(*train(out, *files))


def test_standard_input_cannot_be_compared(files, tmp_path):
    command = [UNMASK, *map(str, train(tmp_path / "out", "-"))]
    ran = [
        subprocess.run(command, input=files[0].read_bytes(), capture_output=True, check=False).returncode
        for _ in range(2)
    ]
    assert ran == [0, 2]
    assert "a.txt comes in place of -" in refused(*train(tmp_path / "out", files[0]))


def test_more_than_the_text_yields(files, tmp_path):
    ran = run(*train(tmp_path / "out", files[0], size=50_000))
    assert ran.returncode == 2
    assert "The text yields a vocabulary of" in ran.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_interrupted_it_leaves_nothing(tmp_path):
    """Ctrl-C is heard in the midst of the Rust trainer's work, which would go on for long."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghij", k=60)) for _ in range(40_000)]
    (tmp_path / "long.txt").write_text("\n".join(words + words), encoding="utf-8")
    folder = tmp_path / "made"
    folder.mkdir()
    command = [UNMASK, *map(str, train(folder / "out", tmp_path / "long.txt", size=200_000))]
    # A shell gives what it runs in the background deaf ears for Ctrl-C, and children inherit them.
    hears = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **hears) as process:
        assert any("Learning merges" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        assert process.returncode not in (0, 2)
    assert list(folder.iterdir()) == []


def test_sizes():
    assert [parse_size(text) for text in ("2G", "512 MiB", "1.5k", "100", "3tb")] == [
        2 << 30,
        512 << 20,
        1536,
        100,
        3 << 40,
    ]
    for text in ("", "G", "-1G", "1P"):
        with pytest.raises(UserError, match="is no size of memory"):
            parse_size(text)
