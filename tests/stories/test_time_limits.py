"""Attempts that are over before they are done: by their minutes, or by a person between two."""

import time

import pytest
from scripted_agent import OVERLOADED, Script, writes
from workplace import a_task

from runner.implementers.base import WorkResult
from runner.model import Finding

GOOD = writes({"a.txt": "good\n"})
TOO_LONG = "the attempt was stopped at its limit of 0.01 minutes"


def lingers(context):
    """A session that goes on until somebody ends it, and says so as every implementer does."""
    assert context.cancelled.wait(30)
    return WorkResult(findings=(Finding("implementer", "the session was cancelled"),))


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setenv("RUNNER_BUDGET_ATTEMPT_MINUTES", "0.01")
    monkeypatch.setenv("RUNNER_BUILD_ATTEMPTS", "2")


def test_an_attempt_that_is_out_of_time_says_so_and_nothing_of_being_cancelled(
    workplace, monkeypatch, short
):
    Script({"TASK-001": [lingers]}).installed(monkeypatch)
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], tests=["true"]))
    ended = workplace.run()
    assert ended.code == 5, ended.said
    assert "cancelled" not in ended.said
    assert f"BLOCKED — {TOO_LONG} (2 attempts)" in workplace.status_line("TASK-001")
    assert f"budget: {TOO_LONG}" in ended.err
    assert "implementer: the session hit this limit" in ended.err
    report = "artifacts/build/reports/TASK-001.md"
    assert f"  report: {report}\n" in ended.out
    assert workplace.has(report)
    shown = workplace.runner("show", "1")
    assert f"report of that attempt:\n  {report}\n" in shown.out
    assert workplace.runner("show", "1", "--json").document["report"] == report


def test_a_task_that_waits_for_its_next_try_is_cancelled(workplace, monkeypatch):
    said = []

    def cancels(context):
        """The second task's session, in which a person cancels the first."""
        until = time.monotonic() + 20
        while not workplace.happened("attempt.finished", "TASK-001"):
            assert time.monotonic() < until
            time.sleep(0.05)
        process = workplace.start("cancel", "1")
        said.append((*process.communicate(timeout=30), process.returncode))
        return writes({"b.txt": "b\n"})(context)

    script = Script({"TASK-001": [OVERLOADED], "TASK-002": [cancels]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "100")
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], tests=["true"]),
        a_task("TASK-002", outputs=["b.txt"], tests=["true"]),
    )
    began = time.monotonic()
    ended = workplace.run("-j", "2")
    assert said == [("TASK-001 is BLOCKED: cancelled by a person\n", "", 0)]
    assert ended.code == 3, ended.said
    assert time.monotonic() - began < 60, "nobody waits for what does not come"
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}
    assert len(script.attempts("TASK-001")) == 1
    assert workplace.runner("approve", "1").code == 0
