"""The landing turn: a slow proof is overtaken twice, and not a third time."""

from types import SimpleNamespace

from runner.run.landing.moved_branch import LandingQueue


def task(id_):
    return SimpleNamespace(id=id_)


def test_who_was_overtaken_twice_has_the_turn_and_others_are_parked_until_it_is_over():
    turn = LandingQueue()
    turn.mark_overtaken("SLOW")
    assert not turn.parks(task("FAST"), "work", "off")
    turn.mark_overtaken("SLOW")
    assert turn.parks(task("FAST"), "work", "off")
    assert not turn.parks(task("SLOW"), "its own", "off")
    assert turn.next_parked() is None
    turn.over("SLOW")
    parked = turn.next_parked()
    assert (parked.task.id, parked.outcome, parked.how) == ("FAST", "work", "off")
    assert turn.next_parked() is None


def test_the_first_that_was_overtaken_twice_keeps_the_turn():
    turn = LandingQueue()
    for id_ in ("ONE", "ONE", "TWO", "TWO"):
        turn.mark_overtaken(id_)
    assert turn.holder == "ONE"
    turn.over("TWO")
    assert turn.holder == "ONE"


def test_a_run_that_ends_gives_back_everything_that_was_parked():
    turn = LandingQueue()
    turn.mark_overtaken("SLOW")
    turn.mark_overtaken("SLOW")
    turn.parks(task("A"), 1, "off")
    turn.parks(task("B"), 2, "off")
    assert [one.task.id for one in turn.give_up()] == ["A", "B"]
    turn.over("SLOW")
    assert turn.next_parked() is None


def test_what_is_parked_can_be_taken_back_and_lands_no_more():
    turn = LandingQueue()
    turn.mark_overtaken("SLOW")
    turn.mark_overtaken("SLOW")
    turn.parks(task("A"), 1, "off")
    turn.parks(task("B"), 2, "off")
    assert turn.withdraw("A") == 1
    assert turn.withdraw("A") is None
    turn.over("SLOW")
    assert turn.next_parked().task.id == "B"
    assert turn.next_parked() is None
