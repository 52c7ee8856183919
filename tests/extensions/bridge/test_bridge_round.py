"""Rounds: who waits costs nothing, and news that a forge tells begins the next one at once."""

import threading
import time
from concurrent.futures import wait
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from issue_case import Case

from runner.app.forge_wake import find_bridge_folder, wake_bridge
from runner.app.observer import Silent
from runner.errors import RunnerError
from runner.extensions.bridge.bridge_command import Bridge, BridgeRequest, Hold
from runner.extensions.bridge.forge_http import ForgeHttp
from runner.extensions.bridge.github import GitHub
from runner.extensions.bridge.issue_clone import CLONE, find_journal
from runner.extensions.bridge.issue_state import BridgeStoppedError


class Rounds(Bridge):
    """A bridge whose issues are worked on by what a test puts here."""

    builders: dict = None

    def _make_work(self, number, builder, login, base):
        work = super()._make_work(number, builder, login, base)
        work.builder = self.builders[number]
        return work


def open_bridge(tmp_path, server, builders, every=0.2):
    places = SimpleNamespace(state=tmp_path)
    settings = SimpleNamespace(plan_review_of=lambda mode: mode, agents=3)
    project = SimpleNamespace(places=places, settings=settings, root=tmp_path, inside="")
    asked = BridgeRequest("runner", "origin", 3, every)
    forge = GitHub(ForgeHttp(server.address, server.token), "acme/shop")
    return Rounds(project, forge, asked, str, Silent(), builders=builders)


def test_many_issues_that_wait_cost_less_than_a_request_a_minute(case, tmp_path):
    server, cases = case.server, [case]
    cases += [Case(server, case.builder.final) for _ in range(29)]
    for number, one in enumerate(cases):
        one.label()
        one.advance()
        if number == 0:
            one.approve()
    bridge = open_bridge(tmp_path, server, {one.number: one.builder for one in cases})
    is_on = bridge.folder / str(case.number) / "repository/.git/HEAD"
    is_on.parent.mkdir(parents=True)
    is_on.write_text(f"ref: refs/heads/{case.builder.branch}\n")
    rounds = []
    begin = bridge._begin

    def count(*words):
        wait(bridge._works.values())
        bridge._settle()
        rounds.append(len(server.calls))
        if len(rounds) == 8:
            bridge.over.set()
        return begin(*words)

    bridge._begin = count
    bridge._run_round("runner-bot", "main", follow=True)
    idle = server.calls[rounds[3] : rounds[7]]
    costly = [one for one in idle if one[2] != 304]
    # four rounds of a minute each; an hour has sixty
    assert len(idle) >= 8
    assert len(costly) * 15 <= 60, costly


def test_who_slept_longer_than_its_lease_or_whose_remote_is_away_writes_nothing(monkeypatch):
    clock, renewed = [0.0], []

    def renew():
        renewed.append(clock[0])
        if clock[0] == 40.0:
            raise RunnerError("the remote is away")
        return clock[0] < 1000.0

    monkeypatch.setattr("runner.effects.monotonic", lambda: clock[0])
    hold = Hold(20.0, renew)
    for now, is_ours in ((9.0, True), (11.0, True), (20.0, True), (40.0, False), (41.0, True)):
        clock[0] = now
        with nullcontext() if is_ours else pytest.raises(BridgeStoppedError):
            hold.require()
    assert renewed == [11.0, 40.0, 41.0]
    clock[0] = 1000.0
    for _ in "ab":
        with pytest.raises(BridgeStoppedError):
            hold.require()


def test_before_every_single_call_that_writes_it_is_asked_whether_it_may(case):
    """At whichever the lease is lost: nothing of it is written, and nothing after it."""

    def count():
        allowed[0] -= 1
        if allowed[0] < 0:
            raise BridgeStoppedError

    case.label()
    stopped = 0
    for number in range(60):
        allowed, before = [number % 3], len(case.server.writes())
        case.forge.http.before_write = count
        said = case.advance(has_mirrors=True)
        assert len(case.server.writes()) - before <= number % 3
        stopped += said == "stopped"
        if said == "the plan needs review":
            case.say(f"/runner approve {case.digest}")
        if said == "the pull request needs review":
            break
    assert stopped > 5
    assert said == "the pull request needs review"
    assert len(case.server.pulls) == 1


def wait_for_all(case, tmp_path, count):
    """So many issues whose plans wait, each with a folder; and the bridge that left them so."""
    server = case.server
    cases = [case, *(Case(server, case.builder.final) for _ in range(count - 1))]
    builders = {one.number: one.builder for one in cases}
    for one in cases:
        one.label()
    bridge = open_bridge(tmp_path, server, builders)
    for number in builders:
        journal = find_journal(bridge.folder / str(number), "")
        journal.parent.mkdir(parents=True)
        journal.write_text("{}")
    return bridge, builders


class Counted:
    """Work of an issue that goes on until as many go on as ever will."""

    def __init__(self, number, at_once, most):
        self.number, self.at_once, self.most, self.is_halted = number, at_once, most, bool

    def advance(self):
        self.at_once.add(self.number)
        self.most.append(len(self.at_once))
        time.sleep(0.15)
        self.at_once.discard(self.number)
        return "needs your input"


def test_no_more_issues_are_worked_on_at_once_than_the_setting_says(case, tmp_path):
    for one in (case, *(Case(case.server, case.builder.final) for _ in range(7))):
        one.label()
    bridge, at_once, most = open_bridge(tmp_path, case.server, {}), set(), []
    bridge._make_work = lambda number, *_: Counted(number, at_once, most)
    bridge._run_round("runner-bot", "main", follow=False)
    assert len(most) == 8, "each of them was looked at"
    assert max(most) == bridge.asked.agents == 3


def begin_again(bridge, builders):
    """Another bridge, one round of it: what it says, and how many answers were no 304."""
    said = []
    again = Rounds(
        bridge.project,
        GitHub(ForgeHttp(bridge.forge.http.address, bridge.forge.http.token), "acme/shop"),
        bridge.asked,
        said.append,
        Silent(),
        builders=builders,
    )
    again._run_round("runner-bot", "main", follow=False)
    return said, again.forge.http.requests


def test_a_start_with_many_issues_that_wait_asks_for_their_list_alone(case, tmp_path):
    bridge, builders = wait_for_all(case, tmp_path, 20)
    first, cost = begin_again(bridge, builders)
    assert cost > 20 * 5
    assert len(first) == 20
    begin_again(bridge, builders)  # what it wrote itself is news once
    again, cost = begin_again(bridge, builders)
    assert sorted(again) == sorted(first), "what they wait for is told all the same"
    assert cost == 1
    case.say("/runner stop")
    said, cost = begin_again(bridge, builders)
    assert "#1: paused" in said
    assert cost < 20
    journal = find_journal(bridge.folder / "7", "")
    journal.write_text("{}\n{}")  # somebody typed a command in its clone
    _, cost = begin_again(bridge, builders)
    assert 2 < cost < 20


def test_what_is_said_in_a_pull_request_is_heard_while_another_plan_waits(case, tmp_path):
    bridge, builders = wait_for_all(case, tmp_path, 1)
    head = bridge.folder / "1" / CLONE / ".git/HEAD"
    for file, said in (
        (head, "ref: refs/heads/runner/1"),
        (head.with_name("refs") / "runner/began", "a" * 40),
        (head.with_name("refs") / "heads/runner/1", "a" * 40),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{said}\n")

    def go_on():
        said, _ = begin_again(bridge, builders)
        _, cost = begin_again(bridge, builders)  # what it wrote itself is news once
        return said, cost

    go_on()
    begin_again(bridge, builders)
    assert begin_again(bridge, builders)[1] == 1, "nothing is there to be proposed yet"
    case.say(f"/runner approve {case.digest}")
    assert go_on()[0] == ["#1: the pull request needs review"]
    file.write_text("b" * 40)
    case.server.edit_issue("ada", case.number, body="as TSV")
    go_on()
    case.say(f"/runner approve {case.status.partition('/runner approve ')[2][:12]}")
    assert go_on()[0] == ["#1: the plan needs review"]
    case.server.comment("ada", case.server.pulls[0]["number"], "/runner stop")
    assert go_on()[0] == ["#1: paused"]


def test_an_issue_that_the_forge_cannot_tell_whole_keeps_no_other_back(case, tmp_path, monkeypatch):
    bridge, builders = wait_for_all(case, tmp_path, 2)
    head = bridge.folder / "1" / CLONE / ".git/HEAD"
    head.parent.mkdir(parents=True)
    head.write_text("ref: refs/heads/runner/1\n")
    begin_again(bridge, builders)
    case.say(f"/runner approve {case.digest}")
    assert "#1: the pull request needs review" in begin_again(bridge, builders)[0]
    for number in range(250):
        case.server.comment("eve", case.server.pulls[0]["number"], f"word {number}")
    monkeypatch.setattr("runner.extensions.bridge.forge_http.MOST_PAGES", 2)
    case.server.comment("ada", 2, "/runner stop")
    said, _ = begin_again(bridge, builders)
    assert "#2: paused" in said
    (first,) = [one for one in said if one.startswith("#1: ")]
    assert "more than 2 pages" in first
    assert "close it and open a new one" in first


@pytest.mark.parametrize("text", ["", "{", "[]", '{"of": 1, "issues": 2}', "[" * 99_999, None])
def test_what_was_seen_and_is_damaged_or_of_another_bridge_costs_a_look(case, tmp_path, text):
    bridge, builders = wait_for_all(case, tmp_path, 2)
    begin_again(bridge, builders)
    file = bridge.folder / "seen.json"
    if text is None:
        file.write_text(file.read_text().replace("runner origin", "other origin"))
    else:
        file.write_text(text)
    said, cost = begin_again(bridge, builders)
    assert len(said) == 2
    assert cost > 6


def test_news_of_the_forge_end_a_pause_and_come_not_too_often(case, tmp_path, monkeypatch):
    monkeypatch.setattr("runner.extensions.bridge.bridge_command._LISTENS", 0.02)
    monkeypatch.setattr("runner.extensions.bridge.bridge_command._SOONEST", 0.3)
    bridge = open_bridge(tmp_path, case.server, {})
    assert not wake_bridge(bridge.project.places, "acme/shop"), "nobody serves it here"
    find_bridge_folder(bridge.project.places, "acme/shop").mkdir(parents=True)
    assert wake_bridge(bridge.project.places, "Acme/Shop")
    began = time.monotonic()
    bridge._rest(60)
    assert 0.3 <= time.monotonic() - began < 30
    threading.Timer(0.5, bridge.over.set).start()
    bridge._rest(60)
    assert time.monotonic() - began < 50
