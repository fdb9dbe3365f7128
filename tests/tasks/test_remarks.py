"""Remarks on examples: totals over all parts, and each kind said once at its first and once at the end."""

from unmask.tasks.remarks import Remark, Tally, tell


def cut(n, of, which="", size=0):
    return Remark(kind="cut", n=n, of=of, what="texts were cut", which=which, size=size, advice="take more")


def test_a_remark_on_none_is_not_told(caplog):
    tell(cut(0, 5))
    assert not caplog.messages
    tell(cut(1, 5000, "line 3"))
    assert caplog.messages == ["1 of 5,000 texts were cut (line 3); take more."]


def test_sums_tell_of_the_greatest_and_of_equal_ones_of_the_first():
    assert cut(1, 4, "a", 5) + cut(2, 4, "b", 7) == cut(3, 8, "b", 7)
    assert cut(1, 4, "a", 7) + cut(2, 4, "b", 7) == cut(3, 8, "a", 7)
    assert cut(0, 4) + cut(2, 4, "b") == cut(2, 8, "b")
    assert cut(2, 4, "a") + cut(0, 4) == cut(2, 8, "a")


def test_totals_count_the_parts_of_which_there_is_nothing_to_say(caplog):
    with Tally() as tally:
        for part in (cut(0, 8), cut(2, 8, "a"), cut(0, 8), cut(1, 8, "b"), cut(0, 3)):
            tally.add(part)
    assert caplog.messages == [
        "2 of 16 texts were cut (a); take more.",
        "In all, 3 of 35 texts were cut (a); take more.",
    ]


def test_a_single_part_is_told_once(caplog):
    with Tally() as tally:
        tally.add(cut(2, 8, "a"))
        tally.add(Remark(kind="empty", n=0, of=8, what="texts are empty"))
    assert caplog.messages == ["2 of 8 texts were cut (a); take more."]
