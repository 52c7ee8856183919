"""Ctrl-C: heard at any moment, raised nowhere but where a person is asked."""

import os
import signal

import pytest

from runner.run.interruption import Interruption
from runner.run.review import Answer, Reply, Spot


def test_a_signal_wakes_the_coordinator_and_raises_nothing():
    interruption, woken = Interruption(), []
    interruption.wakes(lambda: woken.append("now"))
    with interruption.listen():
        os.kill(os.getpid(), signal.SIGTERM)
        assert woken == ["now"]
    assert interruption.heard


def test_a_signal_before_there_is_anybody_to_wake_is_not_lost():
    interruption, woken = Interruption(), []
    with interruption.listen():
        os.kill(os.getpid(), signal.SIGINT)
        interruption.wakes(lambda: woken.append("late"))
    assert woken == ["late"]


def test_the_handlers_of_before_are_put_back():
    before = signal.getsignal(signal.SIGINT)
    with Interruption().listen():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("early", [True, False])
def test_a_question_is_answered_with_wait(early):
    interruption, asked = Interruption(), []

    class Asker:
        def ask(self, *_):
            asked.append(1)
            os.kill(os.getpid(), signal.SIGINT)
            return Reply(Answer.APPROVED)

    with interruption.listen():
        if early:
            os.kill(os.getpid(), signal.SIGINT)
        said = interruption.wrap_asker(Asker()).ask(None, None, None, Spot())
    assert said == Reply(Answer.WAITS)
    assert asked == ([] if early else [1])


def test_the_second_signal_ends_the_process_at_once():
    child = os.fork()
    if not child:
        with Interruption().listen():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGTERM
