"""What stays of an agent's work when its last attempts come to nothing, and what is said of it."""

from scripted_agent import OVERLOADED, Script, writes
from workplace import a_task

from runner.implementers.base import WorkResult
from runner.journal.session_events import ToolCalled
from runner.model import Failure, Finding, Usage

GOOD = writes({"a.txt": "good\n"})
BAD = writes({"a.txt": "bad\n"})
REPORT = "artifacts/build/reports/TASK-001.md"


def one_task(workplace, *tests, **fields):
    tests = tests or ("grep -q good a.txt",)
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], tests=tests, **fields))


def test_what_an_attempt_left_is_kept_though_the_last_ones_came_to_nothing(workplace, monkeypatch):
    script = Script({"TASK-001": [BAD, OVERLOADED]}).installed(monkeypatch)
    one_task(workplace)
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 5
    line = workplace.status_line("TASK-001")
    assert "the provider is overloaded (4 of 5 attempts); work kept on draft/TASK-001-work" in line
    assert workplace.git("show", "draft/TASK-001-work:a.txt") == "bad"
    assert "attempt 1 did not pass" in workplace.git(
        "log", "-1", "--format=%s", "draft/TASK-001-work"
    )
    report = workplace.read(REPORT)
    assert "## Checks of attempt 1\n\n- TC-001 **fails**: `grep -q good a.txt`" in report
    assert "- implementer: the provider is overloaded" in report
    assert "- TC-001: " in report.partition("## Open")[2]
    assert all("+bad" in brief.previous for brief, _ in script.attempts()[1:])
    assert "next: `runner retry TASK-001` later" in ended.out
    assert "or finish draft/TASK-001-work (`runner adopt TASK-001`)" in ended.out
    assert workplace.git("for-each-ref", "refs/runner/tried") == ""


def test_it_is_kept_over_a_crash_too(workplace, monkeypatch):
    def crashes(_bench):
        raise KeyboardInterrupt

    Script({"TASK-001": [BAD, crashes]}).installed(monkeypatch)
    one_task(workplace)
    assert workplace.run().code == 130
    assert workplace.branches == ["main"]
    Script({"TASK-001": [OVERLOADED]}).installed(monkeypatch)
    assert workplace.run().code == 3
    assert workplace.git("show", "draft/TASK-001-work:a.txt") == "bad"
    assert "## Checks of attempt 1\n" in workplace.read(REPORT)


def test_what_landed_in_the_end_leaves_nothing_behind(workplace, monkeypatch):
    Script({"TASK-001": [BAD, OVERLOADED, GOOD]}).installed(monkeypatch)
    one_task(workplace)
    assert workplace.run().code == 0
    assert workplace.branches == ["main"]
    assert workplace.git("for-each-ref", "refs/runner/tried") == ""


def test_a_block_is_only_said_to_be_over_where_something_was_missing(workplace, monkeypatch):
    refused = WorkResult(
        findings=(Finding("implementer", "401 unauthorized", hint="log in with the program"),),
        failure=Failure.DETERMINISTIC,
    )
    script = Script({"TASK-001": [refused, GOOD]}).installed(monkeypatch)
    one_task(workplace)
    ended = workplace.run()
    assert "next: log in with the program; then `runner retry TASK-001`" in ended.out
    assert workplace.run("-n").out == "nothing would run\n"
    assert workplace.run().code == 3
    assert len(script.told) == 1, "nothing says that a key is there now"
    assert workplace.run("TASK-001").code == 0


# --- how often, and why ---------------------------------------------------------------


def test_a_check_is_said_to_have_failed_as_often_as_it_did(workplace, monkeypatch):
    steps = [writes({"b.txt": "x"}), writes({"a.txt": "1"}), writes({"a.txt": "2"})]
    Script({"TASK-001": steps}).installed(monkeypatch)
    one_task(workplace)
    assert workplace.run().code == 1
    line = workplace.status_line("TASK-001")
    assert "3 attempts failed, the last because of TC-001; work kept on" in line


def test_a_command_that_gives_the_same_bytes_again_is_called_twice(workplace):
    one_task(workplace, command="echo bad > a.txt")
    ended = workplace.run()
    assert ended.code == 1, ended.said
    assert [one["attempt"] for one in workplace.happened("attempt.finished")] == [1, 2]
    line = workplace.status_line("TASK-001")
    assert "TC-001 failed twice; attempts 1 and 2 produced identical files" in line


# --- budgets --------------------------------------------------------------------------


def calls(count, **said):
    """A step that calls so many tools, and says after each what it has used."""

    def step(context):
        for number in range(1, count + 1):
            context.record(ToolCalled("read", "0" * 64, Usage(100 * number, tool_calls=number)))
        usage = Usage(100 * count, tool_calls=count)
        return WorkResult(usage=usage, **said)

    return step


def test_limits_of_an_attempt_warn_while_it_goes_on(workplace, monkeypatch):
    def goes_on(context):
        calls(4)(context)
        (context.place.tree / "a.txt").write_text("good\n")
        return WorkResult(usage=Usage(500, tool_calls=5))

    Script({"TASK-001": [goes_on]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUDGET_ATTEMPT_TOOL_CALLS", "5")
    one_task(workplace, fields=["Budget: 500 tokens"])
    ended = workplace.run()
    assert ended.code == 0, ended.said
    near = "has used at least 80% of a limit"
    assert ended.err.count(f"attempt 1 of TASK-001 {near}: 4 of 5 tool calls") == 1
    assert ended.err.count(f"TASK-001 {near}: 400 of 500 tokens") == 1


def test_two_attempts_that_a_budget_ended_are_no_circle(workplace, monkeypatch):
    told = Finding("budget", "the budget allows no more than 5 tool calls", hint="raise attempt_x")
    script = Script({"TASK-001": [calls(5, findings=(told,))]}).installed(monkeypatch)
    one_task(workplace)
    ended = workplace.run()
    assert ended.code == 5, ended.said
    assert len(script.told) == 3
    assert workplace.happened("task.blocked")[-1]["reason"] == "budget"
    assert "no more than 5 tool calls (3 attempts)" in workplace.status_line("TASK-001")
    assert "next: raise attempt_x; then `runner retry TASK-001`" in ended.out
    assert workplace.run().code == 5
    assert len(script.told) == 3, "it would only end there again"


def test_the_limit_that_ends_it_is_named_by_its_setting(workplace, monkeypatch):
    script = Script({"TASK-001": [GOOD]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUDGET_ATTEMPT_TOOL_CALLS", "5")
    monkeypatch.setenv("RUNNER_BUDGET_RUN_TOKENS", "900")
    one_task(workplace, fields=["Budget: $2, 1000 tokens"])
    assert workplace.run().code == 0
    left = script.attempts()[0][1].left
    assert left.to_raise("tool_calls") == "raise budget.attempt_tool_calls in your settings"
    assert left.to_raise("tokens") == "raise budget.run_tokens in your settings"
    assert left.to_raise("dollars") == "raise the task's Budget"


# --- before anything begins -----------------------------------------------------------


def test_a_program_that_is_not_there_is_missed_before_an_attempt(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    one_task(workplace, fields=["Implementer: claude"])
    monkeypatch.setattr("runner.implementers.agents.home.which", lambda *_: None)
    assert workplace.run().code == 3
    assert workplace.happened("attempt.started") == []
    assert "BLOCKED — claude is not on PATH" in workplace.status_line("TASK-001")
    assert workplace.run().code == 3
    assert workplace.happened("task.approved") == [], "it is not there yet"


def test_a_draft_that_nobody_touched_goes_when_its_task_is_done(workplace):
    cases = ("untouched", "committed to", "amended", "checked out")
    drafts = {f"TASK-00{n}": f"draft/TASK-00{n}-work" for n in range(1, 5)}
    workplace.plan(
        *(
            a_task(id_, outputs=[id_], command=f"echo bad > {id_}", tests=[f"grep good {id_}"])
            for id_ in drafts
        )
    )
    assert workplace.run().code == 1
    for kept, (id_, draft) in zip(cases, drafts.items(), strict=True):
        beside = workplace.root.parent / id_
        if kept != "untouched":
            workplace.git("worktree", "add", "-q", str(beside), draft)
        if kept in ("committed to", "amended"):
            word = ["--amend", "-m", "better"] if kept == "amended" else ["-m", "mine"]
            workplace.git("-C", str(beside), "commit", "-q", "--allow-empty", *word)
            workplace.git("worktree", "remove", str(beside))
    tips = {id_: workplace.git("rev-parse", draft) for id_, draft in drafts.items()}
    for id_ in drafts:
        workplace.edit_plan(f"echo bad > {id_}", f"echo good > {id_}")
    ended = workplace.run()
    assert (ended.code, set(workplace.statuses.values())) == (0, {"DONE"}), ended.said
    for kept, (id_, draft) in zip(cases, drafts.items(), strict=True):
        assert (draft in workplace.branches) is (kept != "untouched"), kept
        assert kept == "untouched" or workplace.git("rev-parse", draft) == tips[id_], kept
        assert draft not in workplace.runner("show", id_).out
    assert workplace.git("for-each-ref", "refs/runner/drafts") == ""


def test_the_draft_of_a_run_that_was_killed_as_it_ended_goes_with_the_next(workplace):
    bad = {"outputs": ["a.txt"], "command": "echo bad > a.txt", "tests": ["grep good a.txt"]}
    workplace.plan(a_task("TASK-001", **bad), a_task("TASK-002", "Other", **bad))
    assert workplace.run().code == 1
    line = workplace.status_line("TASK-001")
    workplace.edit_plan(line, "- Status: DONE")  # with nothing of ours having seen it become so
    workplace.run()
    assert workplace.branches == ["draft/TASK-002-other", "main"]
