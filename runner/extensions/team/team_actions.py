"""What people of a team do from the page or its API: each is what `runner team queue` does, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.extensions.team import people
from runner.extensions.team.build_queue import (
    Asked,
    BuildOrder,
    answer_build,
    cancel_build,
    find_build,
    queue_build,
    retry_build,
)
from runner.extensions.team.people import Doer
from runner.extensions.team.repository_list import find_repository
from runner.serve.access import FormInput, Notice
from runner.text.wording import read_number, seconds_of_age

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.extensions.team.people import Person
    from runner.extensions.team.team_board import TeamContext

VIA = "page"
_LONGEST_NAME = 200
_LONGEST_TIMEOUT = 60 * 24 * 30


# --- one build ------------------------------------------------------------------------


def approve_work(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Let what waits go on, exactly as it was shown."""
    return _answer(context, me, build, given, "approve")


def reject_work(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Refuse what waits, for a reason that the next attempt reads."""
    if not given.text("reason"):
        raise RunnerError("a rejection needs a reason", hint="write what must change")
    return _answer(context, me, build, given, "reject")


_ANSWERED = {"approve": "approved", "reject": "rejected"}


def _answer(context: TeamContext, me: Person, build: str, given: FormInput, word: str) -> Notice:
    item, seen = given.text("item", needed=True), given.text("seen", needed=True)
    args = (word, item, given.text("reason"))
    found = find_build(context.store, build)
    answer_build(context.store, found, args, me.name, Asked(VIA, seen, four_eyes=context.four_eyes))
    return Notice(f"{item} {_ANSWERED[word]}", "Its worker continues")


def try_task_again(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Have one task of it tried again, with something to know."""
    task = given.text("task", needed=True, most=_LONGEST_NAME).strip()
    found = find_build(context.store, build)
    answer_build(context.store, found, ("retry", task, given.text("reason")), me.name, Asked(VIA))
    return Notice(f"{task} will be retried", "Its worker picks it up")


def cancel_queued(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Have it ended; what landed stays on its branch."""
    del given
    found = find_build(context.store, build)
    state = cancel_build(context.store, found, me.name, via=VIA)
    if state == "CANCELLED":
        return Notice(f"{found.short} is cancelled")
    return Notice(f"{found.short} is stopping", "Its worker stops within seconds", "wait")


def retry_queued(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Have it tried again: what is DONE on its branch is not built anew."""
    del given
    found = find_build(context.store, build)
    retry_build(context.store, found, me.name, via=VIA)
    return Notice(f"{found.short} will be retried", "A worker picks it up")


# --- the queue ------------------------------------------------------------------------


def enqueue(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Queue a build of a repository: its plan, some of its tasks, or a wish in words."""
    del build
    wish, tasks = given.text("wish"), given.texts("tasks")
    if wish and tasks:
        raise RunnerError("a request has no tasks yet", hint="omit the tasks")
    wanted = BuildOrder(
        find_repository(context.store, given.text("repository", needed=True)),
        me.name,
        tasks,
        given.text("branch", most=_LONGEST_NAME).strip(),
        60.0 * _number(given, "timeout", _LONGEST_TIMEOUT),
        _number(given, "priority", 1000),
        given.texts("tags"),
        wish,
        VIA,
    )
    made = queue_build(context.store, wanted, default_branch_too=context.default_branch_too)
    return Notice(f"{made.short} is queued", f"It lands on {made.branch}", "run", link=made.short)


def _number(given: FormInput, name: str, most: int) -> int:
    typed = given.text(name).strip()
    if not typed:
        return 0
    number = read_number(typed)
    if not 0 <= number <= most:
        raise RunnerError(f"{name} must be a number from 0 to {most}")
    return number


# --- people ---------------------------------------------------------------------------


def add_member(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Make somebody known."""
    del build
    name = given.text("name", needed=True, most=_LONGEST_NAME).strip()
    role = given.text("role", needed=True)
    people.add_person(context.store, name, role, _doer(me))
    return Notice(f"{name} is {role}", "Create a token for them now")


def change_role(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Have somebody may something else from the next request on."""
    del build
    name, role = given.text("name", needed=True), given.text("role", needed=True)
    people.set_role(context.store, name, role, _doer(me))
    return Notice(f"{name} is now {role}")


def give_token(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Make a token, which is shown this once."""
    del build
    name, days = given.text("name", needed=True), given.text("days").strip()
    seconds = seconds_of_age(f"{days}d" if days.isdecimal() else days, "days") if days else 0.0
    secret, token = people.make_token(
        *(context.store, name, _doer(me)), label=given.text("label"), seconds=seconds
    )
    text = f"token {token.id} of {name}"
    return Notice(text, "Copy it now: it is not shown again", "ask", secret=secret)


def take_token(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Have a token open nothing any more; who is in by it is out."""
    del build
    token = people.revoke_token(context.store, given.text("token", needed=True), _doer(me))
    return Notice(f"token {token.id} of {token.person} is revoked")


def remove_member(context: TeamContext, me: Person, build: str, given: FormInput) -> Notice:
    """Have somebody be nobody, with all their tokens."""
    del build
    name = given.text("name", needed=True)
    people.remove_person(context.store, name, _doer(me))
    return Notice(f"{name} was removed; their tokens no longer work")


def _doer(me: Person) -> Doer:
    return Doer(me.name, VIA)


BUILD_ACTS: Mapping[str, Callable[[TeamContext, Person, str, FormInput], Notice]] = {
    "approve": approve_work,
    "reject": reject_work,
    "again": try_task_again,
    "cancel": cancel_queued,
    "retry": retry_queued,
}
PEOPLE_ACTS: Mapping[str, Callable[[TeamContext, Person, str, FormInput], Notice]] = {
    "add": add_member,
    "role": change_role,
    "token": give_token,
    "revoke": take_token,
    "remove": remove_member,
}
