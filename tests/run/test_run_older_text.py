"""Statuses that were written and are gone tell an older text, unless one of them is still there."""

from run_build import a_ledger, a_task

from runner.journal.events import StatusesPublished
from runner.model import Status
from runner.run.older_text import make_take_back_test

COMMITTED = {"TASK-001": Status.PENDING, "TASK-002": Status.PENDING}


def gone(published, in_the_file):
    journal = a_ledger()
    journal.note(StatusesPublished(published, "h", "p"))
    tasks = [a_task(id_, status=status) for id_, status in in_the_file.items()]
    return make_take_back_test(tasks, journal.state)(COMMITTED)


def test_all_that_was_written_is_gone_where_the_file_is_as_committed():
    both = {"TASK-001": Status.DONE, "TASK-002": Status.BLOCKED}
    assert gone(both, COMMITTED) == [Status.DONE, Status.BLOCKED]


def test_a_file_that_has_one_of_them_yet_is_no_older_text():
    both = {"TASK-001": Status.DONE, "TASK-002": Status.DONE}
    assert gone(both, COMMITTED | {"TASK-002": Status.DONE}) is None


def test_what_was_written_as_it_is_committed_says_nothing():
    assert gone({"TASK-001": Status.PENDING}, COMMITTED) == []
    assert gone({}, COMMITTED) == []
