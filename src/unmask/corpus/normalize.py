"""Normalizing a document: one form of each character, one kind of line end, no invisible characters."""

import re
import unicodedata
from typing import Literal

from unmask.errors import UserError

Form = Literal["nfc", "nfkc", "none"]
FORMS = ("nfc", "nfkc", "none")

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b\u2060\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_OTHER_SPACE = re.compile("[\t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_SPACES = re.compile("  +")
_BLANK_LINES = re.compile("\n{3,}")


def check_form(form: str) -> None:
    """Refuses a form that there is not."""
    if form not in FORMS:
        raise UserError(f"There is no normalization {form!r}; choose {', '.join(FORMS)}.")


def normalize(text: str, form: Form = "nfc") -> str:
    r"""The text as the corpus keeps it.

    Always: every line end (\r\n, \r, vertical tab, form feed, U+0085, U+2028, U+2029) becomes \n; half of a surrogate
    pair, which is no Unicode, becomes U+FFFD. With `none` that is all. With `nfc` and `nfkc` also, in this order:

    - control characters, byte-order marks, soft hyphens, zero-width spaces (U+200B) and word joiners (U+2060) go;
    - Unicode's normalization form C, or KC (which also makes full-width letters and ligatures plain);
    - tabs and Unicode's other spaces become spaces; runs of them become one; none stays at the ends of lines;
    - more than one blank line becomes one; none stays at the ends of the document.

    >>> normalize("e\u0301te\u0301\u00a0 \t2024 \r\n\r\n\r\n\r\nfin\ufeff")
    'été 2024\n\nfin'
    """
    if not text.isascii() or "\r" in text or "\x0b" in text or "\x0c" in text:
        text = _LINE_ENDS.sub("\n", text)
    text = text if text.isascii() else _SURROGATE.sub("\ufffd", text)
    if form == "none":
        return text
    text = _INVISIBLE.sub("", text)  # before the form, since an accent may follow one
    name: Literal["NFC", "NFKC"] = "NFC" if form == "nfc" else "NFKC"
    if not unicodedata.is_normalized(name, text):
        text = unicodedata.normalize(name, text)
    return _tidied(text)


def _tidied(text: str) -> str:
    text = _OTHER_SPACE.sub(" ", text)
    if "  " in text:
        text = _SPACES.sub(" ", text)
    if " \n" in text or "\n " in text:
        text = text.replace(" \n", "\n").replace("\n ", "\n")
    if "\n\n\n" in text:
        text = _BLANK_LINES.sub("\n\n", text)
    return text.strip(" \n")
