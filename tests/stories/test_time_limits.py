"""How long an attempt takes: its limits, and a line for each part that a person waits for."""

import re
import time

import pytest
from scripted_agent import OVERLOADED, Script, lingers, writes
from workplace import NO_PROOF, a_task

from runner.process import cgroups
from runner.process.cgroups import Grounds
from runner.process.sandbox import choose_sandbox

GOOD = writes({"a.txt": "good\n"})
TOO_LONG = "the attempt was stopped at its limit of 0.01 minutes"


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


# --- where the seconds go ------------------------------------------------------------------------

AGENT = """sleep 0.6
cat > price.py <<'EOF'
def price(n):
    if n > 10:
        return n * 2
    return n + 3
EOF
cat > test_price.py <<'EOF'
import time

time.sleep(0.6)
from price import price


def test_price():
    assert price(11) == 22
    assert price(10) == 13
    assert price(1) == 4
EOF
"""
SLOW = a_task(
    "TASK-001",
    outputs=["price.py", "test_price.py"],
    command="sh agent.sh",
    tests=["python3 -m pytest -q test_price.py"],
    fields=["Red first: yes"],
)
_LINE = re.compile(r"^TASK-001 [·✓] (.*) (\d+\.\d+) s$", re.MULTILINE)


def test_the_lines_of_an_attempt_add_up_to_its_seconds(workplace):
    workplace.commit({"agent.sh": AGENT})
    workplace.plan(SLOW)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    lines = {name: float(seconds) for name, seconds in _LINE.findall(ended.said)}
    assert {"implementer", "TC-001", "mutation"} <= lines.keys()
    (attempt,) = workplace.happened("attempt.finished", "TASK-001")
    assert sum(lines.values()) >= 0.9 * attempt["seconds"]


def test_quiet_hides_them(workplace):
    command, tests = "sleep 0.7; echo a > a.txt", ["sleep 0.7; grep -q a a.txt"]
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command=command, tests=tests))
    assert _LINE.findall(workplace.run("-q").said) == []
    stages = [one["stage"] for one in workplace.happened("stage.completed", "TASK-001")]
    assert "implementer" in stages


# --- of a task that is built anew on a held change -----------------------------------------------

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
    why = "could not be built on this change (the run has used its limit of 0.01 minutes)"
    assert why in workplace.runner("show", "TASK-003").out

    workplace.runner("approve", "TASK-002")
    ended, sessions = again(approved(OVERLOADED, OVERLOADED, FITS), BACKOFF="0.05")
    assert (ended.code, sessions) == (0, 3), ended.said
    assert ended.err.count("TASK-002 is retried in 0.") == 2
    assert workplace.statuses["TASK-003"] == "DONE"


# --- bounds of commands ---------------------------------------------------------------


@pytest.fixture
def bounded(workplace, monkeypatch):
    workplace.settle('limits.processors = 2\nlimits.disk = "10GB"\nlimits.io = "50MB/s"\n')
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}, fields=(NO_PROOF,)))
    monkeypatch.setattr(cgroups, "our_grounds", Grounds)
    return workplace


def test_a_run_and_doctor_say_what_nothing_holds_and_go_on(bounded):
    ended = bounded.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert (
        ended.said.count(
            "limits.processors is not enforced: this machine has no cgroup with cpu control"
        )
        == 1
    )
    assert ended.said.count("disk is not enforced") == ended.said.count("io is not enforced") == 1
    said = bounded.runner("doctor").out
    assert "processors is not enforced" in said
    assert "io is not enforced" in said
    # A repository bounds nothing, and a bound that is none is refused with its line.
    bounded.write({"runner.toml": "limits.processors = 64\n"})
    shown = bounded.runner("settings")
    assert "processors is ignored: only your own settings" in shown.said
    file = bounded.home / "config/runner/runner.toml"
    for line in (
        "limits.processors = 0",
        'limits.io = "50MB"',
        'limits.io = "fast/s"',
        'limits.disk = "much"',
    ):
        file.write_text(f"{line}\n")
        ended = bounded.runner("settings")
        assert (ended.code, "runner.toml:1" in ended.err) == (2, True), ended.err


def test_an_implementers_command_that_reads_what_the_sandbox_hides_is_told_the_setting(workplace):
    if not choose_sandbox("auto").encloses:
        pytest.skip("there is no sandbox here")
    beside = workplace.root.parent / "beside.txt"
    beside.write_text("mine\n")
    block = f"```sh run\ncp {beside} b.txt\n```\n"
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command=f"cat {beside} > a.txt"),
        a_task("TASK-002", outputs=["b.txt"]) + "\n" + block,
    )
    ended = workplace.run()
    assert ended.code == 1, ended.said
    reports = [workplace.read(f"artifacts/build/reports/TASK-00{one}.md") for one in (1, 2)]
    for report in reports:
        assert f'sandbox.read = ["{beside}"] in ~/.config/runner/runner.toml' in report
