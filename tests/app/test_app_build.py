"""A project is begun, checked, built, looked at and cancelled by calls alone: no command line."""

import json
import os
import subprocess
import sys
import time
from threading import Thread

import pytest
from workplace import NO_PROOF, a_task

from runner import effects
from runner.app.answer.cancel_and_retry import cancel
from runner.app.build.build import build, find_nothing_to_do, preview
from runner.app.build.build_request import BuildRequest
from runner.app.build.command_batch import run_for_tasks
from runner.app.build.demo import init
from runner.app.build.saved_proposal import SavedProposal, read_saved, save_plan, save_proposal
from runner.app.build.task_trial import try_one_task
from runner.app.inspect.validation import validate
from runner.app.prove.verified_tree import Moment, carry_known, find_unverified_tasks
from runner.errors import ExitCode, RunnerError
from runner.model import Status
from runner.run.review import Answer, Reply
from runner.run.selection import Selection

TRUSTED = BuildRequest(trusted=True)
TWO = (
    a_task("TASK-001", blocks={"a.txt": "one\n"}, tests=("grep -q one a.txt",)),
    a_task("TASK-002", needs=["TASK-001"], blocks={"b.txt": "two\n"}, fields=[NO_PROOF]),
)


@pytest.fixture
def shop(workplace):
    """A plan of two tasks, the second after the first."""
    workplace.plan(*TWO)
    return workplace


@pytest.fixture
def ready(opened):
    """The project as it is now, for quick runs: no sandbox, one job."""
    return lambda **flags: opened(sandbox="none", jobs=1, **flags)


# --- begin, and check -----------------------------------------------------------------


def test_a_project_begins_with_three_files_and_keeps_those_that_are_there(workplace, opened):
    workplace.write({"PATTERN_INDEX.md": "# mine\n"})
    assert init(workplace.root, os.environ).written == {
        "TASK-GRAPH.md": True,
        "FILE_OWNERSHIP_MAP.md": True,
        "PATTERN_INDEX.md": False,
    }
    assert workplace.read("PATTERN_INDEX.md") == "# mine\n"
    assert validate(opened()).code is ExitCode.OK
    with pytest.raises(RunnerError, match="a plan already exists"):
        init(workplace.root, os.environ)


def test_a_plan_s_mistakes_are_values_with_their_places(shop, opened):
    shop.edit_plan("Depends on: TASK-001", "Depends on: TASK-009")
    found = validate(opened())
    assert (found.code, found.plan, found.tasks) == (ExitCode.USAGE, "TASK-GRAPH.md", 2)
    (mistake,) = (one for one in found.problems if one.is_error)
    assert "TASK-009" in mistake.message
    assert "TASK-009" in shop.read("TASK-GRAPH.md").splitlines()[mistake.line - 1]


# --- build ----------------------------------------------------------------------------


def test_a_run_gives_what_it_came_to_and_tells_every_event(shop, ready, console):
    ended = []
    result = build(ready(), TRUSTED, console, at_end=ended.append)
    assert ended == [result]
    assert result.code is ExitCode.OK
    assert result.summary.counts == {Status.DONE: 2}
    assert result.summary.unproven == ("TASK-002",)
    assert [task.id for task in result.tasks] == ["TASK-001", "TASK-002"]
    assert result.state.task("TASK-001").commit
    assert [task for kind, task in console.kinds if kind == "TaskLanded"] == [
        "TASK-001",
        "TASK-002",
    ]
    assert console.kinds[0][0] == "RunStarted"
    assert console.kinds[-1][0] == "RunFinished"
    assert list(console.work.needs) == ["TASK-001", "TASK-002"]
    assert shop.landings == ["TASK-001", "TASK-002"]


def test_whether_there_is_anything_to_do_is_asked_before(shop, ready, console):
    assert find_nothing_to_do(ready(), TRUSTED) is None
    build(ready(), TRUSTED, console)
    done = find_nothing_to_do(ready(), TRUSTED)
    assert (done.code, done.tasks, done.notes) == (ExitCode.OK, 2, ())
    for other in ({"always": True}, {"reopen": True}, {"selection": Selection(ids=("1",))}):
        assert find_nothing_to_do(ready(), BuildRequest(**other)) is None


def test_git_is_asked_once_before_and_once_after_what_files_differ(shop, ready, console):
    asked = []

    def watch(kind, target):
        asked.append(target) if kind == "git" else None

    effects.watch(watch)
    try:
        assert build(ready(), TRUSTED, console).code is ExitCode.OK
        told = list(asked)
        project = ready()
        tasks = project.outline().tasks
        assert find_unverified_tasks(project, tasks, project.state()) == {}
        assert asked == told, "what the run knew is known"
        shop.write({"a.txt": "one, and by hand\n"})
        assert set(find_unverified_tasks(project, tasks, project.state())) == {"TASK-001"}
    finally:
        effects.unwatch(watch)
    assert told.count("status") == 2, told
    assert asked.count("status") == 3


def test_what_was_known_is_not_carried_over_events_of_others(shop, ready, console):
    build(ready(), TRUSTED, console)
    project = ready()
    head, state = project.head().commit, project.state()
    kept = (project.cache / "bytes-as-proven.json").read_bytes()
    carry_known(project, Moment(head, state.seq), Moment(head, state.seq + 2, others=1))
    carry_known(project, Moment(head, state.seq + 1), Moment(head, state.seq + 2))
    assert (project.cache / "bytes-as-proven.json").read_bytes() == kept
    carry_known(project, Moment(head, state.seq), Moment("f" * 40, state.seq + 2))
    assert (project.cache / "bytes-as-proven.json").read_bytes() != kept


def test_only_what_is_selected_is_built(shop, ready, console):
    result = build(ready(), BuildRequest(Selection(ids=("1",)), trusted=True), console)
    assert [task.id for task in result.tasks] == ["TASK-001"]
    assert result.summary.counts == {Status.DONE: 1, Status.PENDING: 1}
    assert result.summary.waiting == (("TASK-002", ()),)


def test_a_plan_with_mistakes_is_not_built(shop, ready, console):
    shop.edit_plan("Depends on: TASK-001", "Depends on: TASK-009")
    with pytest.raises(RunnerError, match="the plan has 1 mistake; nothing has run"):
        build(ready(), TRUSTED, console)
    assert not shop.has("artifacts/build/journal.jsonl")


def test_what_begins_on_a_plan_with_mistakes_tells_all_that_validate_does(shop, ready, console):
    shop.edit_plan("Depends on: TASK-001", "Depends on: TASK-009")
    more = (
        a_task("TASK-003", outputs=["c.txt"], fields=["Implementer: nobody"]),
        a_task("TASK-004", outputs=["d.txt"], command="true", fields=["Uses: gpu 2"]),
        a_task("TASK-005", blocks={"e.txt": "e\n"}, fields=["Contracts: shape: `x`"]),
    )
    shop.write({"TASK-GRAPH.md": shop.read("TASK-GRAPH.md") + "\n" + "\n".join(more)})
    shop.write({"runner.toml": "[resources]\ngpu = 1\n"})
    told = [one.message for one in validate(ready()).problems if one.is_error]
    assert len(told) >= 4
    begin = (
        lambda: build(ready(), TRUSTED, console),
        lambda: preview(ready(), TRUSTED, console),
        lambda: try_one_task(ready(), "TASK-001", console, trusted=True),
        lambda: run_for_tasks(ready(), ["1"], "true", print, print),
    )
    for call in begin:
        with pytest.raises(RunnerError, match=f"the plan has {len(told)} mistakes") as met:
            call()
        assert [one for one in told if one not in met.value.detail] == []


def test_uncommitted_work_of_a_person_is_not_built_beside_unless_they_say_so(shop, ready, console):
    shop.commit({"mine.txt": "as it was\n"})
    shop.write({"mine.txt": "not finished\n"})
    with pytest.raises(RunnerError, match="there are uncommitted changes"):
        build(ready(), TRUSTED, console)
    allowed = BuildRequest(trusted=True, allow_dirty=True)
    assert build(ready(), allowed, console).code is ExitCode.OK
    assert any("tasks can't see it" in line and "mine.txt" in line for line in console.said)
    assert shop.read("mine.txt") == "not finished\n"


# --- a person is asked ----------------------------------------------------------------


def test_without_a_word_of_trust_nothing_runs(shop, ready, console, person):
    with pytest.raises(RunnerError) as refused:
        build(ready(), BuildRequest(), console)
    assert refused.value.code is ExitCode.PERSON
    with pytest.raises(RunnerError):
        build(ready(), BuildRequest(), console, person(words=["n"]))
    assert shop.landings == []
    ada = person(words=["y"])
    assert build(ready(), BuildRequest(), console, ada).code is ExitCode.OK
    assert "grep -q one a.txt" in ada.asked[0]
    assert find_nothing_to_do(ready(), BuildRequest()) is not None


def test_a_person_reviews_each_proposed_write(shop, ready, console, person, monkeypatch):
    monkeypatch.setenv("LOGNAME", "ada")
    ada = person(changes=[Reply(Answer.APPROVED), Reply(Answer.WAITS)])
    result = build(ready(review="prompt"), TRUSTED, console, ada)
    assert ada.asked == [("TASK-001", "a.txt"), ("TASK-002", "b.txt")]
    assert result.code is ExitCode.PERSON
    assert result.state.task("TASK-001").status is Status.DONE
    (waits,) = result.summary.blocked
    assert waits.id == "TASK-002"
    assert waits.next.startswith("`runner review` shows what needs")
    assert not shop.has("b.txt")
    bob = person(changes=[Reply(Answer.APPROVED)])
    assert build(ready(review="prompt"), TRUSTED, console, bob).code is ExitCode.OK
    assert bob.asked == [("TASK-002", "b.txt")]
    assert shop.read("b.txt") == "two\n"
    journal = map(json.loads, (shop.root / "artifacts/build/journal.jsonl").open())
    said = {one["type"]: one["producer"] for one in journal}
    assert said["write.reviewed"].endswith(" via terminal by ada")
    assert " via " not in said["task.done"]


def test_what_a_person_edits_is_what_lands(shop, ready, console, person):
    edited = Reply(Answer.EDITED, content=b"one, as Ada has it\n")
    ada = person(changes=[edited, Reply(Answer.APPROVED), Reply(Answer.APPROVED)])
    assert build(ready(review="prompt"), TRUSTED, console, ada).code is ExitCode.OK
    assert shop.read("a.txt") == "one, as Ada has it\n"


def test_a_secret_in_what_a_person_edits_reaches_no_file_and_no_object(
    shop, ready, console, person
):
    key = "gh" + "p_" + "A1b2C3d4E5" * 3 + "F6g7H8"
    edited = Reply(Answer.EDITED, content=f"one {key}\n".encode())
    ada = person(changes=[edited, Reply(Answer.WAITS)])
    only = BuildRequest(Selection(only=("1",)), trusted=True)
    result = build(ready(review="prompt"), only, console, ada)
    assert [one.note for one in result.summary.blocked] == ["secret-scan failed"]
    assert key.encode() not in shop.objects()
    assert not any(key.encode() in seen[3] for seen in shop.everything().values())


def test_a_done_task_that_is_gone_from_the_plan_is_asked_about_once(shop, ready, console, person):
    build(ready(), TRUSTED, console)
    shop.plan(TWO[0], a_task("TASK-003", blocks={"c.txt": "three\n"}, fields=[NO_PROOF]))
    with pytest.raises(RunnerError, match="TASK-002 was DONE and is no longer in the plan"):
        build(ready(), TRUSTED, console)
    ada = person(words=["yes"])
    assert build(ready(), TRUSTED, console, ada).code is ExitCode.OK
    assert ada.asked[0].startswith("\nTASK-002 was DONE and is no longer")
    assert find_nothing_to_do(ready(), TRUSTED) is not None


# --- look before, and do exactly that -------------------------------------------------


def test_a_preview_says_the_order_and_the_commands_and_touches_nothing(shop, ready, console):
    before = shop.everything()
    seen = preview(ready(), TRUSTED, console)
    assert seen.foresight.forecast.order == ("TASK-001", "TASK-002")
    assert seen.foresight.commands["TASK-001"] == ("grep -q one a.txt",)
    assert shop.everything() == before


def test_a_saved_plan_is_done_exactly_or_refused(shop, ready, console, tmp_path):
    file = tmp_path / "plan.json"
    seen = preview(ready(), BuildRequest(Selection(ids=("1",))), console)
    save_plan(file, ready(), seen.reading, seen.selection, seen.foresight)
    request = BuildRequest(saved=read_saved(file), trusted=True)
    assert [task.id for task in build(ready(), request, console).tasks] == ["TASK-001"]
    with pytest.raises(RunnerError, match="the saved plan is out of date") as refused:
        build(ready(), request, console)
    assert refused.value.code is ExitCode.CONFLICT


def test_a_trial_of_one_task_lands_nothing_and_its_bytes_can_land_later(
    shop, ready, console, tmp_path
):
    file, head = tmp_path / "trial.json", shop.head
    found = try_one_task(ready(), "1", console, trusted=True)
    assert found.code is ExitCode.OK
    assert [one.content for one in found.trial.outcome.changes] == [b"one\n"]
    assert found.before == {"a.txt": None}
    assert (shop.head, shop.has("a.txt")) == (head, False)
    with pytest.raises(RunnerError, match="TASK-002 depends on unfinished tasks: TASK-001"):
        try_one_task(ready(), "2", console, trusted=True)
    save_proposal(file, ready(), found.trial)
    saved = read_saved(file)
    assert isinstance(saved, SavedProposal)
    request = BuildRequest(saved=saved, trusted=True)
    assert build(ready(), request, console).summary.landed == 1
    assert shop.read("a.txt") == "one\n"


# --- beside a run ---------------------------------------------------------------------


def test_an_attempt_is_cancelled_and_the_run_goes_on_with_the_others(workplace, ready, console):
    slow = a_task("TASK-001", outputs=["a.txt"], command="sleep 60", fields=[NO_PROOF])
    other = a_task("TASK-002", blocks={"b.txt": "two\n"}, fields=[NO_PROOF])
    workplace.plan(slow, other)
    with pytest.raises(RunnerError, match="no run is active in this folder"):
        cancel(ready(), "1")
    ended = []
    run = Thread(target=lambda: ended.append(build(ready(), TRUSTED, console)))
    run.start()
    until = time.monotonic() + 30
    while ("AttemptStarted", "TASK-001") not in console.kinds and time.monotonic() < until:
        time.sleep(0.05)
    known = cancel(ready(), "1")
    run.join(30)
    assert known.status is Status.BLOCKED
    (result,) = ended
    assert result.state.task("TASK-002").status is Status.DONE
    assert [one.id for one in result.summary.blocked] == ["TASK-001"]


def test_one_command_runs_for_several_tasks(shop, ready):
    came, said = [], []
    line = 'test "$RUNNER_TASK" = TASK-001'
    done = run_for_tasks(ready(), ["1", "2"], line, came.append, said.append)
    assert [one.ran.passed for one in done.came] == [True, False]
    assert (done.code, done.head, said) == (ExitCode.FAILED, shop.head, [])
    assert {one.task.id for one in came} == {"TASK-001", "TASK-002"}


_COUNTED = (
    "import sys; bare = set(sys.modules); from runner.cli import main; code = main(sys.argv[1:]);"
    "print(code, len(sys.modules.keys() - bare), sorted({'git', 'subprocess', 'networkx',"
    " 'markdown_it', 'runner.repo.read', 'runner.run.engine'} & set(sys.modules)))"
)
MOST_MODULES = 170
"""What a run with nothing to do may load; an interpreter alone has 33 (203 together).

Seven came with the table of operations and the list of extensions: a run's own row, and flags.
Twenty-two are msgspec's and of the standard library for it; it takes less time than dataclasses."""


def _count_modules(place):
    """Exit code, modules, and what of the heavy ones: a process of its own, after a first one."""
    words = ("run", "--trust", "--no-sandbox")
    for _ in range(2):
        argv = [sys.executable, "-c", _COUNTED, *words]
        done = subprocess.run(argv, cwd=place.root, capture_output=True, text=True, check=True)
        said = done.stdout.splitlines()[-1].split(" ", 2)
    code, count, heavy = said
    return int(code), int(count), heavy, done.stderr


def test_a_run_with_nothing_to_do_loads_neither_git_nor_what_proves(shop, ready, console):
    build(ready(), TRUSTED, console)
    code, built, heavy, _ = _count_modules(shop)
    assert (code, heavy) == (0, "[]")
    assert built <= MOST_MODULES


_LOADED = (
    "import sys; bare = set(sys.modules); from runner.cli import main; code = main(sys.argv[1:]);"
    "print(code, len(sys.modules.keys() - bare), sorted({'pydantic', 'networkx', 'markdown_it',"
    " 'rich', 'bandit', 'runner.plan.foreign', 'runner.app.inspect.missing_references'}"
    " & set(sys.modules)))"
)
MOST_MODULES_OF_A_CHECK = 508
"""What a run of one check may load; of GitPython only what starts a git. Fourteen came with links
of packages, installed copies, submodules, included files, index lock and document gates."""


def test_a_run_of_one_check_loads_nothing_that_it_does_not_need(workplace):
    workplace.plan(a_task("TASK-001", tests=("true",)))
    argv = [sys.executable, "-c", _LOADED, "run", "--trust", "--no-sandbox"]
    done = subprocess.run(argv, cwd=workplace.root, capture_output=True, text=True, check=True)
    code, count, heavy = done.stdout.splitlines()[-1].split(" ", 2)
    assert (code, heavy) == ("0", "[]"), done.stderr
    assert int(count) <= MOST_MODULES_OF_A_CHECK


def test_nor_where_a_person_s_word_is_all_that_says_done(workplace):
    workplace.plan(a_task("TASK-001", status="DONE", tests=("true",)))
    workplace.run("--no-sandbox")
    code, told, heavy, said = _count_modules(workplace)
    assert (code, heavy) == (0, "[]")
    assert "the whole tree is not verified" in said
    assert told <= MOST_MODULES


def test_nor_where_the_tree_was_verified_before_the_last_commit(shop, ready, console):
    build(ready(), TRUSTED, console)
    shop.commit({"new.txt": "a person's\n"})
    shop.run("--no-sandbox", "--no-verify-at-end")
    code, told, heavy, said = _count_modules(shop)
    assert (code, heavy) == (0, "[]")
    assert "the whole tree is not verified since" in said
    assert told <= MOST_MODULES
