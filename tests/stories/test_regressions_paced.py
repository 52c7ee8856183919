"""A task that is built anew on a held change is tried as any other is: with pauses and limits."""

import pytest
from scripted_agent import OVERLOADED, Script, writes
from test_time_limits import lingers
from workplace import a_task

RULE = "rules.txt"
FITS = writes({"api.txt": "touching\n"})


@pytest.fixture
def approved(workplace, monkeypatch):
    """A change that breaks TASK-002, approved; gives what plays the steps of building it anew."""
    steps = {"TASK-002": [writes({"api.txt": "apart\n"})]}
    script = Script(steps).installed(monkeypatch)
    tasks = [
        a_task("TASK-001", "Rule", blocks={RULE: "apart\n"}),
        a_task(
            "TASK-002",
            "API",
            needs=["TASK-001"],
            outputs=["api.txt"],
            tests=["cmp api.txt rules.txt"],
        ),
    ]
    workplace.plan(*tasks)
    assert workplace.run().code == 0
    change = a_task("TASK-003", "Touching", needs=["TASK-001"], blocks={RULE: "touching\n"})
    workplace.plan(*(task.replace("PENDING", "DONE") for task in tasks), change)
    assert workplace.run().code == 4
    assert workplace.runner("approve", "TASK-002").code == 0

    def plays(*anew):
        script.told.clear()
        steps["TASK-002"] = list(anew)
        return script

    return plays


def test_it_is_ended_in_time_gives_way_to_the_end_of_a_run_and_waits_out_an_overload(
    workplace, approved, monkeypatch
):
    def again(script, **settings):
        """The next run, after another approval; what it says and how many sessions it had."""
        for name, value in settings.items():
            monkeypatch.setenv(f"RUNNER_{name}", value)
        ended = workplace.run("--no-verify-at-end")
        for name in settings:
            monkeypatch.delenv(f"RUNNER_{name}")
        return ended, len(script.told)

    ended, sessions = again(approved(lingers), ATTEMPT_MINUTES="0.005", ATTEMPTS="2")
    assert (ended.code, sessions) == (4, 2), ended.said
    assert "budget: the attempt was stopped at its limit of 0.005 minutes" in ended.err
    assert "cancelled" not in ended.said
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "STALE", "TASK-003": "BLOCKED"}

    workplace.runner("approve", "TASK-002")
    ended, sessions = again(approved(OVERLOADED), BACKOFF="100", RUN_MINUTES="0.01")
    assert (ended.code, sessions) == (4, 1), ended.said
    why = "could not be built on it (the run has used its limit of 0.01 minutes)"
    assert why in workplace.runner("show", "TASK-003").out

    workplace.runner("approve", "TASK-002")
    ended, sessions = again(approved(OVERLOADED, OVERLOADED, FITS), BACKOFF="0.05")
    assert (ended.code, sessions) == (0, 3), ended.said
    assert ended.err.count("TASK-002 is retried in 0.") == 2
    assert workplace.statuses["TASK-003"] == "DONE"
