"""A person's word on what waits, by the calls that a page or another program makes."""

from dataclasses import dataclass

import pytest
from workplace import NO_PROOF, a_task

from runner.app.answer.answers import Answered, Approve, Became, Reject, approve, reject
from runner.app.answer.cancel_and_retry import retry
from runner.app.answer.decision_record import (
    Waive,
    accept,
    decide,
    load_index,
    search_patterns,
    waive,
)
from runner.app.answer.held_edit import edit
from runner.app.answer.one_task_runs import Adopt, MakePlan, adopt_branch, plan_task
from runner.app.answer.waiting import (
    Waiting,
    assess,
    find_contract_documents,
    find_stale_work,
    in_order,
    list_built_changes,
    list_waiting,
)
from runner.app.inspect.view import View
from runner.app.observer import Silent
from runner.app.write.proposals import Proposals
from runner.app.write.secret_findings import Allow, allow, open_allow_list, scan_files
from runner.app.write.staged_states import find_staged, record_write
from runner.app.write.workplace import Workplace, require_named
from runner.errors import ExitCode, RunnerError
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    RunFinished,
    RunStarted,
    StatusesPublished,
    TaskBlocked,
    TaskDone,
)
from runner.journal.session_events import PermissionAsked, PlanProposed
from runner.journal.state import RunState
from runner.model import Action, Change, Decision, Ending, Reason, Status, TaskPlan, digest_of
from runner.repo.commit import commit_tree
from runner.repo.read import Repository
from runner.repo.refs import keep_ref
from runner.writes.log import WriteLog

KEY = "HGFDSAPOIUYTREWQAIKA"[::-1]


@dataclass
class Person:
    """Edits with a function, and answers whether a text with a secret is opened again."""

    change: callable
    again: bool = False

    def edit(self, path, content):
        return self.change(path, content)

    def try_again(self, findings):
        self.findings = findings
        return self.again


@pytest.fixture
def shop(workplace, opened):
    """Two tasks that are not built yet."""
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt", "b.txt"], command="true"),
        a_task("TASK-002", outputs=["c.txt"], command="true", needs=["TASK-001"]),
    )
    return workplace


def task_of(project, id_="TASK-001"):
    return next(one for one in project.plan(project.plan_bytes).tasks if one.id == id_)


@pytest.fixture
def ended(opened, journaled):
    """A run that ended with these events of a task's first attempt."""

    def write(*events, id_="TASK-001"):
        project = opened()
        head = project.head().commit
        journaled(
            (RunStarted(head, "main", digest_of(b""), 1, {}), "", 0),
            (AttemptStarted(base=head, implementer="command", spec=task_of(project).spec), id_, 1),
            *((event, id_, 1) for event in events),
            (RunFinished(3, head, 1.0, {}), "", 0),
        )

    return write


@pytest.fixture
def published(shop, opened, journaled):
    """Has the plan say a status of TASK-001, as the runner writes it."""

    def write(status):
        line = shop.status_line("TASK-001")
        shop.edit_plan(line, f"- Status: {status}")
        shop.commit(message="statuses")
        said = StatusesPublished({"TASK-001": status}, head=shop.head, plan="")
        journaled((said, "", 0))

    return write


@pytest.fixture
def held(shop, published, ended):
    """Work of TASK-001 that passed and waits for a review."""
    with Repository.open(shop.root) as repository:
        changes = [
            Change(path, Action.CREATE, 0o100644, None, digest_of(data), data)
            for path, data in (("a.txt", b"one\n"), ("b.txt", b"two\n"))
        ]
        commit = commit_tree(repository, shop.head, changes, "held\n", sign=False)
        keep_ref(repository, "held/TASK-001", commit.sha)
    passed = AttemptFinished(
        Ending.PASSED, commit.tree, 1.0, held="review", ref="held/TASK-001", reason=Reason.REVIEW
    )
    ended(passed, TaskBlocked(Reason.REVIEW, "waits for your review"))
    published(Status.BLOCKED)
    return shop


@pytest.fixture
def built(shop, ended, opened, published):
    """TASK-001 is DONE, and its files are committed."""
    commit = shop.commit({"a.txt": "one\n", "b.txt": "two\n"}, "built")
    tree = shop.git("rev-parse", "HEAD^{tree}")
    ended(
        AttemptFinished(Ending.PASSED, tree, 1.0),
        TaskDone(spec=task_of(opened()).spec, commit=commit, tree=tree),
    )
    published(Status.DONE)
    return shop


def waiting(project):
    with Repository.open(project.root) as repository:
        state = View.of(project).state
        return {one.task: one for one in list_waiting(project, repository, state)}


# --- what waits -----------------------------------------------------------------------


def test_what_waits_is_listed_with_the_bytes_it_is_about(held, opened):
    found = waiting(opened())
    assert list(found) == ["TASK-001"]
    assert (found["TASK-001"].kind, found["TASK-001"].answered) == ("writes", False)
    assert {one.path: one.content for one in found["TASK-001"].changes} == {
        "a.txt": b"one\n",
        "b.txt": b"two\n",
    }


def test_an_approval_is_told_at_once_and_stands_in_plan_and_journal(held, opened, heard):
    came = approve(opened(), Approve(("1",)), heard)
    assert heard.all == [Answered("TASK-001", Became.APPROVED)] == list(came.answered)
    assert came.is_next_run
    assert waiting(opened())["TASK-001"].answered
    assert opened().state().task("TASK-001").status is Status.PENDING
    assert "PENDING" in held.status_line("TASK-001")


def test_what_is_answered_is_no_part_of_everything(held, opened, heard):
    approve(opened(), Approve(every=True), heard)
    assert approve(opened(), Approve(every=True), heard).answered == ()
    assert len(heard.all) == 1


def test_a_rejection_keeps_its_reason_for_the_next_attempt(held, opened, heard):
    reject(opened(), Reject(("task-001",), "keep the name"), heard)
    assert heard.all == [Answered("TASK-001", Became.REJECTED)]
    assert "keep the name" in str(opened().state().task("TASK-001").findings)


def test_a_reason_is_asked_for_once_it_is_sure_what_is_meant(held, opened, heard):
    asked = []

    def ask():
        asked.append(1)
        return "because"

    with pytest.raises(RunnerError, match="TASK-002 has nothing to approve"):
        reject(opened(), Reject(("TASK-002",)), heard, ask)
    assert asked == []
    reject(opened(), Reject(("TASK-001",)), heard, ask)
    assert asked == [1]
    assert "because" in str(opened().state().task("TASK-001").findings)


def test_without_a_reason_nothing_is_rejected(held, opened, heard):
    with pytest.raises(RunnerError, match="a rejection needs a reason"):
        reject(opened(), Reject(("1",)), heard)
    assert (heard.all, held.happened("write.rejected")) == ([], [])


def test_what_is_not_stale_cannot_be_reused(held, opened, heard):
    with pytest.raises(RunnerError, match="--reuse applies to STALE tasks only"):
        approve(opened(), Approve(("1",), reuse=True), heard)
    assert held.happened("write.reviewed") == []


# --- edits ----------------------------------------------------------------------------


def test_an_edit_takes_the_place_of_what_was_held(held, opened, heard):
    person = Person(lambda path, text: text.upper() if path == "a.txt" else text)
    edit(opened(), ("1",), person, heard)
    assert heard.all == [Answered("TASK-001", Became.EDITED)]
    changes = {one.path: one.content for one in waiting(opened())["TASK-001"].changes}
    assert changes == {"a.txt": b"ONE\n", "b.txt": b"two\n"}
    reviews = {one["path"]: one["review"] for one in held.happened("write.reviewed")}
    assert reviews == {"a.txt": "edited", "b.txt": "applied"}


def test_an_edit_with_a_secret_in_it_is_asked_about_and_left_as_it_was(held, opened, heard):
    person = Person(lambda _, text: text + f"key = '{KEY}'\n".encode())
    edit(opened(), ("1",), person, heard)
    assert heard.all == [Answered("TASK-001", Became.UNCHANGED)]
    assert person.findings
    assert KEY not in str(person.findings) + held.objects().decode("utf-8", "replace")


# --- plans, permissions, STALE and BLOCKED tasks --------------------------------------


@pytest.fixture
def planned(shop, ended, opened):
    plan = TaskPlan(steps=("write it",), files=("a.txt",))
    what = task_of(opened()).spec.what
    ended(
        PlanProposed(plan, "plan.md", digest_of(b"plan"), what=what),
        TaskBlocked(Reason.REVIEW, "its plan waits for you"),
    )
    return shop


def test_a_plan_is_approved_by_its_digest(planned, opened, heard):
    assert waiting(opened())["TASK-001"].kind == "plan"
    approve(opened(), Approve(("TASK-001",)), heard)
    known = opened().state().task("TASK-001").planned
    assert (known.approved, known.review) == (True, "applied")


def test_a_plan_that_is_sent_back_is_made_again(planned, opened, heard):
    reject(opened(), Reject(("TASK-001",), "shorter"), heard)
    assert heard.all == [Answered("TASK-001", Became.PLANNED_AGAIN, plans_refused=1)]
    assert opened().state().task("TASK-001").planned is None


def test_a_plan_as_a_person_leaves_it_is_approved(planned, opened, heard):
    edit(opened(), ("1",), Person(lambda _, text: text.replace(b"write it", b"do it")), heard)
    assert heard.all == [Answered("TASK-001", Became.PLAN_EDITED)]
    known = opened().state().task("TASK-001").planned
    assert (known.plan.steps, known.review) == (("do it",), "edited")


def test_a_plan_that_is_there_is_not_made_again(planned, opened):
    def audience():
        pytest.fail("nobody is to be called")

    came = plan_task(opened(), MakePlan("1"), audience)
    assert (came.plan.plan.steps, came.code) == (("write it",), ExitCode.PERSON)


def test_a_command_plans_nothing(shop, opened):
    with pytest.raises(RunnerError, match="is built by command, which makes no plans"):
        plan_task(opened(), MakePlan("1"), None)


def test_a_question_of_a_rule_is_answered_and_cannot_be_edited(shop, opened, ended, heard):
    ended(
        PermissionAsked("shell", "npm install", "ask"),
        TaskBlocked(Reason.REVIEW, "asks for permission"),
    )
    assert waiting(opened())["TASK-001"].kind == "permission"
    with pytest.raises(RunnerError, match="asks to call a tool: there is nothing to edit"):
        edit(opened(), ("1",), Person(None), heard)
    reject(opened(), Reject(("1",), "not here"), heard)
    assert heard.all == [Answered("TASK-001", Became.DENIED)]
    (answer,) = shop.happened("permission.answered")
    assert (answer["allowed"], answer["reason"]) == (False, "not here")


def test_a_stale_task_is_reviewed_by_what_it_built_and_may_stand(built, opened, heard):
    built.edit_plan("- Command: `true`", "- Command: `false`")
    assert waiting(opened())["TASK-001"].kind == "stale"
    project = opened()
    stale = find_stale_work(project, "TASK-001")
    with Repository.open(project.root) as repository:
        changes = list_built_changes(project, repository, stale.commit)
    assert [(one.path, before) for one, before in changes] == [("a.txt", None), ("b.txt", None)]
    reject(project, Reject(("1",), "as it is"), heard)
    assert heard.all == [Answered("TASK-001", Became.STANDS)]
    assert opened().state().task("TASK-001").status is Status.DONE
    assert waiting(opened()) == {}


def test_a_blocked_task_has_nothing_to_reject_and_may_be_tried_again(shop, opened, ended, heard):
    ended(TaskBlocked(Reason.CHECKS, "TC-001 failed 3 times"))
    with pytest.raises(RunnerError, match="has no writes to reject"):
        reject(opened(), Reject(("1",), "no"), heard)
    approve(opened(), Approve(("1",)), heard)
    assert opened().state().task("TASK-001").status is Status.PENDING


def test_blocks_that_were_rejected_are_not_tried_again_as_they_are(workplace, opened):
    workplace.plan(
        a_task("TASK-001", blocks={"a.py": "A = 1\n"}, fields=["Review: prompt", NO_PROOF])
    )
    assert workplace.run("--no-sandbox").code == 3
    reject(opened(), Reject(("1",), "not so"), lambda _: None)
    assert workplace.run("--no-sandbox").code == 3
    with pytest.raises(RunnerError, match="you rejected these code blocks; edit them in the plan"):
        approve(opened(), Approve(("1",)), lambda _: None)
    with pytest.raises(RunnerError, match="you rejected these code blocks"):
        retry(opened(), ["1"], "")
    workplace.edit_plan("A = 1", "A = 2")
    assert workplace.run("--no-sandbox").code == 3
    assert "waits for your review" in workplace.status_line("TASK-001")


# --- waivers, branches, decisions, patterns -------------------------------------------


def test_a_waiver_is_in_journal_and_plan(built, opened):
    made = waive(opened(), Waive("1", "  looked   at  "))
    assert (made.task, made.reason, made.is_new) == ("TASK-001", "looked at", True)
    assert View.of(opened()).worth("TASK-001") == "waived"
    assert "waived" in built.status_line("TASK-001")


def test_what_rests_on_a_waived_task_says_so_in_the_plan_and_everywhere(workplace, opened):
    rests = ["Type: milestone"]
    workplace.plan(
        a_task("TASK-001", blocks={"a.py": "A = 1\n"}),
        a_task("TASK-002", needs=["TASK-001"], fields=rests),
        a_task("TASK-003", needs=["TASK-002"], fields=rests),
    )
    assert workplace.run("--no-sandbox").code == 0
    assert "unproven: TASK-001 is unproven" in workplace.status_line("TASK-002")
    waive(opened(), Waive("1", "generated"))
    for id_, need in (("TASK-002", "TASK-001"), ("TASK-003", "TASK-002")):
        said = f"waived: {need} is waived"
        assert workplace.status_line(id_) == f"- Status: DONE — {said}"
        assert View.of(opened()).grades[id_].words == said
    assert workplace.run("--no-sandbox").code == 0
    assert workplace.status_line("TASK-003") == "- Status: DONE — waived: TASK-002 is waived"


@pytest.mark.parametrize(
    ("name", "value"),
    [("CI", "true"), ("RUNNER_TASK", "TASK-001"), ("GIT_INDEX_FILE", "x"), ("CLAUDECODE", "1")],
)
def test_a_waiver_is_a_person_s(built, opened, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(RunnerError, match="only a person may waive") as refused:
        waive(opened(), Waive("1", "looked at"))
    assert refused.value.code is ExitCode.PERSON
    assert built.happened("task.waived") == []


def test_a_branch_that_is_checked_out_is_not_adopted_into_itself(shop, opened):
    with pytest.raises(RunnerError, match="main is checked out"):
        adopt_branch(opened(), Adopt("1", "main", trusted=True), Silent())


def test_a_branch_lands_as_the_task_s_one_commit(workplace, opened):
    tests = ["grep -q better a.txt"]
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="false", tests=tests))
    workplace.git("switch", "-qc", "mine")
    workplace.commit({"a.txt": "by hand\n"}, "one")
    workplace.commit({"a.txt": "by hand, better\n"}, "two")
    workplace.git("switch", "-q", "main")
    asked = Adopt("1", "mine", approved=True, trusted=True)
    came = adopt_branch(opened(sandbox="none"), asked, Silent())
    assert (came.code, came.task.note) == (ExitCode.OK, "")
    assert came.task.status is Status.DONE
    assert workplace.read("a.txt") == "by hand, better\n"
    assert workplace.landings == ["TASK-001"]


def test_a_decision_becomes_a_pattern_once(shop, opened):
    shop.write(
        {
            "PATTERN_INDEX.md": "| Pattern | Title | Domain | Stack | Keywords | File |\n"
            "|---|---|---|---|---|---|\n"
        }
    )
    said = Decision("Optimistic locking", context="deadlocks", pattern="candidate")
    assert decide(opened(), said, "1") == 1
    made = accept(opened(), ["DECISION-001"])
    assert (made.pattern, made.is_new) == ("PATTERN-001", True)
    assert "deadlocks" in shop.read(made.file)
    assert not accept(opened(), ["1"]).is_new
    assert [one.id for one in load_index(opened()).patterns] == ["PATTERN-001"]
    assert [one.pattern.id for one in search_patterns(opened(), ["locking"])] == ["PATTERN-001"]


def test_a_decision_holds_no_secret(shop, opened):
    decide(opened(), Decision("One", context=f"with {KEY}"))
    assert KEY not in shop.read("artifacts/build/DECISIONS.md") + str(shop.events)


# --- single files ---------------------------------------------------------------------


@pytest.fixture
def proposals(shop, alone):
    return Proposals(Workplace.of(shop.root, {"HOME": str(alone)}))


def test_a_write_by_hand_is_proposed_applied_and_kept_in_the_log(shop, proposals, heard):
    proposed = proposals.propose("1", "a.txt", b"one\n")
    assert not shop.has("a.txt")
    (row,) = proposals.list("TASK-001")
    assert (row[0].id, row[1]) == (proposed.staged.id, "waits")
    came = proposals.apply(find_staged(proposals.staging, proposed.staged.id), heard)
    assert (shop.read("a.txt"), came.is_written) == ("one\n", True)
    assert [one.path for one in heard.all] == ["a.txt"]
    (logged,) = WriteLog(shop.root).show().writes
    assert (logged.path, logged.task, logged.review) == ("a.txt", "TASK-001", "applied")
    with pytest.raises(RunnerError, match="is already decided: it was applied"):
        find_staged(proposals.staging, proposed.staged.id)


def test_a_write_by_hand_that_is_rejected_is_repair_context(shop, proposals, opened):
    staged = proposals.propose("1", "a.txt", b"one\n").staged
    assert proposals.reject(staged, "no such file") == 0
    assert proposals.staging.list() == ()
    assert "no such file" in str(opened().state().task("TASK-001").findings)


def test_a_revised_write_stands_in_the_place_of_the_first(shop, proposals, heard):
    staged = proposals.propose("1", "a.txt", b"one\n").staged
    revised = proposals.revise(staged, b"better\n")
    assert [one.id for one, _ in proposals.list()] == [revised.staged.id]
    proposals.apply(revised.staged, heard)
    assert shop.read("a.txt") == "better\n"


def test_a_write_with_a_secret_or_over_a_changed_file_is_refused(shop, proposals, heard):
    refused = proposals.propose("1", "a.txt", f"key = '{KEY}'\n".encode())
    assert (refused.staged, bool(refused.findings)) == (None, True)
    staged = proposals.propose("1", "a.txt", b"one\n").staged
    shop.write({"a.txt": "mine\n"})
    with pytest.raises(RunnerError, match="changed since it was staged"):
        proposals.apply(staged, heard)
    assert (shop.read("a.txt"), heard.all) == ("mine\n", [])


def test_a_write_that_nobody_staged_is_noted_as_it_stands(shop, proposals):
    shop.write({"a.txt": "one\n"})
    assert record_write(proposals.workplace, "1", "a.txt").action is Action.CREATE
    shop.write({"a.txt": "two\n"})
    assert record_write(proposals.workplace, "1", "a.txt").action is Action.MODIFY
    with pytest.raises(RunnerError, match="file not found"):
        record_write(proposals.workplace, "1", "never.txt")


def test_what_a_scan_finds_passes_once_a_person_allows_it(shop, alone):
    shop.write({"app.py": f"one = 1\nkey = '{KEY}'\n"})
    file, environ = str(shop.root / "app.py"), {"HOME": str(alone)}
    scanned = scan_files([file, file], environ, None)
    assert (scanned.files, scanned.code) == ((file,), ExitCode.FAILED)
    assert KEY not in str(scanned.findings)
    here = open_allow_list(shop.root, environ)
    made = allow(here, Allow("of the documentation", place=f"{file}:2"), None)
    assert len(made.entries) == 1
    assert allow(here, Allow("again", read_value=lambda: KEY), None).entries == ()
    assert scan_files([file], environ, None).code is ExitCode.OK


def test_input_is_read_by_who_calls_and_a_folder_is_no_file(shop, alone):
    scanned = scan_files(["-"], {"HOME": str(alone)}, lambda most: f"k = '{KEY}'".encode()[:most])
    assert scanned.is_blocked
    with pytest.raises(RunnerError, match="is a folder"):
        require_named(str(shop.root), None)


CONTRACTS = ("contracts/api.yaml", "data/*.json")


def writes(task, *paths):
    changes = tuple(Change(path, Action.MODIFY, 0o100644, None, None, b"x") for path in paths)
    return Waiting(task, "", "writes", "", changes)


def test_a_change_of_a_contract_s_document_is_told_and_comes_before_a_regression():
    state = RunState()
    for path in ("contracts/api.yaml", "data/one.json"):
        assert "changes a contract" in assess(state, writes("T-1", path), CONTRACTS).signs
    assert "changes a contract" not in assess(state, writes("T-1", "src/api.yaml"), CONTRACTS).signs
    assert "changes a contract" not in assess(state, writes("T-1", "contracts/api.yaml")).signs


def test_what_nothing_proved_is_unproven_and_comes_first():
    state = RunState()
    known = [
        Waiting("T-1", "", "draft", ""),
        Waiting("T-2", "", "stale", ""),
        Waiting("T-3", "", "regression", ""),
        Waiting("T-4", "", "plan", ""),
        writes("T-5", "a.py"),
        Waiting("T-6", "", "permission", ""),
        Waiting("T-7", "", "blocked", ""),
    ]
    ordered = in_order(state, known, CONTRACTS)
    assert [one.task for one, _ in ordered] == ["T-5", "T-3", "T-6", "T-4", "T-2", "T-7", "T-1"]
    assert ordered[0][1].signs == ("writes", "unproven")
    assert ordered[0][1].tone == "bad"


def test_documents_of_all_contracts_of_a_plan_are_known(workplace):
    from runner.project import Project

    workplace.plan(
        "## TASK-001: Api\n- Status: PENDING\n- Output files: `a.py`\n- Contracts:\n"
        "  - openapi: `contracts/api.yaml` app=`a:app`\n"
        "  - schema: `contracts/order.json` = `data/*.json`\n"
    )
    project = Project.open(workplace.root, {})
    assert find_contract_documents(project) == (
        "contracts/api.yaml",
        "contracts/order.json",
        "data/*.json",
    )
