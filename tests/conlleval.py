"""conlleval as its authors publish it: two columns of tags, read side by side, chunks counted as they begin and end.

Independent of `unmask.tasks.schemes`, which lists each text's entities and compares the lists.
"""

from collections import Counter

ENDS = {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}
BEGINS = {("E", "E"), ("E", "I"), ("S", "E"), ("S", "I"), ("O", "E"), ("O", "I")}


def split(tag):
    letter, hyphen, label = tag.partition("-")
    return (letter, label) if hyphen else (tag, "")


def ends_between(before, now):
    if before[0] in ("E", "S") or (before[0], now[0]) in ENDS:
        return True
    return before[0] != "O" and before[1] != now[1]


def begins_between(before, now):
    if now[0] in ("B", "S") or (before[0], now[0]) in BEGINS:
        return True
    return now[0] != "O" and before[1] != now[1]


def conlleval(sentences):
    """Counts of right, gold and found chunks by label, of sentences of (gold tag, found tag)."""
    right, gold, found = Counter(), Counter(), Counter()
    before, both = [("O", ""), ("O", "")], False
    rows = [row for sentence in sentences for row in [*sentence, ("O", "O")]]
    for row in rows:
        now = [split(tag) for tag in row]
        ended = [ends_between(*pair) for pair in zip(before, now, strict=True)]
        begun = [begins_between(*pair) for pair in zip(before, now, strict=True)]
        if both and all(ended) and before[0][1] == before[1][1]:
            right[before[0][1]] += 1
            both = False
        elif both and (ended[0] != ended[1] or now[0][1] != now[1][1]):
            both = False
        both = both or (all(begun) and now[0][1] == now[1][1])
        gold[now[0][1]] += begun[0]
        found[now[1][1]] += begun[1]
        before = now
    return right, gold, found
