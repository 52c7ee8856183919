"""What people of a team do from the page or its API: each is what `runner queue` does, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.serve.access import Given, Said
from runner.team import people
from runner.team.build_queue import (
    Asked,
    Wanted,
    answer_build,
    cancel_build,
    find_build,
    queue_build,
    retry_build,
)
from runner.team.people import Doer
from runner.team.repository_list import find_repository
from runner.text.wording import read_number, seconds_of_age

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.serve.team_board import TeamDesk
    from runner.team.people import Person

VIA = "page"
_LONGEST_NAME = 200
_LONGEST_TIMEOUT = 60 * 24 * 30


# --- one build ------------------------------------------------------------------------


def approve_work(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Let what waits go on, exactly as it was shown."""
    return _answer(desk, me, build, given, "approve")


def reject_work(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Refuse what waits, for a reason that the next attempt reads."""
    if not given.text("reason"):
        raise RunnerError("a rejection needs a reason", hint="the next attempt reads it")
    return _answer(desk, me, build, given, "reject")


_ANSWERED = {"approve": "approved", "reject": "rejected"}


def _answer(desk: TeamDesk, me: Person, build: str, given: Given, word: str) -> Said:
    item, seen = given.text("item", needed=True), given.text("seen", needed=True)
    said = (word, item, given.text("reason"))
    found = find_build(desk.store, build)
    answer_build(desk.store, found, said, me.name, Asked(VIA, seen, four_eyes=desk.four_eyes))
    return Said(f"{item} {_ANSWERED[word]}", "Whoever builds it is told, and goes on")


def try_task_again(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Have one task of it tried again, with something to know."""
    task = given.text("task", needed=True, most=_LONGEST_NAME).strip()
    found = find_build(desk.store, build)
    answer_build(desk.store, found, ("retry", task, given.text("reason")), me.name, Asked(VIA))
    return Said(f"{task} is tried again", "Whoever builds it is told")


def cancel_queued(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Have it ended; what landed stays on its branch."""
    del given
    found = find_build(desk.store, build)
    state = cancel_build(desk.store, found, me.name, via=VIA)
    if state == "CANCELLED":
        return Said(f"{found.short} is cancelled")
    return Said(f"{found.short} is being ended", "Its worker ends it within seconds", "wait")


def retry_queued(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Have it tried again: what is DONE on its branch is not built anew."""
    del given
    found = find_build(desk.store, build)
    retry_build(desk.store, found, me.name, via=VIA)
    return Said(f"{found.short} is tried again", "A worker takes it")


# --- the queue ------------------------------------------------------------------------


def enqueue(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Queue a build of a repository: its plan, some of its tasks, or a wish in words."""
    del build
    wish, tasks = given.text("wish"), given.texts("tasks")
    if wish and tasks:
        raise RunnerError("a wish in words has no tasks yet", hint="leave the tasks out")
    wanted = Wanted(
        find_repository(desk.store, given.text("repository", needed=True)),
        me.name,
        tasks,
        given.text("branch", most=_LONGEST_NAME).strip(),
        60.0 * _number(given, "timeout", _LONGEST_TIMEOUT),
        _number(given, "priority", 1000),
        given.texts("tags"),
        wish,
        VIA,
    )
    made = queue_build(desk.store, wanted, default_branch_too=desk.default_branch_too)
    return Said(f"{made.short} is queued", f"It lands on {made.branch}", "run", link=made.short)


def _number(given: Given, name: str, most: int) -> int:
    said = given.text(name).strip()
    if not said:
        return 0
    number = read_number(said)
    if not 0 <= number <= most:
        raise RunnerError(f"{name} is a number up to {most}")
    return number


# --- people ---------------------------------------------------------------------------


def add_member(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Make somebody known."""
    del build
    name = given.text("name", needed=True, most=_LONGEST_NAME).strip()
    role = given.text("role", needed=True)
    people.add_person(desk.store, name, role, _doer(me))
    return Said(f"{name} is {role}", "Make them a token now")


def change_role(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Have somebody may something else from the next request on."""
    del build
    name, role = given.text("name", needed=True), given.text("role", needed=True)
    people.set_role(desk.store, name, role, _doer(me))
    return Said(f"{name} is {role} now")


def give_token(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Make a token, which is shown this once."""
    del build
    name, days = given.text("name", needed=True), given.text("days").strip()
    seconds = seconds_of_age(f"{days}d" if days.isdecimal() else days, "days") if days else 0.0
    secret, token = people.make_token(
        *(desk.store, name, _doer(me)), label=given.text("label"), seconds=seconds
    )
    said = f"the token {token.id} of {name}"
    return Said(said, "It is shown now and never again", "ask", secret=secret)


def take_token(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Have a token open nothing any more; who is in by it is out."""
    del build
    token = people.revoke_token(desk.store, given.text("token", needed=True), _doer(me))
    return Said(f"{token.id} of {token.person} opens nothing any more")


def remove_member(desk: TeamDesk, me: Person, build: str, given: Given) -> Said:
    """Have somebody be nobody, with all their tokens."""
    del build
    name = given.text("name", needed=True)
    people.remove_person(desk.store, name, _doer(me))
    return Said(f"{name} is gone, and their tokens open nothing")


def _doer(me: Person) -> Doer:
    return Doer(me.name, VIA)


BUILD_ACTS: Mapping[str, Callable[[TeamDesk, Person, str, Given], Said]] = {
    "approve": approve_work,
    "reject": reject_work,
    "again": try_task_again,
    "cancel": cancel_queued,
    "retry": retry_queued,
}
PEOPLE_ACTS: Mapping[str, Callable[[TeamDesk, Person, str, Given], Said]] = {
    "add": add_member,
    "role": change_role,
    "token": give_token,
    "revoke": take_token,
    "remove": remove_member,
}
