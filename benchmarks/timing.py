"""Timing for noisy machines: the contestants take turns, and what counts is the ratio within a turn."""

import json
import multiprocessing
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

Clock = Callable[[], float]


def clock_for(n_threads: int) -> Clock:
    """The processor's time where one thread computes: pauses for other work do not count. Else the time on the wall."""
    return time.process_time if n_threads == 1 else time.perf_counter


def take_turns(
    contestants: dict[str, Callable[[], object]], *, rounds: int, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of each contestant in each round, after one round for warming up that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, function in contestants.items():
            start = clock()
            function()
            if turn:
                seconds[name].append(clock() - start)
    return seconds


def ratio(ours: list[float], peer: list[float]) -> float:
    """The median over the rounds of our time by the peer's: below 1 we are faster."""
    return statistics.median(a / b for a, b in zip(ours, peer, strict=True))


class Apart:
    """A contestant that lives in a process of its own, as it does at its users', and computes when it has its turn.

    Args:
        make: called there; gives the function that is a turn.
        arguments: of `make`.
    """

    def __init__(self, make: Callable[..., Callable[[], object]], *arguments: object) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_take_turns_there, args=(theirs, make, arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.connection.recv()

    def turn(self) -> None:
        """Returns when it is over."""
        self.connection.send("turn")
        self.connection.recv()

    def end(self) -> None:
        """Ends the process."""
        self.connection.close()
        self.process.join()


def _take_turns_there(connection: Connection, make: Callable[..., Callable[[], object]], arguments: tuple) -> None:
    turn = make(*arguments)
    connection.send("ready")
    while True:
        try:
            connection.recv()
        except EOFError:
            return
        turn()
        connection.send("over")


def in_its_own_process(script: str, *arguments: str, environment: dict[str, str]) -> dict:
    """Runs a script that prints one line of JSON at its end, and gives that."""
    command = [sys.executable, script, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{ran.stderr}")
    return json.loads(ran.stdout.strip().splitlines()[-1])


def machine() -> str:
    """What a figure was measured on."""
    cpu = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line.split(":")[1].strip() for line in information.read_text().splitlines() if "model name" in line]
        cpu = f"{len(names)} × {names[0]}" if names else cpu
    return f"{cpu}, Python {platform.python_version()}"
