"""The bytes of a file in blocks, unpacked if it is gzip or zstd; a file that ends too early is refused."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

from unmask.data.where import optional
from unmask.errors import UserError

Packing = Literal["", "gz", "zst"]
BLOCK = 1 << 20


def blocks_of(path: Path, packing: Packing, name: str, count: Callable[[int], None]) -> Iterator[bytes]:
    """A file's bytes, a block at a time, at least one block.

    Args:
        path: the file.
        packing: how it is packed.
        name: what the user calls it.
        count: is told how many bytes of the file were read, packed as they are.
    """
    with path.open("rb") as file:
        reader = {"": _plain, "gz": _gzip, "zst": _zstd}[packing]
        before = 0
        try:
            for block in reader(file):
                # A pipe does not tell where it is; what came out of it is near enough for a progress bar.
                now = file.tell() if file.seekable() else before + len(block)
                count(now - before)
                before = now
                yield block
        except gzip.BadGzipFile as error:
            if not before:
                raise UserError(f"{name} is named .gz, but is no gzip; name it by what it is.") from None
            raise UserError(f"{name} is damaged gzip ({error}); fetch it again.") from None
        except (EOFError, zlib.error) as error:
            raise UserError(f"{name} is cut off or damaged gzip ({error}); fetch it again.") from None


def _plain(file: IO[bytes]) -> Iterator[bytes]:
    yield file.read(BLOCK)
    while block := file.read(BLOCK):
        yield block


def _gzip(file: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as unpacked:
        yield from _plain(unpacked)  # type: ignore[arg-type]


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    """Frame after frame: the library's own stream reader takes a frame that is cut off for a short one."""
    zstandard: Any = optional("zstandard", "data")
    frame, unread = None, b""
    try:
        while packed := unread or file.read(BLOCK // 8):
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(packed)
            unread = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    except zstandard.ZstdError as error:
        raise UserError(f"{file.name} is damaged zstd ({error}); fetch it again.") from None
    if frame is not None:
        raise UserError(f"{file.name} is cut off in the middle of a zstd frame; fetch it again.")
