"""Ctrl-C and SIGTERM: noted wherever they come, told with the line that goes on."""

import signal

import pytest

from unmask.interruption import Interrupted, Interruption, told_how_to_go_on


def test_it_is_noted_once_and_acts_the_second_time(capsys):
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGTERM)
        assert interruption.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err.count("Stopping; once more stops at once") == 1


def test_what_was_before_is_there_again():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interruption(), Interruption():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    with Interruption() as fresh:
        assert not fresh.asked


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_came_while_nobody_looked_stops_the_part_that_does(number, capsys):
    with told_how_to_go_on("unmask predict"):
        signal.raise_signal(number)  # as while a model is loaded
        with Interruption() as interruption:
            assert interruption.asked
            raise Interrupted("Stopped after 0 rows.")
    assert capsys.readouterr().out == "Stopped after 0 rows. To go on, run the same command again:\n  unmask predict\n"


def test_work_that_is_done_all_the_same_is_told_as_done(capsys):
    with told_how_to_go_on("unmask predict"):
        signal.raise_signal(signal.SIGTERM)
        print("all rows are there")
    assert capsys.readouterr().out == "all rows are there\n"
