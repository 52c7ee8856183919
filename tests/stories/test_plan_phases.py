"""The phases of a plan: each built and kept, all landed together; and a kill between any two steps.

Nothing that was approved is planned twice, and no phase that is kept is built twice.
"""

import os
import signal
import time
from pathlib import Path

import pytest
from drafter import NAME, Drafter, a_plan, a_script, says
from workplace import a_task

from runner.cli import main
from runner.implementers.registry import IMPLEMENTERS

PLAN = a_plan("a.txt", "b.txt", phases=(("First", "a.txt"), ("Second", "b.txt")))
EXECUTE = """\
if [ -e a.txt ]; then
{second}
cp a.txt b.txt
else
{first}
echo a > a.txt
fi
"""
STOP = "if [ ! -e {0}.{1} ]; then touch {0}.{1}; sleep 60; fi"


@pytest.fixture
def calls(tmp_path):
    """A file that tells what the agent was called for."""
    return tmp_path / "calls"


@pytest.fixture
def phased(workplace, calls, monkeypatch):
    """One task for the agent, whose plan has two phases; it stops once at each of `stops`."""
    monkeypatch.setitem(IMPLEMENTERS, NAME, Drafter)
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")

    def begin(*stops, gate="test -s a.txt"):
        names = ("plan", "first", "second")
        where = {name: STOP.format(calls, name) if name in stops else "" for name in names}
        script = a_script(
            where["plan"] + "\n" + says(PLAN),
            EXECUTE.format(**where),
            f'echo "$MODE" >> {calls}; cat > {calls}.brief.$MODE.$RUNNER_ATTEMPT',
        )
        workplace.write({"agent.sh": script})
        workplace.plan(
            a_task(
                "TASK-001",
                "Write files",
                outputs=["a.txt", "b.txt"],
                command="sh agent.sh",
                tests=["test -s b.txt"],
                fields=(f"Implementer: {NAME}", f"Gates:\n  - made: `{gate}`"),
            )
        )
        return workplace

    return begin


def run(workplace, *words):
    return workplace.run("--no-sandbox", "-j", "1", *words)


def modes(calls):
    return calls.read_text().split() if calls.exists() else []


def kinds(workplace):
    return [one["mode"] for one in workplace.happened("attempt.started")]


def killed(workplace, calls, where):
    """Run it in a process of its own, and kill that where the agent stops."""
    pid = os.fork()
    if pid == 0:  # nothing of pytest may run here
        try:
            os.chdir(workplace.root)
            for descriptor in (0, 1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            main(["run", "--trust", "--no-sandbox", "-j", "1"])
        finally:
            os._exit(0)
    stopped = Path(f"{calls}.{where}")
    end = time.monotonic() + 120
    while not stopped.exists() and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert stopped.exists()


def test_phases_are_built_one_after_the_other_and_land_as_one_commit(phased, calls):
    shop = phased()
    ended = run(shop)
    assert ended.code == 0, ended.said
    assert modes(calls) == ["plan", "execute", "execute"]
    assert kinds(shop) == ["plan", "phase", "build"]
    assert shop.landings == ["TASK-001"]
    assert shop.git("show", "--format=", "--name-only", "HEAD~1").split() == ["a.txt", "b.txt"]
    told = (
        Path(f"{calls}.brief.execute.1").read_text(),
        Path(f"{calls}.brief.execute.2").read_text(),
    )
    assert "Now build phase 1 of 2: First; leave the later phases alone." in told[0]
    assert "Now build phase 2 of 2: Second; the earlier phases are already in the files" in told[1]
    assert shop.git("for-each-ref", "refs/runner/phases") == ""


def test_a_gate_that_fails_between_two_phases_is_told_and_refuses_nothing_yet(phased, calls):
    shop = phased(gate="test -s b.txt")
    ended = run(shop)
    assert ended.code == 0, ended.said
    assert "so far: " in shop.happened("attempt.finished")[1]["findings"][0]["message"]
    assert modes(calls) == ["plan", "execute", "execute"]


def test_killed_anywhere_nothing_approved_is_planned_twice_and_no_kept_phase_built_twice(
    phased, calls
):
    shop = phased("plan", "first", "second")
    killed(shop, calls, "plan")
    assert modes(calls) == ["plan"]
    killed(shop, calls, "first")
    assert modes(calls)[1:] == ["plan", "execute"], "its plan was not there yet"
    killed(shop, calls, "second")
    assert modes(calls)[3:] == ["execute", "execute"], "its plan was approved"
    assert shop.git("show", "refs/runner/phases/TASK-001:a.txt") == "a"
    shop.commit({"other.txt": "the branch goes on"})
    assert run(shop).code == 0
    assert modes(calls)[5:] == ["execute"], "its first phase was kept"
    assert kinds(shop) == ["plan", "plan", "phase", "phase", "build", "build"]
    assert (shop.landings, shop.read("b.txt")) == (["TASK-001"], "a\n")


def test_phases_that_others_wrote_over_are_built_from_the_start_under_the_same_plan(phased, calls):
    shop = phased("second")
    killed(shop, calls, "second")
    shop.commit({"a.txt": "mine\n"})
    ended = run(shop)
    assert modes(calls)[3:] == ["execute", "execute"], ended.said
    assert kinds(shop)[3:] == ["phase", "build"]
