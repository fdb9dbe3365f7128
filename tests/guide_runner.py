"""Runs the blocks of a guide, in order, in one process and one folder, and compares what its comments promise.

    python tests/guide_runner.py docs/en/attention.md [--backend torch|jax|tensorflow] [--folder DIR]

What the info string of a block says:

    python                  is run; all Python blocks of a guide share their names. `# → text` at the end of a line with
                            print(…), or on lines of its own right below, is what that print must print (white space
                            aside; if it prints several times, all of it).
    console                 each line that begins with `unmask ` is run and must exit with 0. `\\` goes on, two spaces
                            and `#` begin a comment, `> file` at the end redirects. Other commands are not run.
    text file=reviews.csv   (or csv, json, toml … file=) is written to the folder.
    text, json, …           anything else is output or illustration.
    … no-run: the reason    is not run.
    … backend=jax           is run if this backend runs.
"""

import argparse
import ast
import builtins
import contextlib
import importlib
import io
import os
import re
import shlex
import sys
import tempfile
import textwrap
import time
import tokenize
import traceback
from dataclasses import dataclass
from pathlib import Path

BACKENDS = ("torch", "jax", "tensorflow")
NOT_RUN = ("pip ", "make ", "git ", "cd ", "python ", "tensorboard ", "export ", "set ", "source ")
WOULD_ESCAPE = ("py", "python3", "pycon", "ipython", "bash", "sh", "shell", "zsh", "shell-session")
_INFO = re.compile(
    r"(?P<language>[\w+-]*)(?: +file=(?P<file>\S+))?(?: +backend=(?P<backend>\w+))?"
    r"(?P<no_run> +no-run(?:: *(?P<reason>.*))?)?"
)
_PROMISE = re.compile(r"#\s*→\s*(.*)")


class GuideError(AssertionError):
    """What a guide says is not so; told with the line of the guide."""


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    guide: str
    line: int
    """Of its first line of code, counted from 1."""
    language: str
    code: str
    file: str | None = None
    backend: str | None = None
    reason: str | None = None
    """Why it is not run."""

    @property
    def is_run(self):
        return self.language in ("python", "console") and self.file is None and self.reason is None

    def wrong(self, line, message):
        return GuideError(f"{self.guide}:{line}: {message}")


def read_blocks(text, guide="guide.md"):
    """The fenced blocks of a page, in order."""
    lines, blocks, at = text.splitlines(), [], 0
    while at < len(lines):
        opened = re.fullmatch(r"(\s*)(`{3,}|~{3,})\s*(.*?)\s*", lines[at])
        at += 1
        if not opened:
            continue
        indent, fence, info = opened.groups()
        start = at
        while at < len(lines) and not re.fullmatch(rf"\s*{re.escape(fence[0])}{{{len(fence)},}}\s*", lines[at]):
            at += 1
        if at == len(lines):
            raise GuideError(f"{guide}:{start}: this block is never closed.")
        code = "".join(f"{line.removeprefix(indent)}\n" for line in lines[start:at])
        at += 1
        if not info.startswith("{"):  # a directive of the site, such as {toctree}
            blocks.append(_block(info, code, guide, start + 1))
    return blocks


def _block(info, code, guide, line):
    said = _INFO.fullmatch(info)
    if not said:
        raise GuideError(f"{guide}:{line - 1}: {info!r} is not understood; see tests/guide_runner.py.")
    language, reason = said["language"], said["reason"]
    if language in WOULD_ESCAPE:
        raise GuideError(f"{guide}:{line - 1}: write python or console instead of {language}, so that it is run.")
    if said["no_run"] and len(reason or "") < 4:
        raise GuideError(f"{guide}:{line - 1}: no-run needs its reason: `no-run: why`.")
    if said["backend"] and said["backend"] not in BACKENDS:
        raise GuideError(f"{guide}:{line - 1}: there is no backend {said['backend']!r}.")
    return Block(guide, line, language, code, said["file"], said["backend"], reason)


def headings(text):
    """The levels of a page's headings, in order; those inside blocks are none."""
    levels, fence = [], None
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = None
        elif fence is None and (title := re.match(r"(#{1,6}) ", line)):
            levels.append(len(title[1]))
    return levels


def essence(block):
    """A block without its comments, promises aside: what must be equal in two languages of a guide."""
    if block.language == "python":
        code = tuple(_tokens(block.code))
    elif block.language == "console":
        code = tuple(command for _, command in commands(block))
    else:
        code = block.code
    return block.language, block.file, block.backend, block.reason is None, code


def _tokens(code):
    skipped = (tokenize.NL, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            if promise := _PROMISE.fullmatch(token.string):
                yield " ".join(promise[1].split())
        elif token.type not in skipped:
            yield token.string


def same_blocks(one, other):
    """Whether two guides run the same, but for comments; output and illustrations may differ."""

    def shown(blocks):
        return [essence(block) for block in blocks if block.file or block.language in ("python", "console")]

    return shown(one) == shown(other)


def commands(block):
    """The commands of a console block, each with its line in the guide."""
    whole, first = "", None
    for number, line in enumerate(block.code.splitlines(), block.line):
        line = re.split(r"(?:^|\s\s)\s*#", line, maxsplit=1)[0].strip()
        first = number if first is None else first
        if line.endswith("\\"):
            whole += line[:-1].rstrip() + " "
            continue
        if whole + line:
            yield first, whole + line
        whole, first = "", None
    if whole:
        raise block.wrong(first, "a command ends with a backslash.")


class Runner:
    """Runs blocks in the folder where the process is; names live as long as it does."""

    def __init__(self, backend="torch"):
        self.backend = backend
        self.names = {"__name__": "__main__", "__builtins__": builtins}

    def run(self, block):
        """Runs or writes one block; gives back whether there was anything to do."""
        if block.backend not in (None, self.backend):
            return False
        if block.file is not None and block.reason is None:
            self._write(block)
        elif block.is_run:
            self._python(block) if block.language == "python" else self._console(block)
        else:
            return False
        return True

    def _write(self, block):
        path = Path(block.file)
        if path.is_absolute() or ".." in path.parts:
            raise block.wrong(block.line - 1, f"{block.file} is not inside the folder of the guide.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code, encoding="utf-8")

    def _python(self, block):
        """The code keeps its place in the guide, so that a traceback shows the guide's own lines."""
        printed = {}

        def recorded(*values, file=None, **options):
            print(*values, file=file, **options)
            if file is None:
                said = io.StringIO()
                print(*values, file=said, **{name: options[name] for name in options if name != "flush"})
                printed.setdefault(sys._getframe(1).f_lineno, []).append(said.getvalue())

        try:
            tree = ast.parse(block.code, block.guide)
        except SyntaxError as error:
            raise block.wrong(block.line + (error.lineno or 1) - 1, error.msg) from None
        promised = promises(block, tree)
        ast.increment_lineno(tree, block.line - 1)
        self.names["print"] = recorded
        try:
            exec(compile(tree, block.guide, "exec"), self.names)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the guide's code may fail in any way)
            at = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.filename == block.guide]
            told = traceback.format_exc()
            raise block.wrong(at[-1] if at else block.line, f"the code fails.\n{told}") from None
        for line, promise in promised.items():
            was = " ".join("".join(printed.get(line, [])).split())
            if was != promise:
                raise block.wrong(line, f"the guide promises\n    {promise}\nbut this is printed:\n    {was}")

    def _console(self, block):
        for line, command in commands(block):
            while wish := re.match(r"KERAS_BACKEND=(\w+) +", command):
                command = command[wish.end() :] if wish[1] == self.backend else "export"
            if command.startswith("unmask "):
                self._command(block, line, command)
            elif not f"{command} ".startswith(NOT_RUN):
                raise block.wrong(line, f"{command!r} begins with nothing that is run, or known not to be run.")

    def _command(self, block, line, command):
        main = importlib.import_module("unmask.cli").main
        arguments = shlex.split(command)
        into = contextlib.nullcontext()
        if len(arguments) > 2 and arguments[-2] == ">":
            into = contextlib.redirect_stdout(Path(arguments[-1]).open("w", encoding="utf-8"))  # noqa: SIM115
            arguments = arguments[:-2]
        if odd := {"|", ">", "<", "&&", ";"} & set(arguments):
            raise block.wrong(line, f"{odd} is not for a guide: one command a line.")
        before, sys.argv, code = sys.argv, arguments, 0
        try:
            with into:
                main()
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            sys.argv = before
        if code:
            raise block.wrong(line, f"{command!r} ended with exit code {code}; what it said stands above.")


def promises(block, tree):
    """For the line of each print that carries `# → text`, in the guide's count, the text."""
    ends = {
        node.end_lineno: node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    found, owner, last = {}, None, 0
    for token in tokenize.generate_tokens(io.StringIO(block.code).readline):
        said = _PROMISE.fullmatch(token.string) if token.type == tokenize.COMMENT else None
        if not said:
            continue
        row = token.start[0]
        alone = not token.line[: token.start[1]].strip()
        follows = alone and owner is not None and row == last + 1
        owner = owner if follows else ends.get(row - 1 if alone else row)
        if owner is None:
            raise block.wrong(block.line + row - 1, "a promise, but no print on its line or right above.")
        last = row
        found.setdefault(owner + block.line - 1, []).append(said[1])
    return {line: " ".join(" ".join(texts).split()) for line, texts in found.items()}


def run_guide(guide, backend="torch", say=lambda text: None):
    """Runs all blocks of a guide in the current folder."""
    blocks = read_blocks(guide.read_text(encoding="utf-8"), str(guide))
    runner, began, n_run = Runner(backend), time.perf_counter(), 0
    for block in blocks:
        before = time.perf_counter()
        if runner.run(block):
            n_run += 1
            first = textwrap.shorten(block.code, 70) if block.file is None else block.file
            say(f"— {guide.name}:{block.line}, {time.perf_counter() - before:.1f} s: {first}")
    say(f"{guide.name}: {n_run} of {len(blocks)} blocks run, {time.perf_counter() - began:.0f} s.")


def main():
    """The command line for authors, and what tests/test_guides.py starts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guide", type=Path)
    parser.add_argument("--backend", choices=BACKENDS, default=os.environ.get("KERAS_BACKEND", "torch"))
    parser.add_argument("--folder", type=Path, help="where to run; a new folder if not said")
    said = parser.parse_args()
    os.environ |= {"KERAS_BACKEND": said.backend, "HF_HUB_OFFLINE": "1", "COLUMNS": "120", "MPLBACKEND": "Agg"}
    guide = said.guide.resolve()
    with contextlib.ExitStack() as stack:
        folder = said.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(contextlib.chdir(folder))
        try:
            run_guide(guide, said.backend, say=lambda text: print(text, file=sys.stderr, flush=True))
        except GuideError as error:
            sys.exit(f"\n{error}")


if __name__ == "__main__":
    main()
