"""Signals that are received for a while."""

import os
import signal

import pytest

from lovia_cli.cli.signals import Departure, given_back, received, signal_received, signals_stop
from lovia_cli.engine.options import StopSwitch
from lovia_cli.errors import SignalReceived


def test_each_signal_goes_again_to_whom_it_went_before() -> None:
    def leave(number: int, _frame: object) -> None:
        raise signal_received(number)

    before = signal.getsignal(signal.SIGUSR1), signal.getsignal(signal.SIGUSR2)
    with received([signal.SIGUSR1, signal.SIGUSR2], leave), pytest.raises(SignalReceived) as caught:
        os.kill(os.getpid(), signal.SIGUSR2)
    assert (caught.value.number, caught.value.message) == (signal.SIGUSR2, "stopped by SIGUSR2")
    assert (signal.getsignal(signal.SIGUSR1), signal.getsignal(signal.SIGUSR2)) == before


def test_where_the_last_cannot_be_had_the_others_are_given_back() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with pytest.raises(OSError), received([signal.SIGUSR1, signal.SIGKILL], lambda *_: None):  # noqa: PT011 - any
        pass
    assert signal.getsignal(signal.SIGUSR1) == before


@pytest.mark.anyio
async def test_c37_who_has_stopped_a_run_leaves_ctrl_c_to_the_departure() -> None:
    before, departure, stop = signal.getsignal(signal.SIGINT), Departure(lambda: None), StopSwitch()
    with signals_stop(stop, departure):
        pass
    assert signal.getsignal(signal.SIGINT) is before
    with given_back(signal.SIGINT):
        with signals_stop(stop, departure):
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is departure
    assert (signal.getsignal(signal.SIGINT), departure.is_near) == (before, False)
