"""Who is only proven again: decided from the journal's state, the plan, and the commits."""

import json
import subprocess

import pytest
from run_build import SPEC, a_graph, a_task

from runner.journal.events import (
    CUT_OFF,
    ChangeRecorded,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskStaled,
)
from runner.journal.state import RunState
from runner.journal.task_state import TaskState
from runner.model import Contract, Reason, Status
from runner.repo.read import Repository
from runner.run.dependents import behind_whom
from runner.run.journal_writer import JournalWriter, rehearse
from runner.run.landing.moved_branch import PlanConflict
from runner.run.regressions.early_cutoff import TaskExports, rebuilt_since, waits_through


def state(*tasks):
    return RunState(tasks={task.id: task for task in tasks})


def done(id_, at):
    return TaskState(id_, Status.DONE, spec=SPEC, done_at=at)


def stale(id_, via, at="1"):
    return TaskState(id_, Status.STALE, spec=SPEC, done_at=at, via=via)


# --- the chain ------------------------------------------------------------------------


def test_what_is_done_anew_since_counts_and_what_stood_before_does_not():
    known = state(done("A", "2"), done("B", "0"), stale("C", "A"))
    assert rebuilt_since("C", ("A", "B"), known) == ("A",)


def test_nothing_is_decided_before_all_of_them_are_done():
    waiting = TaskState("B", Status.PENDING)
    assert rebuilt_since("C", ("A", "B"), state(done("A", "2"), waiting, stale("C", "A"))) is None


def test_those_who_wait_for_the_task_itself_hold_it_up_no_more():
    known = state(done("X", "2"), stale("A", "X"), stale("B", "A"))
    assert rebuilt_since("A", ("X", "B"), known) == ("X",)
    assert rebuilt_since("B", ("A",), known) is None


def test_a_circle_of_chains_ends():
    known = state(done("X", "2"), stale("A", "B"), stale("B", "A"), stale("C", "A"))
    assert rebuilt_since("C", ("A",), known) is None


def test_whom_a_task_is_behind():
    tasks = [
        *a_graph("A; B needs A"),
        a_task("C", outputs=("src/c.py",)),
        a_task("D", outputs=("lib/**",), contracts=(Contract("schema", "s.json"),)),
        a_task("E", inputs=("src/*.py", "lib/x.py"), depends_on=("B", "gone")),
        a_task("F", contracts=(Contract("schema", "s.json"),), outputs=("any",)),
    ]
    assert behind_whom(tasks, ["B", "E", "D"]) == {
        "B": ("A",),
        "E": ("B", "C", "D", "F"),
        "D": ("F",),
    }


def test_who_needs_the_task_is_not_before_it_though_they_write_what_it_reads():
    tasks = [a_task("A", inputs=("b",)), a_task("B", outputs=("b",), depends_on=("A",))]
    assert behind_whom(tasks, ["A"]) == {"A": ()}


# --- what the journal keeps -----------------------------------------------------------


@pytest.fixture
def journal():
    found = rehearse(RunState.empty())
    found.note(TaskDone(spec=SPEC, commit="c"), task="B")
    found.note(TaskStaled(note="depends on A", via="A"), task="B")
    return found


def released(journal: JournalWriter):
    journal.note(TaskApproved(by=CUT_OFF, note="the same", reuse=True), task="B")
    return journal.state.task("B")


def test_a_release_is_kept_until_it_is_done(journal):
    assert waits_through(journal.state.task("B"))
    known = released(journal)
    assert (known.status, known.reuse, known.cut_off) == (Status.PENDING, True, "the same")
    assert waits_through(known)
    journal.note(TaskDone(spec=SPEC, note=known.cut_off), task="B")
    known = journal.state.task("B")
    assert (known.via, known.cut_off, known.note) == ("", "", "the same")


def test_a_person_who_approves_has_it_built(journal):
    journal.note(TaskApproved(by="person"), task="B")
    known = journal.state.task("B")
    assert (known.reuse, known.via) == (False, "")


def test_what_was_missing_and_is_there_again_changes_nothing_of_it(journal):
    released(journal)
    journal.note(TaskBlocked(reason=Reason.TOOL, note="no jq"), task="B")
    journal.note(TaskApproved(by="runner"), task="B")
    known = journal.state.task("B")
    assert (known.status, known.reuse, known.cut_off) == (Status.PENDING, True, "the same")


@pytest.mark.parametrize("is_released", [False, True])
def test_named_in_a_change_it_has_a_reason_of_its_own(journal, is_released):
    if is_released:
        released(journal)
    journal.note(ChangeRecorded(number=2, text="faster", tasks=("B",)), task="B")
    known = journal.state.task("B")
    assert (known.status, known.via, known.reuse) == (Status.STALE, "", False)


# --- what is offered ------------------------------------------------------------------

NUMBER = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}
WIDER = {"type": "object", "properties": {"n": {"type": "integer", "minimum": -1}}}
NARROWER = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
FILES = {"a.py": "def f(x):\n    return x\n", "n.json": json.dumps(NUMBER), "other.py": "A = 1\n"}
OFFERING = a_task("A", outputs=("**",), contracts=(Contract("schema", "n.json"),))


class Ground:
    def __init__(self, root):
        self.root = root
        self.git("init", "-q")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(self, message, **files):
        for name, text in files.items():
            (self.root / name.replace("_", ".")).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def compared(tmp_path):
    """What the task offers after a change of its files, to one who was built on the first."""
    ground = Ground(tmp_path)
    texts = {name.replace(".", "_"): text for name, text in FILES.items()}
    then = ground.commit("feat: a\n\nTask: A\n", a_py=texts["a_py"], n_json=texts["n_json"])
    ground.commit("feat: other\n\nTask: OTHER\n", other_py=texts["other_py"])

    def compare(*, task="A", user=None, **files):
        ground.commit(f"feat: again\n\nTask: {task}\n", **files)
        with Repository.open(tmp_path) as repository:
            known = user or TaskState("B", tree=f"{then}^{{tree}}")
            return TaskExports(repository, frozenset({"plan.md"})).compare(OFFERING, known)

    return compare


def test_a_comment_offers_the_same(compared):
    found = compared(a_py="# it is easy\n" + FILES["a.py"])
    assert (found.same, found.text) == (True, "the interface of a.py did not change")


def test_another_signature_is_named(compared):
    found = compared(a_py=FILES["a.py"].replace("x)", "x, y)"))
    assert not found.same
    assert "def f(x, y)" in found.text


def test_files_of_other_tasks_and_documents_of_the_runner_do_not_count(compared):
    assert compared(task="OTHER", other_py="B = 2\n", plan_md="x").same


def test_a_contract_that_only_allows_more_breaks_nobody(compared):
    found = compared(n_json=json.dumps(WIDER))
    assert (found.same, found.text) == (True, "the contract n.json stays compatible")


def test_a_contract_that_allows_less_is_named_with_the_field(compared):
    found = compared(n_json=json.dumps(NARROWER))
    assert not found.same
    assert found.text.startswith("contract n.json changed: n ")


def test_what_cannot_be_compared_is_not_the_same(compared):
    assert not compared(user=TaskState("B")).same
    assert not compared(user=TaskState("B", tree="1" * 40), a_py="A = 3\n").same


# --- the plan meanwhile ---------------------------------------------------------------


def test_the_plan_is_read_only_when_somebody_else_saved_it(tmp_path):
    from runner.plan.document import read_plan

    first = b"# P\n\n## TASK-001: One\n\nDo it.\n"
    plan = tmp_path / "TASK-GRAPH.md"
    plan.write_bytes(first)
    read, ours = [], {first}
    (task,) = read_plan(first, plan.name).tasks

    def reading(text):
        read.append(text)
        return read_plan(text, plan.name)

    meanwhile = PlanConflict(plan, ours.__contains__, reading)
    assert meanwhile.describe_edit(task) == ""
    status = first.replace(b"Do it", b"- Status: DONE\n\nDo it")
    ours.add(status)
    plan.write_bytes(status)
    assert meanwhile.describe_edit(task) == ""
    assert read == []
    plan.write_bytes(first.replace(b"Do it.", b"Do that, and do it well."))
    assert meanwhile.describe_edit(task) == meanwhile.describe_edit(task) == "it was edited: prose"
    assert len(read) == 1
    plan.write_bytes(first + b"\n!change do it twice\n")
    assert meanwhile.describe_edit(task) == "`!change do it twice`"
    plan.write_bytes(b"# P\n\n## TASK-002: Two\n")
    assert meanwhile.describe_edit(task) == "it was removed from the plan"
    plan.write_bytes(b"")  # half saved
    assert meanwhile.describe_edit(task) == ""
    plan.unlink()
    assert meanwhile.describe_edit(task) == ""
