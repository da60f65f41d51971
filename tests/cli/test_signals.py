"""Signals that are received for a while."""

import os
import signal

import pytest

from lovia_cli.cli.signals import received, signal_received
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
