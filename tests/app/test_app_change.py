"""What was built is asked about, changed and taken back, without a command line."""

import json
from operator import attrgetter

import pytest
from built import build, copy, opened_at
from workplace import NO_PROOF, PASSES, a_task

from runner.app.build.build_run import apply_directives
from runner.app.build.session import Session
from runner.app.change.commit_writes import CommitRequest, commit_by_task
from runner.app.change.file_owners import BlameRequest, blame, check_map, find_owners, propose_rows
from runner.app.change.impact_question import ImpactRequest, find_impact
from runner.app.change.rebuild import find_landed, rebuild
from runner.app.change.transaction import (
    ChangeRequest,
    ReplayRequest,
    UndoRequest,
    change,
    replay,
    undo,
)
from runner.app.inspect.view import View
from runner.app.prove.prove_tree import reprove
from runner.app.prove.ship_and_tag import ShipRequest, ship
from runner.errors import ExitCode, RunnerError
from runner.model import digest_of

ONE = "one\ntwo\nthree\nfour\nfive\nsix\n"
TWO = ONE.replace("six", "six\nseven")
TASKS = (
    a_task("TASK-001", "First", blocks={"a.txt": ONE}, tests=["grep -q one a.txt"]),
    a_task("TASK-002", "Second", needs=["TASK-001"], blocks={"a.txt": TWO}, tests=[PASSES]),
    a_task("TASK-003", "Third", needs=["TASK-001"], blocks={"c.txt": "c\n"}, fields=[NO_PROOF]),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return build(tmp_path_factory.mktemp("change"), *TASKS)


@pytest.fixture
def shop(template, tmp_path, alone):
    """Three tasks that were built: TASK-002 goes on with a file of TASK-001, TASK-003 is alone."""
    return copy(template, tmp_path / "shop", alone)


def statuses(place):
    view = View.of(opened_at(place))
    return {id_: str(view.status(id_)) for id_ in view.states}


def files(place):
    """Every file but git's objects: what would be merged is written there, and nobody sees it."""
    return {at: seen for at, seen in place.everything().items() if "/.git/objects" not in at}


# --- undo -----------------------------------------------------------------------------


def test_an_undone_task_is_pending_and_its_file_is_gone(shop):
    done = undo(opened_at(shop), UndoRequest("3", reason="too  slow"))
    assert done.commit == shop.git("rev-parse", "HEAD~1")  # the record comes behind it
    assert done.back.tasks == ("TASK-003",)
    assert not shop.has("c.txt")
    assert statuses(shop)["TASK-003"] == "PENDING"
    assert "undone: too slow" in shop.status_line("TASK-003")
    assert shop.dirt == []


def test_an_undo_that_is_only_looked_at_writes_nothing(shop):
    before = files(shop)
    looked = undo(opened_at(shop), UndoRequest("TASK-003", dry_run=True))
    assert [one.path for one in looked.back.changes] == ["c.txt"]
    assert looked.commit == ""
    assert files(shop) == before


def test_an_undo_stops_at_lines_that_somebody_built_on(shop):
    shop.commit({"a.txt": TWO.replace("six", "SIX")})
    before = shop.head
    with pytest.raises(RunnerError) as told:
        undo(opened_at(shop), UndoRequest("TASK-002"))
    assert told.value.code is ExitCode.CONFLICT
    assert (shop.head, statuses(shop)["TASK-002"]) == (before, "DONE")


def test_a_reason_brings_no_secret_into_a_commit(shop):
    key = "ghp_" + "aB3" * 12
    done = undo(opened_at(shop), UndoRequest("TASK-003", reason=f"used {key}"))
    assert key not in shop.git("show", "-s", "--format=%B", done.commit)


def test_undo_stops_where_unsaved_work_is_in_the_way(shop):
    shop.write({"c.txt": "mine\n"})
    with pytest.raises(RunnerError, match="uncommitted changes are in the way"):
        undo(opened_at(shop), UndoRequest("TASK-003"))
    assert shop.read("c.txt") == "mine\n"


def test_undo_stops_where_git_filters_a_file_by_whatever_attributes(shop):
    shop.write({".git/info/attributes": "c.txt filter=lfs\n"})
    with pytest.raises(RunnerError, match=r"git filters \(LFS\) apply to these files"):
        undo(opened_at(shop), UndoRequest("TASK-003"))
    assert shop.read("c.txt") == "c\n"


# --- replay ---------------------------------------------------------------------------


def test_a_replay_brings_back_the_code_right_after_a_task(shop):
    head = shop.head
    seen = replay(opened_at(shop), ReplayRequest("1", dry_run=True))
    assert (seen.task, seen.commit, shop.head) == ("TASK-001", "", head)
    done = replay(opened_at(shop), ReplayRequest("1", head=seen.replay.back.head))
    assert done.commit
    assert shop.read("a.txt") == ONE
    assert statuses(shop) == {"TASK-001": "DONE", "TASK-002": "PENDING", "TASK-003": "PENDING"}
    assert shop.git("rev-parse", f"refs/runner/{done.replay.back.kept}") == head


def test_a_replay_stops_where_the_branch_moved_since_it_was_looked_at(shop):
    seen = replay(opened_at(shop), ReplayRequest("1", dry_run=True))
    moved = shop.commit({"mine.txt": "mine\n"})
    with pytest.raises(RunnerError) as told:
        replay(opened_at(shop), ReplayRequest("1", head=seen.replay.back.head))
    assert told.value.code is ExitCode.CONFLICT
    assert shop.head == moved


def test_a_replay_with_nothing_behind_it_makes_no_commit(shop):
    head = shop.head
    done = replay(opened_at(shop), ReplayRequest(shop.landings[-1]))
    assert (done.replay.nothing, done.commit, shop.head) == (True, "", head)


def test_what_landed_is_rebuilt_and_each_step_is_told(shop, heard):
    project, before = opened_at(shop), shop.head
    steps = find_landed(project)
    found = rebuild(project, steps, heard)
    assert [one.task for one in steps][:1] == ["TASK-001"]
    assert [one.divergence for one in found] == ["", "", ""]
    assert tuple(heard.all) == found
    assert (shop.head, shop.dirt) == (before, [])
    assert [one.task for one in find_landed(project, ["2"])] == ["TASK-002"]


def test_a_rebuild_ends_at_the_first_step_that_was_approved_otherwise(shop, heard):
    log = shop.root / "artifacts/build/WRITE_LOG.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    first = find_landed(opened_at(shop))[0].task
    for row in rows:
        if row.get("task") == first and "after" in row:
            row["after"] = digest_of(b"another")
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (only,) = rebuild(opened_at(shop), find_landed(opened_at(shop)), heard)
    assert only.divergence == "a.txt differs from what was approved for attempt 1"


def test_nothing_is_rebuilt_of_a_branch_on_which_nothing_landed(shop):
    shop.git("checkout", "-q", "--detach", shop.git("rev-list", "--max-parents=0", "HEAD"))
    with pytest.raises(RunnerError, match="no such task has landed"):
        find_landed(opened_at(shop))


# --- change ---------------------------------------------------------------------------


def test_a_change_makes_stale_what_was_built_on_the_old_words(shop):
    told = change(opened_at(shop), ChangeRequest(("1",), " all times\n in UTC "))
    assert (told.number, told.change.text) == (1, "all times in UTC")
    assert {one.id for one in told.change.stale} == {"TASK-001", "TASK-002", "TASK-003"}
    assert set(statuses(shop).values()) == {"STALE"}
    assert "all times in UTC" in shop.read("artifacts/build/CHANGES.md")


def test_a_change_that_is_only_looked_at_writes_nothing(shop):
    before = files(shop)
    told = change(opened_at(shop), ChangeRequest(("TASK-003",), "shorter", dry_run=True))
    assert ([one.id for one in told.change.stale], told.number) == (["TASK-003"], 0)
    assert files(shop) == before


@pytest.mark.parametrize(
    ("text", "why"), [("  ", "no change text given"), ("a \x1b[31m b", "control characters")]
)
def test_a_change_without_plain_words_is_refused(shop, text, why):
    with pytest.raises(RunnerError, match=why):
        change(opened_at(shop), ChangeRequest(("TASK-001",), text))
    assert not shop.has("artifacts/build/CHANGES.md")


def test_a_change_waits_for_a_plan_without_mistakes(shop):
    shop.edit_plan("- Depends on: TASK-001", "- Depends on: TASK-001\n- Status: DONE")
    with pytest.raises(RunnerError, match="the plan has 1 mistake; nothing was changed"):
        change(opened_at(shop), ChangeRequest(("TASK-001",), "shorter"))


@pytest.fixture
def meanwhile(monkeypatch):
    """Has somebody do something when a plan was read, and before its lock is held."""

    def arrange(act):
        enter = Session.__enter__

        def after(session):
            monkeypatch.undo()
            act()
            return enter(session)

        monkeypatch.setattr(Session, "__enter__", after)

    return arrange


def test_a_plan_that_is_saved_with_a_mistake_meanwhile_waits_as_well(shop, meanwhile):
    project, before = opened_at(shop), shop.head
    bad = ("- Depends on: TASK-001", "- Depends on: TASK-001\n- Status: DONE")
    meanwhile(lambda: shop.edit_plan(*bad))
    with pytest.raises(RunnerError, match="the plan has 1 mistake; nothing was changed"):
        undo(project, UndoRequest("TASK-003"))
    assert shop.head == before
    assert shop.has("c.txt")


def test_a_ship_hears_of_a_task_that_came_meanwhile(shop, meanwhile, heard):
    project = opened_at(shop)
    text = shop.read("TASK-GRAPH.md") + "\n" + a_task("TASK-004", "Fourth", blocks={"d.txt": "d"})
    meanwhile(lambda: shop.write({"TASK-GRAPH.md": text}))
    with pytest.raises(RunnerError, match="nothing was shipped: TASK-004 is not DONE"):
        ship(project, ShipRequest(unproven=True), heard)


def test_what_is_shipped_meanwhile_is_not_shipped_twice(shop, meanwhile, heard):
    project = opened_at(shop)
    meanwhile(lambda: ship(opened_at(shop), ShipRequest(unproven=True), heard))
    with pytest.raises(RunnerError, match="this plan was already shipped"):
        ship(project, ShipRequest(unproven=True), heard)
    assert len(shop.git("tag").split()) == 1


# --- questions ------------------------------------------------------------------------


def test_each_line_has_the_task_that_wrote_it(shop):
    found = blame(opened_at(shop), BlameRequest("a.txt"))
    assert [(one.first, one.last, one.source.task) for one in found] == [
        (1, 6, "TASK-001"),
        (7, 7, "TASK-002"),
    ]
    (line,) = blame(opened_at(shop), BlameRequest("a.txt", 7))
    assert line.source.task == "TASK-002"


def test_blame_knows_the_change_that_a_task_was_built_for(shop):
    change(opened_at(shop), ChangeRequest(("TASK-003",), "louder"))
    (before,) = blame(opened_at(shop), BlameRequest("c.txt"))
    assert before.source.changes == ()  # it was built on the old words
    with pytest.raises(RunnerError, match="has no line"):
        blame(opened_at(shop), BlameRequest("c.txt", 9))


def test_a_changed_file_may_affect_the_tasks_that_own_it(shop):
    shop.write({"a.txt": "other\n"})
    found = find_impact(opened_at(shop), ImpactRequest())
    assert [one.path for one in found.changes] == ["a.txt"]
    assert {one.task for one in found.answer.affected} == {"TASK-001", "TASK-002"}
    same = find_impact(opened_at(shop), ImpactRequest(paths=("a.txt",)))
    assert same.answer.affected == found.answer.affected
    assert find_impact(opened_at(shop), ImpactRequest(since="HEAD")).answer == found.answer


def test_a_task_is_not_affected_by_what_it_landed_itself(shop):
    found = find_impact(opened_at(shop), ImpactRequest(task="2"))
    assert found.words == "of TASK-002"
    assert {one.task for one in found.answer.affected} == {"TASK-001"}


def test_a_task_that_never_landed_changed_nothing(shop):
    text = shop.read("TASK-GRAPH.md") + "\n" + a_task("TASK-004", blocks={"d.txt": "d\n"})
    shop.commit({"TASK-GRAPH.md": text})
    with pytest.raises(RunnerError, match="TASK-004 has no commit on this branch"):
        find_impact(opened_at(shop), ImpactRequest(task="4"))


def test_several_changes_at_once_are_no_question(shop):
    with pytest.raises(RunnerError, match="more than one change given"):
        find_impact(opened_at(shop), ImpactRequest(since="HEAD", task="TASK-001"))


def test_what_is_affected_runs_on_the_files_as_they_are_now(shop, heard):
    shop.write({"a.txt": "other\n"})
    project = opened_at(shop)
    affected = find_impact(project, ImpactRequest()).answer.affected
    ran = reprove(project, affected, heard)
    assert {(one.task, one.failed) for one in ran} == {("TASK-001", True), ("TASK-002", False)}
    by_task = attrgetter("task")
    assert sorted(heard.all, key=by_task) == sorted(ran, key=by_task)
    assert shop.read("a.txt") == "other\n"


# --- owners ---------------------------------------------------------------------------


def test_owners_are_those_of_the_map_and_of_the_plan(shop):
    found = {one.path: one for one in find_owners(opened_at(shop), ["a.txt", "c.txt"])}
    assert found["a.txt"].owners == ("TASK-001", "TASK-002")
    assert found["c.txt"].outputs == ("TASK-003",)


def test_a_map_with_an_owner_that_no_task_is_has_a_fault(shop):
    assert check_map(opened_at(shop), ["c.txt"]).faults == ()
    text = shop.read("FILE_OWNERSHIP_MAP.md")
    shop.write({"FILE_OWNERSHIP_MAP.md": text.replace("TASK-003", "TASK-009")})
    (fault,) = check_map(opened_at(shop), ["c.txt"]).faults
    assert (fault.kind, fault.path) == ("unknown-owner", "c.txt")


def test_rows_are_written_only_where_that_is_asked_for(shop):
    rows = [line for line in shop.read("FILE_OWNERSHIP_MAP.md").splitlines() if "c.txt" not in line]
    shop.write({"FILE_OWNERSHIP_MAP.md": "\n".join(rows) + "\n"})
    found = propose_rows(opened_at(shop), ["c.txt"])
    assert [(one.path, one.tasks) for one in found.rows] == [("c.txt", ("TASK-003",))]
    assert "c.txt" not in shop.read("FILE_OWNERSHIP_MAP.md")
    propose_rows(opened_at(shop), ["c.txt"], write=True)
    assert find_owners(opened_at(shop), ["c.txt"])[0].owners == ("TASK-003",)


# --- commits by task ------------------------------------------------------------------


def test_what_every_commit_has_needs_no_commit(shop):
    found = commit_by_task(opened_at(shop), CommitRequest())
    assert (found.grouped.groups, found.commits) == ((), ())


@pytest.fixture
def logged(workplace):
    """Two tasks that landed in the tree of somebody who commits by hand."""
    workplace.write({"runner.toml": 'git.commit = "manual"\n'})
    workplace.plan(*TASKS[:2])
    assert workplace.run("--no-sandbox").code == 0
    return workplace


def test_each_task_s_writes_become_one_commit_in_the_order_of_the_plan(logged):
    head = logged.head
    seen = commit_by_task(opened_at(logged), CommitRequest(dry_run=True))
    assert [one.task for one in seen.grouped.groups] == ["TASK-001", "TASK-002"]
    assert (seen.commits, logged.head) == ((), head)
    done = commit_by_task(opened_at(logged), CommitRequest())
    assert list(done.commits) == logged.git("rev-list", "--reverse", f"{head}..").splitlines()
    assert logged.landings == ["TASK-001", "TASK-002"]
    assert (logged.git("show", "HEAD~1:a.txt"), logged.git("show", "HEAD:a.txt")) == (
        ONE.strip(),
        TWO.strip(),
    )
    assert done.titles["TASK-002"] == "Second"


def test_a_task_whose_file_another_wrote_too_is_not_committed_alone(logged):
    head = logged.head
    with pytest.raises(RunnerError) as told:
        commit_by_task(opened_at(logged), CommitRequest("2"))
    assert (told.value.code, logged.head) == (ExitCode.CONFLICT, head)


def test_writes_that_git_would_filter_are_left_to_a_person_s_own_commit(logged):
    head = logged.head
    logged.write({".git/info/attributes": "a.txt filter=lfs\n"})
    with pytest.raises(RunnerError, match=r"git filters \(LFS\) apply to these files") as told:
        commit_by_task(opened_at(logged), CommitRequest())
    assert (told.value.code, logged.head) == (ExitCode.CONFLICT, head)


def test_what_waits_for_a_commit_is_not_shipped(logged, heard):
    with pytest.raises(RunnerError, match="the landed files are not committed"):
        ship(opened_at(logged), ShipRequest(), heard)
    assert logged.git("tag") == ""


def test_a_merge_in_progress_stops_what_would_commit(shop):
    shop.git("switch", "-q", "-c", "other", "HEAD~1")
    shop.commit({"a.txt": "theirs\n"})
    shop.git("switch", "-q", "main")
    shop.commit({"a.txt": "ours\n"})
    shop.git("merge", "other", check=False)
    for act in (
        lambda: commit_by_task(opened_at(shop), CommitRequest(dry_run=True)),
        lambda: undo(opened_at(shop), UndoRequest("TASK-003")),
    ):
        with pytest.raises(RunnerError, match="a merge is in progress"):
            act()


# --- lines that a person wrote into the plan ----------------------------------------------


class Answering:
    """A person at the terminal who gives one answer, or ends the program at the question."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def choose(self, text, question):
        self.asked.append(text + question)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def take_lines(place, heard, asker=None):
    project = opened_at(place)
    reading = project.check()
    with Session(project, reading.plan.tasks) as session:
        return apply_directives(session, reading, heard, yes=False, asker=asker)


def test_a_change_that_stands_in_the_plan_is_recorded_once_and_becomes_a_quote(shop, heard):
    shop.edit_plan("## TASK-003: Third\n", "## TASK-003: Third\n\n!change louder, please\n")
    after = take_lines(shop, heard)
    assert heard.all == [
        "CHANGE-001 recorded for TASK-003: louder, please",
        "TASK-003 is STALE: the change is for this task",
    ]
    assert [line for line in after.plan.written_commands if line.task] == []
    assert "> CHANGE-001" in shop.read("TASK-GRAPH.md")
    take_lines(shop, heard)
    assert len(heard.all) == 2


def test_a_replay_that_stands_in_the_plan_goes_back(shop, heard):
    shop.edit_plan("## TASK-001: First\n", "## TASK-001: First\n\n!replay\n")
    asker = Answering("y")
    take_lines(shop, heard, asker)
    assert heard.all[0].startswith("back to the checkpoint of TASK-001")
    assert shop.read("a.txt") == ONE
    (asked,) = asker.asked
    assert "cost of rebuilding them, by past attempts: about " in asked
    take_lines(shop, heard, asker)
    assert len(asker.asked) == 1


@pytest.mark.parametrize("end", [RunnerError, KeyboardInterrupt])
def test_a_replay_changes_nothing_before_the_answer(shop, heard, end):
    shop.edit_plan("## TASK-001: First\n", "## TASK-001: First\n\n!replay\n")
    before = shop.read("TASK-GRAPH.md"), shop.head, len(shop.events)
    with pytest.raises(end):
        take_lines(shop, heard, Answering("n" if end is RunnerError else KeyboardInterrupt()))
    assert (shop.read("TASK-GRAPH.md"), shop.head, len(shop.events)) == before


def test_a_change_without_words_stands_where_it_is(shop, heard):
    shop.edit_plan("## TASK-003: Third\n", "## TASK-003: Third\n\n!change\n")
    with pytest.raises(RunnerError, match="!change in TASK-003 has no text"):
        take_lines(shop, heard)
    assert "!change" in shop.read("TASK-GRAPH.md")
    assert not shop.has("artifacts/build/CHANGES.md")
