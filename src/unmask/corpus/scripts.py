"""Scripts: which letters a text is written in, by Unicode's ranges, vectorized."""

from functools import lru_cache

import numpy as np

_RANGES = {
    "Latin": "41-5A 61-7A AA BA C0-2AF 1D00-1DBF 1E00-1EFF 2071-209C 2184 2C60-2C7F A720-A7FF AB30-AB6F FB00-FB06 "
    "FF21-FF3A FF41-FF5A",
    "Han": "2E80-2FDF 3005-3007 3400-4DBF 4E00-9FFF F900-FAFF 20000-323AF",
    "Cyrillic": "400-52F 1C80-1C8F 2DE0-2DFF A640-A69F",
    "Arabic": "600-6FF 750-77F 870-8FF FB50-FDFF FE70-FEFE",
    "Devanagari": "900-97F A8E0-A8FF",
    "Kana": "3040-30FF 31F0-31FF FF66-FF9F 1B000-1B16F",
    "Hangul": "1100-11FF 3130-318F A960-A97F AC00-D7FF FFA0-FFDC",
    "Greek": "370-3FF 1F00-1FFF",
    "Hebrew": "591-5FF FB1D-FB4F",
    "Thai": "E00-E7F",
    "Bengali": "980-9FF",
    "Tamil": "B80-BFF",
    "Telugu": "C00-C7F",
    "Georgian": "10A0-10FF 1C90-1CBF 2D00-2D2F",
    "Armenian": "531-58F FB13-FB17",
}
NAMES = ("", *_RANGES, "other")
"""The first is for what is no letter."""

_AT_ONCE = 1 << 20
_AFTER_LETTERS = 0x40000  # from here on Unicode has no letters, and looking would take a third of a second


@lru_cache(maxsize=1)
def _table() -> np.ndarray:
    """For each code point, the number of its script."""
    is_letter = np.zeros(0x110000, bool)
    is_letter[:_AFTER_LETTERS] = [chr(code).isalpha() for code in range(_AFTER_LETTERS)]
    table = np.where(is_letter, np.uint8(len(NAMES) - 1), np.uint8(0))
    for number, ranges in enumerate(_RANGES.values(), 1):
        for both in ranges.split():
            first, _, last = both.partition("-")
            part = slice(int(first, 16), int(last or first, 16) + 1)
            table[part] = np.where(is_letter[part], number, 0)
    return table


def count_scripts(text: str) -> np.ndarray:
    """How many letters of each script of `NAMES` a text has."""
    total = np.zeros(len(NAMES), np.int64)
    for start in range(0, len(text), _AT_ONCE):
        codes = np.frombuffer(text[start : start + _AT_ONCE].encode("utf-32-le", "surrogatepass"), np.uint32)
        total += np.bincount(_table()[codes], minlength=len(NAMES))
    return total
