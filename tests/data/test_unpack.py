"""Packed files are read as what was packed; what is cut off is refused."""

import gzip

import pytest
import zstandard

from unmask.data.unpack import BLOCK, blocks_of
from unmask.errors import UserError

CONTENT = bytes(range(1, 256)) * 20_000  # more than a block


def unpacked(path, packing):
    counted = []
    content = b"".join(blocks_of(path, packing, "NAME", counted.append))
    assert sum(counted) == path.stat().st_size
    return content


def packed(packing, content):
    return {"": bytes, "gz": gzip.compress, "zst": zstandard.compress}[packing](content)


@pytest.mark.parametrize("packing", ["", "gz", "zst"])
@pytest.mark.parametrize("content", [CONTENT, b"x", b""], ids=["long", "short", "empty"])
def test_round_trip(tmp_path, packing, content):
    assert len(CONTENT) > BLOCK
    (tmp_path / "f").write_bytes(packed(packing, content))
    assert unpacked(tmp_path / "f", packing) == content


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_several_parts_one_after_another(tmp_path, packing):
    (tmp_path / "f").write_bytes(packed(packing, CONTENT) + packed(packing, b"and more"))
    assert unpacked(tmp_path / "f", packing) == CONTENT + b"and more"


@pytest.mark.parametrize("packing", ["gz", "zst"])
@pytest.mark.parametrize("keep", [0.5, 0.999])
def test_cut_off(tmp_path, packing, keep):
    whole = packed(packing, CONTENT)
    (tmp_path / "f").write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(UserError, match="is cut off"):
        unpacked(tmp_path / "f", packing)


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_not_packed_at_all(tmp_path, packing):
    (tmp_path / "f").write_bytes(b"plain text")
    with pytest.raises(UserError, match="is named .gz, but is no gzip" if packing == "gz" else "damaged"):
        unpacked(tmp_path / "f", packing)
