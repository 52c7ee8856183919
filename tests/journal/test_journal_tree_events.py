from journal_story import records

from runner.journal.session_events import ShipDeclared, ShipReopened, TreeVerified
from runner.journal.snapshot import read_state, write_state
from runner.journal.state import fold


def verified(tree, *, passed):
    return TreeVerified(tree=tree, head="h", passed=passed)


def test_the_tree_that_was_proven_whole_is_remembered_until_it_fails():
    good = verified("a", passed=True)
    assert fold(records(good)).verified_tree == "a"
    assert fold(records(good, verified("b", passed=False))).verified_tree == "a"
    assert fold(records(good, verified("a", passed=False))).verified_tree == ""


def test_a_ship_holds_until_it_is_reopened_and_survives_a_snapshot():
    shipped = fold(records(ShipDeclared(tag="v1", commit="c", tasks=2)))
    assert read_state(write_state(shipped)).shipped == "v1"
    ended = records(ShipDeclared(tag="v1", commit="c"), ShipReopened(by="person"))
    assert fold(ended).shipped == ""
