"""Memory in long work: freed memory that will be needed again at once, and objects that will not be freed."""

import ctypes
import gc
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4  # malloc.h
_KEEPING = {_TRIM_THRESHOLD: 2**31 - 1, _MMAP_MAX: 0}
_USUAL = {_MMAP_MAX: 65536, _MMAP_THRESHOLD: 32 << 20, _TRIM_THRESHOLD: 64 << 20}
"""What glibc comes to by itself once large blocks have been freed."""


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Within it, the C library does not give freed memory back to the system, to ask for it again a moment later.

    Every update of a training run frees and allocates the same hundreds of megabytes, and the system clears each page
    that it hands out. Only glibc is told so (Linux), and not if the user has settings of their own for it.
    """
    if not _is_ours_to_set():
        yield
        return
    libc = ctypes.CDLL(None)
    _set(libc, _KEEPING)
    try:
        yield
    finally:
        _set(libc, _USUAL)
        libc.malloc_trim(0)


@contextmanager
def old_objects_left_alone() -> Iterator[None]:
    """Within it, Python looks for garbage only among what is made from now on.

    Beside 50,000 examples, a look at all objects takes a quarter of a second, as long as ten updates of a tiny model.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _is_ours_to_set() -> bool:
    own = any(name.startswith("MALLOC_") for name in os.environ) or "malloc" in os.environ.get("GLIBC_TUNABLES", "")
    return platform.libc_ver()[0] == "glibc" and not own


def _set(libc: ctypes.CDLL, numbers: dict[int, int]) -> None:
    for which, value in numbers.items():
        libc.mallopt(which, value)
