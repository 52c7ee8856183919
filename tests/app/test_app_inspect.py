"""What a page or another program sees of a project, by the calls that the commands make."""

import json
from pathlib import Path

import pytest
from workplace import PASSES, a_task

from runner.app.inspect.causes import format_cause
from runner.app.inspect.diagnostic import State
from runner.app.inspect.diagnostics import examine
from runner.app.inspect.event_log import follow_log, read_log
from runner.app.inspect.task_inquiry import explain, find_one_task, load_story, next_brief
from runner.app.inspect.task_view import portrait
from runner.app.inspect.validation import validate
from runner.app.inspect.view import View
from runner.app.write.hook_answer import HookCall, judge_call
from runner.app.write.static_checks import analyse_files, find_task_id, list_kept
from runner.app.write.workplace import Workplace
from runner.errors import ExitCode, RunnerError
from runner.journal.events import AttemptFinished, AttemptStarted, TaskBlocked
from runner.model import Ending, Finding, Reason, Status

KEY = "HGFDSAPOIUYTREWQAIKA"[::-1]


@pytest.fixture
def shop(workplace):
    """Three tasks, one after the other."""
    workplace.plan(
        a_task("TASK-001", "One", blocks={"a.txt": "one"}, tests=[PASSES]),
        a_task("TASK-002", "Two", outputs=["b.txt"], command="true", needs=["TASK-001"]),
        a_task("TASK-003", "Three", outputs=["c.txt"], command="true", needs=["TASK-002"]),
    )
    return workplace


@pytest.fixture
def blocked(shop, opened, journaled):
    """TASK-001 failed once, and waits for a person."""
    finding = Finding("TC-001", "1 test failed", "a.txt", 3, hint="mend it")
    spec = find_one_task(opened(), "1").task.spec
    journaled(
        (AttemptStarted(base=shop.head, implementer="blocks", spec=spec), "TASK-001", 1),
        (AttemptFinished(Ending.FAILED, "", 2.0, findings=(finding,)), "TASK-001", 1),
        (TaskBlocked(Reason.CHECKS, "TC-001 failed 1 time", findings=(finding,)), "TASK-001", 1),
    )
    return shop


def test_a_view_says_how_every_task_stands_and_writes_nothing(shop, opened):
    opened().outline()  # what is cached lies outside the project
    before = shop.everything()
    view = View.of(opened())
    assert view.counts() == {Status.PENDING: 3}
    assert [task.id for task in view.ready()] == ["TASK-001"]
    assert view.waits_for(view.tasks[1]) == ("TASK-001",)
    assert shop.everything() == before


def test_a_view_follows_the_journal(blocked, opened):
    view = View.of(opened())
    assert view.counts() == {Status.PENDING: 2, Status.BLOCKED: 1}
    assert (view.note(view.tasks[0]), view.ready()) == ("TC-001 failed 1 time", ())


def test_the_chain_of_causes_ends_where_a_person_can_do_something(blocked, opened):
    cause = explain(find_one_task(opened(), "3"))
    assert (cause.task, [root.task for root in cause.roots]) == ("TASK-003", ["TASK-001"])
    assert "waits for TASK-002" in next(iter(format_cause(cause)))


def test_a_task_that_nobody_knows_is_no_task(shop, opened):
    with pytest.raises(RunnerError, match='unknown task "9"'):
        find_one_task(opened(), "9")


def test_a_task_s_story_has_its_attempts_and_findings(blocked, opened):
    asked = find_one_task(opened(), "TASK-001")
    story = load_story(asked)
    (attempt,) = story.past.attempts
    assert (attempt.number, attempt.ending, attempt.seconds) == (1, "failed", 2.0)
    assert "1 test failed" in "\n".join(portrait(asked.task, asked.view, story.past, story.report))


def test_the_next_brief_has_what_the_last_attempt_failed_by(blocked, opened):
    made = next_brief(find_one_task(opened(), "1"))
    assert (made.brief.attempt, str(made.mode)) == (2, "execute")
    assert "1 test failed" in made.brief.text
    assert {part.name for part in made.brief.parts} >= {"task"}


def test_what_happened_is_read_and_followed(blocked, opened, journaled):
    read = [record.type for record in read_log(opened(), "1")]
    assert read == ["attempt.started", "attempt.finished", "task.blocked"]
    assert list(read_log(opened(), "2")) == []
    following = follow_log(opened())
    assert [next(following).type for _ in read] == read
    journaled((TaskBlocked(Reason.CHECKS, "again"), "TASK-002", 0))
    assert next(following).task == "TASK-002"


def test_what_is_followed_begins_with_the_newest_and_ends_after_so_many(blocked, opened, journaled):
    newest, first = follow_log(opened(), last=1), follow_log(opened(), first=2)
    assert next(newest).type == "task.blocked"
    assert [record.type for record in first] == ["attempt.started", "attempt.finished"]
    nothing_yet = follow_log(opened(), last=0)
    journaled((TaskBlocked(Reason.CHECKS, "again"), "TASK-002", 0))
    assert [next(newest).task, next(nothing_yet).task] == ["TASK-002"] * 2


def test_every_mistake_of_a_plan_is_found_at_once(shop, opened):
    assert validate(opened()).code is ExitCode.OK
    shop.edit_plan("- Depends on: TASK-002", "- Depends on: TASK-007")
    shop.edit_plan("- Command: `true`", "- Command: `true`\n- Implementer: nobody")
    found = validate(opened())
    assert (found.code, found.errors, found.tasks) == (ExitCode.USAGE, 2, 3)
    text = " ".join(problem.message for problem in found.problems)
    assert "TASK-007" in text
    assert 'unknown implementer "nobody"' in text


def test_doctor_looks_at_machine_repository_and_plan(shop, alone):
    environ = {"HOME": str(alone), "PATH": "/usr/bin:/bin"}
    found = {one.name: one for one in examine(shop.root, environ, None)}
    assert {"python", "git", "repository", "branch", "journal", "trust"} <= set(found)
    assert (found["branch"].text, found["journal"].text) == ("main", "none yet")
    assert found["trust"].state is State.NOTE
    nowhere = {one.name: one for one in examine(Path("/"), environ, None)}
    assert nowhere["repository"].state is State.MISSING


# --- single files ---------------------------------------------------------------------


@pytest.fixture
def here(shop, alone):
    return Workplace.of(shop.root, {"HOME": str(alone), "PATH": "/usr/bin:/bin"})


def test_analysis_is_kept_in_the_history_of_its_task(shop, here):
    shop.write({"app.py": "import subprocess\nsubprocess.run('ls', shell=True)\n", "a.bin": b"\0"})
    files = [str(shop.root / name) for name in ("app.py", "a.bin", "none.py")]
    came = analyse_files(here, files, "TASK-001", None)
    assert [one.path for one in came.unreadable] == [files[2]]
    assert (came.lost, came.none_seen) == (None, False)
    assert {one.path for one in came.report.findings} == {"app.py"}
    assert came.report.notes
    kept = list_kept(here, "1")
    assert {one.finding.path for one in kept if one.finding.severity != "note"} == {"app.py"}
    assert {(one.task, one.attempt) for one in kept} == {("TASK-001", 0)}
    assert list_kept(here, "2") == ()


def test_a_task_that_the_plan_does_not_know_is_scanned_for_all_the_same(here):
    assert find_task_id(here, "1") == ("TASK-001", None)
    id_, unknown = find_task_id(here, "TASK-012")
    assert (id_, isinstance(unknown, RunnerError)) == ("TASK-012", True)


def call(shop, tool, **arguments):
    said = {"cwd": str(shop.root), "tool_name": tool, "tool_input": arguments}
    return HookCall(json.dumps(said).encode(), shop.root)


def test_a_hook_lets_a_write_pass_or_says_why_not(shop, here):
    environ = {**here.environ, "RUNNER_TASK": "TASK-002"}
    path = str(shop.root / "b.txt")
    assert judge_call(call(shop, "Write", file_path=path, content="two\n"), environ).is_allowed
    outside = judge_call(call(shop, "Write", file_path="a.txt", content="x\n"), environ)
    assert [one.path for one in outside.findings] == ["a.txt"]
    secret = judge_call(call(shop, "Write", file_path=path, content=f"key = '{KEY}'\n"), environ)
    assert not secret.is_allowed
    assert KEY not in str(secret.findings)
    assert not shop.has("b.txt")


def test_a_hook_refuses_what_is_no_call(shop, here):
    with pytest.raises(RunnerError, match="is not a tool call"):
        judge_call(HookCall(b"hello", shop.root), here.environ)


def test_a_call_that_only_reads_is_nobody_s_business(shop, here):
    assert judge_call(call(shop, "Read", file_path="a.txt"), here.environ).is_allowed
