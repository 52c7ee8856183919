"""How often the team's builds may call models: a rate that claims have shares of."""

import json
import subprocess
import sys

import pytest
from sqlalchemy import text
from test_claim import ADA, BOB, GONE, queued
from test_team_budget import standings, why
from workplace import NO_PROOF, a_task

from runner.config.settings import Settings
from runner.errors import RunnerError
from runner.team.budget_share import Bound, Share
from runner.team.build_claim import claim_build, finish_build, hand_back
from runner.team.build_queue import find_build
from runner.team.projections import find_faults
from runner.team.store_engine import read_revision
from runner.team.store_upkeep import go_down, go_up
from runner.team.team_budget import describe_bounds, measure_team, read_share, set_bound


def claimed(store, number):
    return [claim_build(store, BOB) for _ in range(number)]


def calls(store, claims):
    return [read_share(store, one).calls for one in claims]


def test_a_claim_is_given_a_tenth_of_the_rate_and_the_rest_waits(store):
    set_bound(store, Bound("", calls="25/minute"))
    for _ in range(14):
        queued(store)
    mine = claimed(store, 13)
    assert calls(store, mine) == [120] * 12 + [60]  # an hour: 2 a minute, and the one that is left
    assert claim_build(store, ADA) is None
    assert why(store) == (
        "the calls of the team are used up: 25 of 25 model calls per minute given, "
        "until a build ends"
    )
    finish_build(store, mine[0], "COMPLETED", "", "")
    assert calls(store, [claim_build(store, ADA)]) == [120]
    hand_back(store, mine[1], "its worker was ended")
    assert calls(store, [claim_build(store, ADA)]) == [120]
    assert claim_build(store, ADA) is None
    assert list(find_faults(store)) == []


@pytest.mark.parametrize(
    ("rate", "at_once", "given"),
    [("60/minute", 4, 900), ("10/hour", 4, 2), ("3/minute", 9, 60), ("1/hour", None, 1)],
)
def test_with_at_once_a_share_is_its_part_and_never_less_than_one_call(store, rate, at_once, given):
    set_bound(store, Bound("", calls=rate, at_once=at_once))
    queued(store)
    assert calls(store, claimed(store, 1)) == [given]


def test_the_tightest_bound_counts_and_its_share_is_taken_of_all(store):
    set_bound(store, Bound("", calls="2/minute"))
    set_bound(store, Bound("shop", calls="30/hour", at_once=2))
    for _ in range(4):
        queued(store)
    mine = claimed(store, 2)
    assert calls(store, mine) == [15, 15]
    assert [one.calls_given for one in standings(store)] == [30, 30]
    assert why(store) == "shop: 2 builds go on, of 2 at once"
    assert next(describe_bounds(standings(store))).startswith("the team: 0.5 of 2 model calls")
    set_bound(store, Bound("shop", calls="30/hour"))
    assert "the calls of shop are used up: 30 of 30 model calls per hour" in why(store)
    assert why(store, "other") == ""
    set_bound(store, Bound("shop"))
    assert calls(store, claimed(store, 1)) == [60]
    set_bound(store, Bound(""))
    assert calls(store, claimed(store, 1)) == [None]


def test_a_claim_that_was_lost_gives_its_calls_back(store):
    set_bound(store, Bound("", calls="1/minute"))
    made = queued(store)
    lost = claim_build(store, GONE)
    assert calls(store, [lost]) == [60]
    mine = claim_build(store, ADA)  # though the bound was used up: by the one that was lost
    assert (mine.id, mine.token, calls(store, [mine])) == (made.id, 2, [60])
    assert standings(store)[0].calls_given == 60
    assert find_build(store, made.id).attempts == 2
    finish_build(store, mine, "COMPLETED", "", "")
    assert standings(store)[0].calls_given == 0


def test_dollars_and_calls_are_shares_of_their_own(store):
    set_bound(store, Bound("", 10.0, share=4.0, calls="20/minute"))
    queued(store)
    (mine,) = claimed(store, 1)
    assert read_share(store, mine) == Share(4.0, calls=120)
    assert measure_team(store)[2] == {"": {"bound": 1200, "given": 120, "left": 1080}}
    (line,) = describe_bounds(standings(store))
    assert line.endswith("2 of 20 model calls per minute given, 2 a claim at most")


CLAIMER = """
import random, sys
from runner.team.build_claim import Claimer, claim_build, finish_build, hand_back
from runner.team.store_engine import open_engine
from runner.team.team_budget import read_share
store, chance = open_engine(sys.argv[1]), random.Random(int(sys.argv[2]))
me = Claimer(f"w{sys.argv[2]}", "host", ttl=60)
for _ in range(12):
    mine = claim_build(store, me)
    if mine is None:
        continue
    assert read_share(store, mine).calls in (60, 120), read_share(store, mine)
    match chance.randrange(3):
        case 0:
            finish_build(store, mine, "COMPLETED", "", "")
        case 1:
            hand_back(store, mine, "again")
"""


def test_claimers_of_many_processes_never_give_out_more_than_the_rate(store):
    """The third kind of them keeps what it was given: in the end nothing is left."""
    set_bound(store, Bound("", calls="13/minute"))
    set_bound(store, Bound("shop", calls="9/minute", at_once=4))
    for number in range(40):
        queued(store, branch=f"feature/{number}")
    set_bound(store, Bound("shop", calls="9/minute"))
    words = [sys.executable, "-c", CLAIMER.replace("(60, 120)", "(60,)"), store.address]
    crowd = [subprocess.Popen([*words, str(seed)], stderr=subprocess.PIPE) for seed in range(4)]
    seen = []
    while any(one.poll() is None for one in crowd):
        seen += [one.calls_given for one in standings(store) if one.bound.scope]
    assert [one.communicate()[1].decode() for one in crowd] == [""] * len(crowd)
    last = [one.calls_given for one in standings(store)]
    assert max(seen) <= 9 * 60
    assert last == [540, 540]
    assert list(find_faults(store)) == []


def test_the_schema_goes_down_and_up_with_bounds_and_claims_in_it(store):
    set_bound(store, Bound("", 10.0, calls="60/minute"))
    set_bound(store, Bound("shop", calls="60/minute"))
    queued(store)
    (mine,) = claimed(store, 1)
    with store.write() as connection:
        go_down(connection, "r0005")
        for table in ("budgets", "claims"):
            found = connection.execute(text(f"SELECT * FROM {table}")).mappings().all()
            assert [("calls" in row, row.get("scope", "")) for row in found] == [(False, "")]
    assert read_revision(store) == "r0005"
    with store.write() as connection:
        go_up(connection)
    (kept,) = standings(store)
    assert (kept.bound.dollars, kept.bound.calls, kept.used) == (10.0, "", 1.0)
    assert read_share(store, mine) == Share(1.0)
    finish_build(store, mine, "COMPLETED", "", "", Share(1.0, 0.5))
    assert standings(store)[0].used == 0.5


@pytest.mark.parametrize(
    ("own", "told"), [("", "6/minute"), ("10/minute", "6/minute"), ("100/hour", "100/hour")]
)
def test_a_command_is_told_the_smaller_of_the_worker_s_own_rate_and_the_share(own, told):
    share = Share(calls=360)
    assert share.limit({"A": "b"}, Settings(model_calls=own)) == {
        "A": "b",
        "RUNNER_MODEL_CALLS": told,
    }
    assert Share().limit({"A": "b"}, Settings(model_calls=own)) == {"A": "b"}


def test_a_worker_s_run_keeps_to_the_share_of_its_claim(crew, alone):
    """An agent is let see the variable, and writes it down."""
    shop = crew.repository("shop", a_task("TASK-001", outputs=("app.txt",), fields=(NO_PROOF,)))
    set_bound(crew.store, Bound("", calls="300/minute", at_once=4))
    build = crew.queue(shop)
    said = crew.work(
        RUNNER_AGENT_COMMAND="echo $RUNNER_MODEL_CALLS > app.txt",
        RUNNER_AGENT_ENV="RUNNER_MODEL_CALLS",
        RUNNER_IMPLEMENTER="agent",
        RUNNER_MODEL_CALLS="100/minute",
        RUNNER_PLAN_FIRST="false",
        RUNNER_REVIEW="off",
    )
    assert crew.landings(build) == ["TASK-001"], said
    assert crew.git(shop, "show", f"{build.branch}:app.txt") == "75/minute"
    assert standings(crew.store)[0].calls_given == 0
    assert crew.faults == []


# --- in words -------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["60", "0/minute", "x/minute", "60/fortnight"])
def test_what_is_no_rate_is_refused_with_where_and_a_hint(store, said):
    with pytest.raises(RunnerError) as refused:
        set_bound(store, Bound("", calls=said))
    error = refused.value
    assert error.message == f"'{said}' must be calls a minute or an hour, such as 6/minute"
    assert (error.where, error.hint.startswith("--calls 60/minute")) == ("--calls", True)
    assert standings(store) == ()


def test_the_commands_say_how_the_calls_stand_and_who_waits(workplace):
    runner = workplace.runner
    assert runner("store", "init").code == 0
    refused = runner("queue", "budget", "--calls", "60/fortnight")
    assert (refused.code, "--calls" in refused.err, "hint" in refused.err) == (2, True, True)
    said = runner("queue", "budget", "--calls", "60/minute", "--at-once", "4").out
    assert said.endswith("0 of 60 model calls per minute given, 15 a claim at most\n")
    (told,) = json.loads(runner("queue", "budget", "--json").out)["budgets"]
    assert (told["bound"]["calls"], told["callsGiven"]) == ("60/minute", 0)
    assert json.loads(runner("queue", "list", "--json").out)["budgets"] == [told]
    assert "0 of 60 model calls per minute" in runner("stats", "--team").out
    assert runner("queue", "budget", "--calls", "none").out == "no bound\n"
