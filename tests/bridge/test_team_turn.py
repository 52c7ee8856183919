"""The bridge in a worker: what is done for an issue is a build of the team's queue."""

import errno
import os
import random
import signal
import threading
import time
from types import SimpleNamespace

import pytest
from store_build import a_store
from test_bridge_kills import Kills

from runner.app.observer import Silent
from runner.bridge import team_turn
from runner.bridge.issue_clone import find_journal
from runner.bridge.issue_desk import EndedBuildError, TurnError
from runner.bridge.team_turn import QueuedClone, TeamTurn
from runner.config.settings import Settings
from runner.errors import RunnerError
from runner.team.budget_share import Bound
from runner.team.build_claim import Claimer, claim_build, hand_back
from runner.team.build_queue import (
    ISSUE_TAG,
    Wanted,
    answer_build,
    cancel_build,
    list_builds,
    look_into,
    queue_build,
    retry_build,
)
from runner.team.projections import find_faults
from runner.team.repository_list import Registered, add_repository
from runner.team.store_engine import find_address
from runner.team.team_budget import set_bound

SHOP = Registered("shop", "https://forge.example/shop.git", "main", "", "", "", "ada")
ME, OTHER = Claimer("w1", "here", ttl=30), Claimer("w2", "there", ttl=30)
PLAN, PULL = "a plan waits for a review", "a pull request waits for a review"


class Clone:
    """As much of an issue's clone as a turn needs."""

    def __init__(self, folder):
        self.folder, self.journal = folder, find_journal(folder, "")


class Turns:
    def __init__(self, store, folder):
        self.store, self.clone = store, Clone(folder)

    def make(self, number=42, me=ME):
        return TeamTurn(self.store, SHOP, me, 0.2, f"runner/{number}", str(self.clone.folder))

    def take(self, number=42, me=ME):
        turn = self.make(number, me)
        turn.take(self.clone)
        return turn

    @property
    def row(self):
        return list_builds(self.store, every=True)[0]


@pytest.fixture
def turns(tmp_path):
    with a_store(find_address(tmp_path, str(tmp_path / "store.sqlite"))) as store:
        yield Turns(store, tmp_path / "42")
        assert list(find_faults(store)) == []


def test_it_is_claimed_with_the_first_command_and_waits_for_whoever_is_next(turns):
    turn = turns.take()
    assert (turns.row.branch, turns.row.state, turns.row.by) == (
        "runner/42",
        "ANALYZING",
        "issue 42",
    )
    turn.take(turns.clone)
    turn.end(PLAN, is_again=False)
    assert (turns.row.state, turns.row.waits, turns.row.attempts) == ("PENDING", PLAN, 0)
    turn = turns.take()
    turn.end(PULL, is_again=False, head="abc")
    assert (turns.row.state, turns.row.head) == ("COMPLETED", "abc")
    turns.take().end(PULL, is_again=False)  # a change was asked for
    assert len(list_builds(turns.store, every=True)) == 1


def test_a_person_who_is_next_is_named_once(turns):
    turns.take().end("waits for a person", is_again=False)
    assert turns.row.waits == "a person"


def test_no_worker_takes_it_by_itself(turns):
    turns.take().end("stopped", is_again=True)
    assert (turns.row.state, turns.row.waits, turns.row.tags) == ("PENDING", "", (ISSUE_TAG,))
    assert claim_build(turns.store, OTHER) is None


def test_one_worker_has_it_and_the_next_one_when_that_is_lost(turns):
    lost = turns.take(me=Claimer("w1", "here", ttl=0.5))
    with pytest.raises(TurnError):
        turns.take(me=OTHER)
    lost._heart.__exit__()  # as killed
    time.sleep(0.7)
    turns.take(me=OTHER).end(PLAN, is_again=False)
    lost.end(PULL, is_again=False)
    assert (turns.row.worker, turns.row.state) == ("w2", "PENDING")


def test_a_cancel_ends_it_and_a_word_in_the_issue_has_it_go_on(turns):
    turn = turns.take()
    assert not turn.is_over
    cancel_build(turns.store, turns.row, "ada@desk")
    until = time.monotonic() + 20
    while not turn.is_over:
        assert time.monotonic() < until
        time.sleep(0.05)
    turn.end("stopped", is_again=True)
    assert turns.row.state == "CANCELLED"
    with pytest.raises(EndedBuildError) as ended:
        turns.take()
    assert ended.value.by == "ada@desk"
    turns.make().resume("eve")
    turns.take().end(PLAN, is_again=False)
    assert turns.row.state == "PENDING"


def test_one_that_waits_and_is_cancelled_is_not_begun(turns):
    turns.take().end(PLAN, is_again=False)
    cancel_build(turns.store, turns.row, "ada@desk")
    with pytest.raises(EndedBuildError):
        turns.take()


def test_one_with_which_three_workers_were_lost_is_a_persons(turns):
    for _ in range(3):
        turns.take(me=Claimer("w1", "here", ttl=0.1))._heart.__exit__()
        time.sleep(0.3)
    with pytest.raises(EndedBuildError) as ended:
        turns.take()
    assert not ended.value.by
    assert "3 workers were lost with it" in ended.value.why


def test_bounds_of_the_team_hold_for_issues(turns):
    set_bound(turns.store, Bound("shop", at_once=1, by="ada"))
    first = turns.take(42)
    with pytest.raises(TurnError):
        turns.take(43)
    first.end(PLAN, is_again=False)
    turns.take(43).end(PLAN, is_again=False)


def test_what_a_claim_may_cost_is_told_to_its_commands(turns):
    set_bound(turns.store, Bound("", dollars=10.0, period="day", share=2.0, by="ada"))
    turn = turns.take()
    assert turn.share.limit({}, Settings()) == {"RUNNER_RUN_DOLLARS": "2.000000"}
    turn.end(PLAN, is_again=False)


def test_a_build_of_higher_priority_goes_first(turns):
    queued = queue_build(turns.store, Wanted(SHOP, "ada", priority=5))
    with pytest.raises(TurnError):
        turns.take()
    mine = claim_build(turns.store, OTHER)
    assert mine.id == queued.id
    turns.take().end(PLAN, is_again=False)
    hand_back(turns.store, mine, "", waits="TASK-001")


def test_who_answers_in_the_queue_is_told_where_it_belongs(turns):
    """It would be taken, and wait without an end: the issue says nothing new."""
    turns.take().end(PLAN, is_again=False)
    for word in ("approve", "reject", "retry"):
        with pytest.raises(RunnerError, match="is the build of an issue, and is answered") as told:
            answer_build(turns.store, turns.row, (word, "DRAFT-1", "why"), "eve")
        assert told.value.hint == "a comment as `/runner retry` in the issue of runner/42"
    with pytest.raises(RunnerError, match="is the build of an issue"):
        retry_build(turns.store, turns.row, "eve")
    cancel_build(turns.store, turns.row, "eve")
    with pytest.raises(RunnerError, match="is the build of an issue"):
        retry_build(turns.store, turns.row, "eve")
    assert look_into(turns.store, turns.row).answers == ()
    turns.make().resume("ada")
    assert turns.row.state == "PENDING"


@pytest.mark.parametrize("said", ["closed", "not asked for"])
def test_one_whose_issue_is_over_waits_no_more(turns, said):
    turns.take().end(PLAN, is_again=False)
    turns.make().end(said, is_again=False)
    assert turns.row.state == "CANCELLED"


def test_what_cannot_be_looked_at_any_more_is_handed_back_and_its_heart_stands_still(turns):
    """As where the remote went away: with a heart that goes on beating nobody has it again."""
    source = SimpleNamespace(environ={}, settings=Settings(), inside="")
    clone = QueuedClone(source, "origin", turns.clone.folder, Silent(), "runner/42")
    clone.make_turn = lambda *_: turns.make()
    clone.place.mkdir(parents=True)  # no repository
    clone._turn.take(clone)
    heart = clone._turn._heart
    clone.end_turn("the forge does not answer", is_again=True)
    assert (turns.row.state, turns.row.waits) == ("PENDING", "")
    assert not heart._thread.is_alive()
    turns.take(me=OTHER).end(PLAN, is_again=False)


def test_words_of_an_error_that_no_store_keeps_hand_it_back_all_the_same(turns):
    turn = turns.take()
    turn.end("\udcff is in no repository", is_again=True)
    assert turns.row.state == "PENDING"
    assert turns.row.note.endswith("is in no repository")


# --- in an issue ------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["ada@desk", ""])
def test_what_the_queue_ended_is_told_in_the_issue_and_goes_on_by_its_word(case, by):
    case.label().advance()
    real = case.builder.build

    def refuse(**_):
        raise EndedBuildError(by, "abc is FAILED: 3 workers were lost with it")

    case.builder.build = refuse
    assert case.approve() == ("paused" if by else "waits for a person")
    said = "Stopped by `ada@desk`" if by else "3 workers were lost with it"
    assert said in case.status
    case.builder.build = real
    case.say("/runner retry")
    assert case.advance() == PULL
    assert case.builder.resumed[-1] == "ada"


def test_what_waits_for_its_turn_says_so_and_is_looked_at_again(case):
    from runner.bridge.issue_work import AGAIN

    case.label()

    def refuse():
        raise TurnError

    case.builder.draft = refuse
    assert case.advance() == "waits for its turn in the team's queue"
    assert case.advance() in AGAIN


# --- the real program -------------------------------------------------------------------

PROGRAM = """\
import os, sys, time
from pathlib import Path
home = Path({home!r})
sys.stdin.read()
while (home / "wait").exists():
    time.sleep(0.1)
if os.environ.get("RUNNER_MODE", "") == "draft":
    print((home / "draft").read_text())
else:
    exec((home / "build.py").read_text())
"""
PACE = {"RUNNER_WORKER_BEAT": "0.3", "RUNNER_WORKER_TTL": "2", "RUNNER_WORKER_POLL": "1"}


class Team:
    """The shop of a team: workers started in the clone serve its issues."""

    def __init__(self, shop, folder, store):
        self.shop, self.forge, self.store, self.folder = shop, shop.forge, store, folder
        program = shop.home / "program.py"
        program.write_text(PROGRAM.format(home=str(shop.home)))
        settings = shop.workplace.home / "config/runner/runner.toml"
        text = f'command = "python3 {program}"\nsandbox_read = ["{shop.home}"]\nreview = "off"\n'
        settings.write_text(f"{text}lease_seconds = 2\nattempts = 2\n")
        asked = Registered("shop", str(folder / "shop.git"), "", "", "", "", "ada")
        add_repository(store, asked, os.environ)

    def start(self, *more, home=""):
        words = ("worker", "--trust", "--store", str(self.folder / "store.sqlite"), *more)
        told = {"XDG_STATE_HOME": str(self.folder / home)} if home else {}
        told |= {"GITHUB_API_URL": self.forge.address, **self.shop.variables, **PACE}
        return self.shop.workplace.start(*words, "--bridge", "acme/shop", **told)

    def round(self):
        process = self.start("--until-idle")
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
        return out + err

    def wait_until(self, is_so):
        until = time.monotonic() + 240
        while not is_so():
            assert time.monotonic() < until, "it does not come"
            time.sleep(0.1)

    @property
    def row(self):
        return list_builds(self.store, every=True)[0]


class ABridge:
    """Ends its first rounds by what a disk or a store says."""

    def __init__(self, serves):
        self.serves, self.over = serves, threading.Event()

    def serve(self, *, follow):
        assert follow
        if trouble := self.serves.pop(0):
            raise trouble
        self.over.wait(30)


def test_neither_a_full_disk_nor_a_store_that_is_away_ends_the_bridge_beside_a_worker(monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    serves, opens, told = [full, None], [RunnerError("the store does not answer"), None], []

    def open_one(_worker, _name):
        if trouble := opens.pop(0):
            raise trouble
        return ABridge(serves)

    monkeypatch.setattr(team_turn, "EVERY", 0.01)
    monkeypatch.setattr(team_turn, "open_bridge", open_one)
    asked = SimpleNamespace(once=False, until_idle=False)
    over = threading.Event()
    worker = SimpleNamespace(asked=asked, over=over, settings=Settings(), tell=told.append)
    beside = team_turn._Beside(worker, "acme/shop", ABridge(serves))
    thread = threading.Thread(target=beside.go)
    thread.start()
    end = time.monotonic() + 60
    while serves and time.monotonic() < end:
        time.sleep(0.01)
    beside.wait_for(thread)
    assert told == [
        "the bridge of acme/shop is tried again: No space left on device",
        "the store does not answer",
    ]


@pytest.fixture
def team(shop, tmp_path):
    with a_store(find_address(tmp_path, str(tmp_path / "store.sqlite"))) as store:
        yield Team(shop, tmp_path, store)
        assert list(find_faults(store)) == []


def test_an_issue_goes_through_the_queue_from_its_label_to_its_pull_request(team):
    number = team.shop.request()
    said = team.round()
    assert f"#{number}: {PLAN}" in said
    assert (team.row.state, team.row.waits) == ("PENDING", PLAN), said
    team.forge.comment("ada", number, f"/runner approve {team.shop.digest(number)}")
    said = team.round()
    assert (team.row.state, team.row.branch) == ("COMPLETED", team.shop.branch(number)), said
    assert team.row.head == team.forge.pulls[0]["pull"]["sha"]
    kinds = [one["type"] for one in look_into(team.store, team.row).events]
    assert {"build.queued", "build.claimed", "build.waits", "task.landed", "build.completed"} <= {
        *kinds
    }
    assert [one["task"] for one in look_into(team.store, team.row).tasks] == ["TASK-008"]
    team.forge.merge("ada", team.forge.pulls[0]["number"])
    assert f"#{number}: merged" in team.round()


def test_a_cancel_in_the_queue_ends_what_goes_on_and_pauses_the_issue(team):
    number = team.shop.request()
    (team.shop.home / "wait").touch()
    worker = team.start()
    try:
        team.wait_until(lambda: [one for one in list_builds(team.store, every=False) if one.token])
        cancel_build(team.store, team.row, "ada@desk")
        team.wait_until(lambda: team.row.state == "CANCELLED")
    finally:
        worker.send_signal(signal.SIGTERM)
        out, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, out + err
    assert f"#{number}: paused" in out, "told by the very worker that ended it"
    assert f"#{number}: paused" in team.round()
    assert "Stopped by `ada@desk`, in the team's queue." in team.shop.status(number)
    (team.shop.home / "wait").unlink()
    team.forge.comment("ada", number, "/runner retry")
    assert f"#{number}: {PLAN}" in team.round()


def test_of_two_workers_with_the_bridge_one_serves_and_the_other_goes_on_where_it_ends(team):
    first, number = team.start(), team.shop.request()
    second = None
    try:
        team.wait_until(lambda: team.forge.comments_of(number))
        second = team.start(home="other")
        team.wait_until(lambda: "runner:plan-in-review" in team.shop.labels(number))
        first.send_signal(signal.SIGKILL)
        first.wait()
        later = team.shop.request("Import bookings")
        team.wait_until(lambda: "runner:plan-in-review" in team.shop.labels(later))
    finally:
        for one in filter(None, (first, second)):
            if one.poll() is None:
                one.send_signal(signal.SIGTERM)
        out, err = second.communicate(timeout=120) if second else ("", "")
    assert "another bridge" in out + err or "is being" in out + err, out + err
    for one in (number, later):
        team.shop.status(one)  # has one comment


@pytest.mark.parametrize("seed", range(3 if "CAMPAIGN_SECONDS" in os.environ else 1))
def test_a_worker_that_is_killed_between_any_two_calls_doubles_nothing_campaign(team, seed):
    chance = random.Random(seed)
    kills = Kills(team.forge, lambda _: len(kills.done) < 4 and chance.random() < 0.4)
    number = team.shop.request()

    def look(waits):
        said = []
        for _ in range(40):
            kills.running = process = team.start("--until-idle")
            out, err = process.communicate(timeout=300)
            kills.running = None
            said.append(out + err)
            if f"#{number}: {waits}" in out:
                return
            time.sleep(0.5)
        raise AssertionError("\n".join(said))

    look(PLAN)
    team.forge.comment("ada", number, f"/runner approve {team.shop.digest(number)}")
    look(PULL)
    team.forge.merge("ada", team.forge.pulls[0]["number"])
    look("merged")
    assert kills.done
    assert len(team.forge.pulls) == 1
    assert "It is merged." in team.shop.status(number)
    assert team.row.state == "COMPLETED"
    assert len(list_builds(team.store, every=True)) == 1
    log = team.shop.workplace.git(f"--git-dir={team.forge.bare}", "log", "--format=%s", "main")
    assert log.count("feat(TASK-008)") == 1
