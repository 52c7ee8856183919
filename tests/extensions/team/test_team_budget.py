"""What the team's builds may cost, and how many go on: shared out at the claim, never twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select
from test_claim import ADA, BOB, GONE, kinds, queued
from workplace import NO_PROOF, a_task

from runner.errors import RunnerError
from runner.extensions.team import team_budget
from runner.extensions.team.build_claim import claim_build, finish_build, release_build
from runner.extensions.team.build_queue import find_build, retry_build
from runner.extensions.team.projections import find_faults
from runner.extensions.team.tables import claims
from runner.extensions.team.team_budget import (
    Bound,
    Share,
    explain,
    list_standings,
    read_share,
    set_bound,
)

STAND_IN = Path(__file__).parents[2] / "implementers/agents/stand_in.py"
GOOD = {"write": "app.py", "lines": ["def one():", "    return 1"]}


def standings(store):
    with store.read() as connection:
        return list_standings(store, connection)


def why(store, repository="shop"):
    return explain(standings(store), repository)


def test_a_claim_is_given_a_share_that_counts_as_spent_until_it_says_what_it_cost(store):
    set_bound(store, Bound("", 10.0, share=4.0, by="ada"))
    for _ in range(4):
        queued(store)
    mine = [claim_build(store, BOB) for _ in range(3)]
    assert [read_share(store, one).given for one in mine] == [4.0, 4.0, 2.0]
    assert claim_build(store, ADA) is None
    assert why(store).startswith("the budget of the team is used up: $10.00 of $10.00 a month")
    finish_build(store, mine[0], "COMPLETED", "", "c0ffee", Share(4.0, 1.5))
    assert standings(store)[0].used == 7.5
    assert read_share(store, claim_build(store, ADA)).given == 2.5
    assert list(find_faults(store)) == []


def test_of_a_claim_that_was_lost_all_that_it_was_given_stays_spent(store):
    set_bound(store, Bound("", 10.0, share=3.0))
    made = queued(store)
    lost = claim_build(store, GONE)
    mine = claim_build(store, ADA)
    assert (mine.id, read_share(store, lost).given, read_share(store, mine).given) == (
        made.id,
        3.0,
        3.0,
    )
    release_build(store, mine, "its run was killed", Share(3.0, 0.5, is_whole=False))
    assert standings(store)[0].used == 6.0
    finish_build(store, claim_build(store, ADA), "COMPLETED", "", "", Share(3.0, 0.25))
    assert standings(store)[0].used == 6.25
    assert list(find_faults(store)) == []


def test_a_lost_build_waits_where_nothing_is_left_and_is_ended_where_nobody_wants_it(store):
    set_bound(store, Bound("", 3.0, share=3.0))
    made = queued(store)
    claim_build(store, GONE)
    assert claim_build(store, ADA) is None
    waits = find_build(store, made.id)
    assert (waits.state, kinds(store, made)[-1]) == ("PENDING", "build.released")
    assert list(find_faults(store)) == []
    set_bound(store, Bound("", 6.0, share=3.0))
    assert claim_build(store, GONE).attempts == 2
    assert claim_build(store, ADA) is None
    set_bound(store, Bound("", 9.0, share=3.0))
    claim_build(store, GONE)
    assert claim_build(store, ADA) is None
    assert find_build(store, made.id).note == "3 workers were lost while building it"
    retry_build(store, made, "ada")
    assert claim_build(store, ADA) is None


def test_a_repository_s_bound_holds_beside_the_team_s(store):
    set_bound(store, Bound("", 100.0, share=50.0))
    set_bound(store, Bound("shop", 2.0, "day", at_once=1))
    queued(store), queued(store)
    mine = claim_build(store, BOB)
    assert read_share(store, mine).given == pytest.approx(0.2)
    assert claim_build(store, ADA) is None
    assert why(store) == "shop: 1 build running, the limit is 1"
    assert why(store, "other") == ""
    finish_build(store, mine, "FAILED", "", "", Share(0.2, 1.99))
    assert "the budget of shop is used up: $1.99 of $2.00 a day, until " in why(store)
    set_bound(store, Bound("shop"))
    assert why(store) == ""
    assert standings(store)[0].used == 1.99
    assert claim_build(store, ADA) is not None
    assert list(find_faults(store)) == []


def test_the_next_period_begins_anew_and_what_is_from_before_changes_nothing_there(
    store, monkeypatch
):
    set_bound(store, Bound("", 1.0, "day", share=1.0))
    queued(store), queued(store), queued(store)
    old = claim_build(store, BOB)
    assert claim_build(store, ADA) is None
    now = team_budget._read_clock
    monkeypatch.setattr(team_budget, "_read_clock", lambda *of: now(*of) + 86_400)
    new = claim_build(store, ADA)
    finish_build(store, old, "COMPLETED", "", "", Share(1.0, 0.5))
    assert standings(store)[0].used == 1.0
    monkeypatch.setattr(team_budget, "_read_clock", now)  # a clock that was set back
    assert claim_build(store, BOB) is None
    finish_build(store, new, "COMPLETED", "", "", Share(1.0, 0.25))
    assert standings(store)[0].used == 0.25
    assert list(find_faults(store)) == []


def test_a_bound_that_is_set_later_counts_what_was_spent_before(store):
    queued(store), queued(store)
    finish_build(store, claim_build(store, BOB), "COMPLETED", "", "", Share(None, 3.0))
    assert set_bound(store, Bound("", 5.0)).used == 3.0
    for said in (Bound("", -1.0), Bound("", 1.0, "year"), Bound("", float("inf"))):
        with pytest.raises(RunnerError):
            set_bound(store, said)
    assert standings(store)[0].bound.dollars == 5.0


CLAIMER = """
import random, sys
from runner.extensions.team.build_claim import Claimer, claim_build, finish_build, release_build
from runner.extensions.team.store_engine import open_engine
from runner.extensions.team.team_budget import Share
from runner.extensions.team.team_budget import read_share
store, chance = open_engine(sys.argv[1]), random.Random(int(sys.argv[2]))
me = Claimer(f"w{sys.argv[2]}", "host", ttl=60)
while (mine := claim_build(store, me)) is not None:
    given = read_share(store, mine).given
    assert given is not None and given > 0
    match chance.randrange(3):
        case 0:
            finish_build(store, mine, "COMPLETED", "", "", Share(given, given * chance.random()))
        case 1:
            release_build(store, mine, "again", Share(given, given * chance.random()))
"""


@pytest.mark.nightly(
    sibling="tests/extensions/team/test_team_budget.py::test_a_claim_is_given_a_share_that_counts_as_spent_until_it_says_what_it_cost"
)
def test_claimers_of_many_processes_never_give_out_more_than_there_is(store):
    """The third kind of them is lost with what it was given."""
    set_bound(store, Bound("", 40.0, share=1.5))
    set_bound(store, Bound("shop", 30.0, share=1.0, at_once=12))
    for number in range(30):
        queued(store, branch=f"feature/{number}")
    words = [sys.executable, "-c", CLAIMER, store.address]
    crowd = [subprocess.Popen([*words, str(seed)], stderr=subprocess.PIPE) for seed in range(6)]
    seen = []
    while any(one.poll() is None for one in crowd):
        seen += [(one.used, one.running) for one in standings(store) if one.bound.scope]
    assert [one.communicate()[1].decode() for one in crowd] == [""] * len(crowd)
    assert all(used <= 30.0 + 1e-6 and running <= 12 for used, running in seen)
    with store.read() as connection:
        said = select(func.sum(func.coalesce(claims.c.spent, claims.c.given)))
        assert connection.execute(said).scalar() <= 30.0 + 1e-6
    assert list(find_faults(store)) == []


# --- a real worker --------------------------------------------------------------------


@pytest.fixture
def agent(workers, alone):
    """Variables of a worker whose agent is the stand-in, by a script."""

    def script(**tasks):
        context = workers.folder / "desk"
        context.mkdir(exist_ok=True)
        (context / "stand_in.py").write_bytes(STAND_IN.read_bytes())
        said = {"tasks": {name.replace("_", "-"): value for name, value in tasks.items()}}
        (context / "script.json").write_text(json.dumps(said))
        command = f"{sys.executable} {context}/stand_in.py {context}/script.json"
        own = alone / "config/runner/runner.toml"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(f"sandbox.read = {json.dumps([str(context)])}\n")
        return {
            "RUNNER_AGENT_COMMAND": command,
            "RUNNER_BUILD_PLAN_FIRST": "false",
            "RUNNER_BUILD_BACKOFF": "0",
            "RUNNER_REVIEW_MODE": "off",
        }

    return script


@pytest.mark.nightly(
    sibling="tests/extensions/team/test_team_budget.py::test_a_lost_build_waits_where_nothing_is_left_and_is_ended_where_nobody_wants_it"
)
def test_a_build_whose_share_is_used_up_waits_and_goes_on_with_the_next_one(workers, agent):
    """Each session costs a dollar, of which the runs of a claim may have as much."""
    task = {"attempts": [[GOOD, {"use": 10, "dollars": 1.0}]]}
    more = {"attempts": [[{**GOOD, "write": "b.py"}, {"use": 10, "dollars": 1.0}]]}
    shop = workers.repository(
        "shop",
        a_task("TASK-001", outputs=("app.py",), fields=(NO_PROOF,)),
        a_task("TASK-002", outputs=("b.py",), needs=("TASK-001",), fields=(NO_PROOF,)),
    )
    set_bound(workers.store, Bound("", 1.05, share=1.0))
    build = workers.queue(shop)
    said = workers.work(**agent(TASK_001=task, TASK_002=more))
    waits = workers.build(build)
    assert (waits.state, workers.landings(build)) == ("PENDING", ["TASK-001"]), said
    assert "of its $1.00 used; the build continues when a worker claims it again" in waits.note
    assert "the budget of the team is used up: $1.00 of $1.05 a month" in why(workers.store)
    set_bound(workers.store, Bound("", 5.0, share=2.0))
    said = workers.work(**agent(TASK_001=task, TASK_002=more))
    assert (workers.build(build).state, workers.landings(build)) == (
        "COMPLETED",
        ["TASK-001", "TASK-002"],
    ), said
    assert standings(workers.store)[0].used == pytest.approx(2.0, abs=0.01)
    assert workers.faults == []


def test_the_commands_say_who_waits_for_how_much_and_until_when(workplace):
    runner = workplace.runner
    assert runner("store", "init").code == 0
    assert runner("queue", "budget").out == "no limit\n"
    assert runner("queue", "budget", "shop", "--dollars", "1").code == 2
    assert runner("queue", "budget", "--dollars", "0/day", "--at-once", "4").code == 0
    said = runner("queue", "budget").out
    assert said.startswith("the team: $0.00 of $0.00 a day, until ")
    assert said.endswith("0 of 4 builds at once\n")
    told = runner("stats", "--team").out
    assert "nothing is queued" in told
    assert "the budget of the team is used up: $0.00 of $0.00 a day, until " in told
    assert json.loads(runner("stats", "--team", "--json").out)["kind"] == "team-stats"
    assert runner("queue", "budget", "--dollars", "5/year").code == 2
    assert runner("queue", "budget", "--dollars", "none").out == "no limit\n"
