"""Letters are counted by script."""

import unicodedata

from unmask.corpus.scripts import NAMES, _table, count_scripts


def shares(text):
    return {name: int(n) for name, n in zip(NAMES, count_scripts(text), strict=True) if n and name}


def test_scripts():
    assert shares("Abc, 12!") == {"Latin": 3}
    assert shares("naïve Straße") == {"Latin": 11}
    assert shares("我爱Beijing。") == {"Han": 2, "Latin": 7}
    assert shares("Привет мир") == {"Cyrillic": 9}
    assert shares("ひらがなカタカナ漢字") == {"Kana": 8, "Han": 2}
    assert shares("한국어 שלום سلام αβγ") == {"Hangul": 3, "Hebrew": 4, "Arabic": 4, "Greek": 3}
    assert shares("ᚠᚢᚦ") == {"other": 3}
    assert shares("") == {}


def test_long_texts_are_counted_in_parts():
    assert shares("a汉 " * 600_000) == {"Latin": 600_000, "Han": 600_000}


def test_the_table_agrees_with_unicodes_names():
    """A letter's name begins with its script; a few scripts are called otherwise."""
    wanted = {"LATIN": "Latin", "CYRILLIC": "Cyrillic", "GREEK": "Greek", "HEBREW": "Hebrew", "THAI": "Thai"}
    wanted |= {
        "DEVANAGARI": "Devanagari",
        "HANGUL": "Hangul",
        "HIRAGANA": "Kana",
        "KATAKANA": "Kana",
        "ARABIC": "Arabic",
    }
    wrong = []
    for code in range(0x20, 0x10000):
        word = unicodedata.name(chr(code), "").split(" ")[0]
        if chr(code).isalpha() and word in wanted and NAMES[_table()[code]] != wanted[word]:
            wrong.append(chr(code))
    assert len(wrong) <= 40, "".join(wrong)  # signs such as ℡ and phonetic extensions


def test_no_letter_is_beyond_the_end():
    assert not any(chr(code).isalpha() for code in range(0x40000, 0x110000))
