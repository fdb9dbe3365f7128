"""`unmask doctor`: is everything here that unmask needs, and what to do if not."""

import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from unmask import __version__, backend

_ASK = "import json; from unmask import backend; backend.choose(); import keras; " + (
    "print(json.dumps({'devices': backend.devices(), 'threads': backend.threads()}))"
)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")] = False,
) -> None:
    """Python, backends found and chosen, devices, threads, versions; what is missing and how to install it.

    Exits with 2 if no backend works.

    Example:

        unmask doctor --json > bug-report.json
    """
    facts = examine()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        _show(facts)
    if facts["chosen"] is None:
        raise typer.Exit(2)


def examine() -> dict[str, Any]:
    """Everything that `doctor` tells."""
    with ThreadPoolExecutor() as side_by_side:  # each takes seconds, most of them waiting for the disk
        backends = dict(zip(backend.BACKENDS, side_by_side.map(_try, backend.BACKENDS), strict=True))
    working = [name for name, found in backends.items() if "error" not in found]
    wanted = os.environ.get("KERAS_BACKEND")
    preferred = [name for name in backend.installed() if name in working]
    return {
        "unmask": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "backends": backends,
        "KERAS_BACKEND": wanted,
        "chosen": wanted if wanted in working else None if wanted else next(iter(preferred), None),
        "versions": backend.versions(),
    }


def _try(name: str) -> dict[str, Any]:
    """Imports the backend in a process of its own: one that crashes takes only itself down."""
    if name not in backend.installed():
        return {"error": "not installed", "remedy": f"pip install 'unmask[{name}]'"}
    environment = {**os.environ, "KERAS_BACKEND": name, "TF_CPP_MIN_LOG_LEVEL": "3"}
    asked = subprocess.run(
        [sys.executable, "-c", _ASK], capture_output=True, text=True, env=environment, check=False, timeout=300
    )
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or [f"exit code {asked.returncode}"])[-1]
        return {"error": last, "remedy": f"pip install --force-reinstall 'unmask[{name}]'"}
    return dict(json.loads(asked.stdout.strip().splitlines()[-1]))


def _show(facts: dict[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(f"unmask {facts['unmask']}, Python {facts['python']}, {facts['cpus']} CPUs, {facts['platform']}")
    table = Table("backend", "works", "devices", "threads", title="Backends", title_justify="left")
    for name, found in facts["backends"].items():
        if "error" in found:
            table.add_row(name, f"no: {found['error']}", found["remedy"], "")
        else:
            table.add_row(name, "yes", ", ".join(found["devices"]), str(found["threads"]))
    console.print(table)
    versions = Table(title="Versions", title_justify="left", show_header=False)
    for package, version in facts["versions"].items():
        versions.add_row(package, version or "-")
    console.print(versions)
    if facts["chosen"]:
        console.print(f"Chosen: {facts['chosen']} (another one: --backend, or KERAS_BACKEND).")
    elif facts["KERAS_BACKEND"]:
        console.print(f"KERAS_BACKEND asks for {facts['KERAS_BACKEND']}, which does not work here.")
    else:
        console.print("No backend works; run: pip install 'unmask[torch]'.")
