"""Where sentences begin, by rule, in English and Chinese."""

import re
from functools import lru_cache

import numpy as np

HAN = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # extension A, the unified ideographs, compatibility
    "\U00020000-\U0002a6df\U0002a700-\U0002ebef\U0002f800-\U0002fa1f\U00030000-\U000323af"
)
"""Chinese characters, as the inside of a regular expression's brackets."""

_CLOSING = "\"'”’」』）】》〉)\\]}»"
_CANDIDATE = re.compile(
    rf"(?P<latin>[.!?…]+[{_CLOSING}]*\s+|[.!?]+[{_CLOSING}]*(?=[{HAN}]))"
    rf"|(?P<chinese>[。！？；｡]+[。！？；｡…{_CLOSING}]*\s*)"
    rf"|\n\s*"
)
_ABBREVIATION = re.compile(
    r"mrs?|ms|messrs|mme|dr|prof|rev|hon|st|mt|gen|col|capt|lt|sgt|maj|gov|sen|rep|pres"
    r"|vs|e\.g|i\.e|cf|viz|ca|approx|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec",
    re.IGNORECASE,
)
_BEFORE_A_NUMBER = re.compile(r"nos?|vol|ch|chap|fig|eq|sec|art|pp?", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]|[A-HJ-Z]")  # U.S, J.K, J; but "I." mostly ends a sentence
_GOES_ON = (",", "，", "、", "-")  # at the end of a line


def sentence_starts(text: str) -> np.ndarray:
    """The offset of each sentence's first character, in characters; 0 is the first.

    A sentence ends after . ! ? … with closing quotes and brackets, before a space (. ! ? also before a Chinese
    character); after 。！？； with theirs; and at the end of a line. It does not end after an abbreviation or initials
    (Mr. e.g. U.S. J. K.), in a number, nor, if the text has capitals at all, before a small letter: “What?” he said.
    A line that ends in a comma or hyphen, or before a small letter, goes on: it was wrapped. A blank line always ends
    a sentence.

    >>> sentence_starts("Mr. Smith paid 3.50. 真的？好！").tolist()
    [0, 21, 24]
    """
    return np.array(find_starts(text), np.int64)


def find_starts(text: str) -> list[int]:
    """What `sentence_starts` gives, as a list."""
    if not text:
        return []
    starts = [0]
    uncased = None
    for match in _CANDIDATE.finditer(text):
        start = match.end()
        if start == len(text):
            break
        if match["chinese"] is None and match[0].count("\n") < 2:
            if text[start].islower():
                uncased = text.islower() if uncased is None else uncased
                if not uncased:
                    continue
            if not (_line_ends(text, match) if match["latin"] is None else _mark_ends(text, match, starts[-1])):
                continue
        starts.append(start)
    return starts


def _line_ends(text: str, match: re.Match[str]) -> bool:
    return not text[max(0, match.start() - 20) : match.start()].rstrip().endswith(_GOES_ON)


def _mark_ends(text: str, match: re.Match[str], begun: int) -> bool:
    """Whether . ! ? or … ends a sentence here; only a single full stop can belong to a word."""
    if match[0][0] != "." or match[0][1:2] == ".":
        return True
    at = match.start()
    if at and text[at - 1].isdigit():
        # "1." alone is the number of a list's item; "1.北京" has no space to tell a decimal from an end.
        return match[0][-1].isspace() and not text[begun:at].strip().isdigit()
    return not _is_short_form(text[max(begun, at - 12) : at], followed_by_digit=text[match.end()].isdigit())


@lru_cache(maxsize=4096)
def _is_short_form(before: str, *, followed_by_digit: bool) -> bool:
    word = before.rsplit(maxsplit=1)[-1].lstrip("\"'“‘「『（(《〈[{«—-") if before.strip() else ""
    if _ABBREVIATION.fullmatch(word) or _INITIALS.fullmatch(word):
        return True
    return followed_by_digit and _BEFORE_A_NUMBER.fullmatch(word) is not None
