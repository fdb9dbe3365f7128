"""Freed memory stays with the process while it trains, and is given back afterwards; old objects are left alone."""

import gc
import platform
import weakref

import pytest

from unmask.memory import freed_memory_kept, old_objects_left_alone

resource = pytest.importorskip("resource")
SIZE = 48 << 20


def faults():
    """Pages that the system had to hand out while the same memory was asked for and freed five times."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        block = bytearray(SIZE)
        block[::4096] = bytes(SIZE // 4096)  # a page is handed out when it is first used
        del block
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.fixture
def usual(monkeypatch):
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("only glibc can be told to keep freed memory")
    for name in ("MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)


def test_pages_are_handed_out_once(usual):
    before = faults()
    with freed_memory_kept():
        faults()
        within = faults()
    assert within < before / 10
    assert faults() > 10 * within


def test_settings_of_the_user_stay(usual, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    with freed_memory_kept():
        faults()
        assert faults() > 10


def test_it_ends_with_an_error_too(usual):
    with pytest.raises(ValueError, match="astray"), freed_memory_kept():
        raise ValueError("astray")
    assert faults() > 10


class Loop:
    """Garbage that only a search finds."""

    def __init__(self):
        self.itself = self


def test_garbage_is_looked_for_among_new_objects_alone():
    n_before, old = gc.get_freeze_count(), Loop()
    last = weakref.ref(old)
    with old_objects_left_alone():
        assert gc.get_freeze_count() > n_before
        new = weakref.ref(Loop())
        del old
        gc.collect()
        assert (new(), last() is None) == (None, False)
    gc.collect()
    assert last() is None
    assert gc.get_freeze_count() == 0
