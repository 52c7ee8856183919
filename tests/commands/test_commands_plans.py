"""What a dry run says is what a run does; a saved plan is done exactly, or refused."""

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from commands_build import a_ground
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.app.build import engine_setup
from runner.cli import main
from runner.journal.events import AttemptStarted
from runner.journal.records import read_journal
from runner.model import Ending, Finding, Outcome
from runner.project import JOURNAL
from runner.run import engine
from runner.run.workers import Finished, WorkerPool

# --- the dry run is the run -----------------------------------------------------------


class Lockstep(WorkerPool):
    """Workers that take one tick each and come back in the order of their starts."""

    failing = frozenset()

    def __init__(self, slots, make_site, *, inline=False):
        super().__init__(slots, make_site, inline=inline)
        self.now = 0
        self.batches = {}
        self._ends = []
        Lockstep.last = self

    @classmethod
    def of(cls, _cluster, jobs, make_site, *, inline):
        return cls(jobs, make_site, inline=inline)

    def start(self, assignment, slot):
        task = assignment.task.id
        self._busy[task] = slot
        self.batches.setdefault(self.now, []).append(task)
        self._ends.append(self.now + 1)
        failed = task in self.failing
        outcome = Outcome(
            task=task,
            attempt=assignment.attempt,
            ending=Ending.FAILED if failed else Ending.PASSED,
            base=assignment.base,
            tree="",
            findings=(Finding("TC-001", "it failed"),) if failed else (),
        )
        self._inbox.put(Finished(task, lambda: outcome))

    def wait(self, seconds=None):
        self.now = self._ends.pop(0)
        return super().wait(seconds)


@st.composite
def plans(draw):
    """A random graph as text, and which of its tasks fail: the text stands in a random order."""
    count = draw(st.integers(1, 8))
    ids = [f"TASK-{number:03d}" for number in range(1, count + 1)]
    sections, needs = {}, {}
    for place, id_ in enumerate(ids):
        needs[id_] = draw(st.sets(st.sampled_from(ids[:place]))) if place else set()
        status = draw(st.sampled_from(["PENDING"] * 6 + ["DONE", "BLOCKED", "STALE"]))
        file = draw(st.sampled_from(["", "a.txt", "b.txt"]))
        written = f"\n```text file={file}\n{id_}\n```\n" if file else ""
        sections[id_] = (
            f"## {id_}: a task\n\n- Status: {status}\n"
            f"- Depends on: {', '.join(sorted(needs[id_])) or 'none'}\n"
            f"- Output files: {f'`{file}`' if file else 'none'}\n"
            f"- Test contracts:\n  - TC-001 (unit): `true`\n{written}"
        )
    order = draw(st.permutations(ids))
    failing = draw(st.sets(st.sampled_from(ids)))
    return "# Plan\n\n" + "\n".join(sections[id_] for id_ in order), needs, frozenset(failing)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A repository without a commit, copied for every example."""
    folder = tmp_path_factory.mktemp("plans") / "empty"
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    return folder


class Example:
    """One plan in a repository of its own, without any of this machine's settings."""

    def __init__(self, empty, text, monkeypatch):
        self.top = Path(tempfile.mkdtemp())
        self.folder = self.top / "project"
        shutil.copytree(empty, self.folder)
        (self.folder / "TASK-GRAPH.md").write_text(text)
        monkeypatch.chdir(self.folder)
        for name in [name for name in os.environ if name.startswith(("GIT_", "RUNNER_", "XDG_"))]:
            monkeypatch.delenv(name)
        for name, value in {
            "HOME": str(self.top),
            "CI": "true",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
        }.items():
            monkeypatch.setenv(name, value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)

    def runner(self, *words):
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words)
        assert code < 70, err.getvalue()
        return out.getvalue()

    def starts(self):
        """Tasks in the order in which the journal says they were started."""
        if not (self.folder / JOURNAL).exists():
            return []
        records = read_journal(self.folder / JOURNAL, wanted=None)
        return [record.task for record in records if isinstance(record.event, AttemptStarted)]


EXAMPLES = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def beyond(failing, needs):
    """The tasks that wait for one that failed, directly or not."""
    lost = set()
    for id_ in sorted(needs):
        if needs[id_] & (failing | lost):
            lost.add(id_)
    return lost


@EXAMPLES
@given(plans())
def test_with_one_job_a_run_starts_tasks_in_the_order_of_the_dry_run(empty, plan):
    text, needs, failing = plan
    with pytest.MonkeyPatch.context() as monkeypatch, Example(empty, text, monkeypatch) as example:
        monkeypatch.setattr(engine_setup, "make_workers", Lockstep.of)
        monkeypatch.setattr(Lockstep, "failing", failing)
        said = json.loads(example.runner("run", "-n", "-j1", "--json"))
        assert example.starts() == []
        example.runner("run", "-q", "-j1")
        lost = beyond(failing & set(said["order"]), needs)
        assert example.starts() == [id_ for id_ in said["order"] if id_ not in lost]


@EXAMPLES
@given(plans(), st.integers(2, 4))
def test_with_several_jobs_a_run_starts_the_batches_of_the_dry_run(empty, plan, jobs):
    text, _, _ = plan
    with pytest.MonkeyPatch.context() as monkeypatch, Example(empty, text, monkeypatch) as example:
        monkeypatch.setattr(engine_setup, "make_workers", Lockstep.of)
        monkeypatch.setattr(Lockstep, "failing", frozenset())
        monkeypatch.setattr(engine, "_TURN", 600.0)  # a busy machine starts no fewer at once
        said = json.loads(example.runner("run", "-n", f"-j{jobs}", "--json"))
        Lockstep.last = None
        example.runner("run", "-q", f"-j{jobs}")
        batches = list(Lockstep.last.batches.values()) if Lockstep.last else []
        assert batches == said["batches"]


def test_a_planted_difference_is_found(empty):
    """The test above can fail: a run that takes its tasks the other way round is caught."""

    class Reversed(Lockstep):
        def start(self, assignment, slot):
            super().start(assignment, slot)
            self.batches[self.now].reverse()

    text = "# P\n\n" + "\n".join(
        f"## TASK-00{n}: t\n\n- Test contracts:\n  - TC-001 (unit): `true`\n" for n in (1, 2)
    )
    with pytest.MonkeyPatch.context() as monkeypatch, Example(empty, text, monkeypatch) as example:
        monkeypatch.setattr(engine_setup, "make_workers", Reversed.of)
        said = json.loads(example.runner("run", "-n", "-j2", "--json"))
        example.runner("run", "-q", "-j2")
        assert list(Lockstep.last.batches.values()) != said["batches"]


# --- a plan as a file -----------------------------------------------------------------


@pytest.fixture
def planned(ground, monkeypatch):
    """A repository with a saved plan of what would run for B."""
    monkeypatch.setenv("CI", "true")
    a_ground(ground, "A; B needs A; C")
    said = ground.runner("run", "TASK-002", "--plan-out", "plan.json")
    assert said.code == 0
    assert said.err == "saved; to run this plan: runner run --apply plan.json\n"
    return ground


def saved(ground):
    return json.loads((ground.folder / "plan.json").read_text())


def test_a_saved_plan_says_everything_that_would_be_done(planned):
    document = saved(planned)
    head = planned.git("rev-parse", "HEAD")
    assert (document["schemaVersion"], document["kind"]) == (1, "plan")
    assert (document["branch"], document["head"], document["base"]) == ("main", head, head)
    assert document["plan"]["path"] == "TASK-GRAPH.md"
    assert document["order"] == ["TASK-001", "TASK-002"]
    assert document["selection"]["ids"] == ["TASK-002"]
    assert document["commands"] == {"TASK-001": ["true"], "TASK-002": ["true"]}
    spec = planned.spec("TASK-002")
    assert document["tasks"]["TASK-002"]["what"] == spec.what
    assert document["tasks"]["TASK-002"]["proof"] == spec.proof
    assert set(document["tasks"]) == {"TASK-001", "TASK-002", "TASK-003"}


def test_saving_a_plan_runs_nothing(planned):
    assert not (planned.folder / JOURNAL).exists()
    assert planned.git("status", "--porcelain") == "?? plan.json"


def test_applying_does_exactly_what_was_saved(planned):
    assert planned.runner("run", "--apply", "plan.json", "-q").code == 0
    assert (planned.folder / "b.txt").read_text() == "B\n"
    assert not (planned.folder / "c.txt").exists()


def test_a_plan_is_applied_once(planned):
    planned.runner("run", "--apply", "plan.json", "-q")
    again = planned.runner("run", "--apply", "plan.json", "-q")
    assert again.code == 6
    assert "TASK-001: was PENDING and is DONE" in again.err


def test_a_moved_head_is_refused(planned):
    before = planned.git("rev-parse", "HEAD")[:12]
    planned.write("other.txt", "somebody else's work\n")
    planned.git("add", "other.txt")
    planned.git("commit", "-qm", "other")
    said = planned.runner("run", "--apply", "plan.json")
    assert said.code == 6
    assert said.err == (
        "runner: the saved plan is out of date; nothing has run "
        f"({planned.folder / 'plan.json'})\n"
        f"  HEAD was {before} and is {planned.git('rev-parse', 'HEAD')[:12]}\n"
        f"hint: save a new one: runner --plan-out {planned.folder / 'plan.json'}\n"
    )
    assert not (planned.folder / JOURNAL).exists()


def test_another_branch_is_refused(planned):
    planned.git("checkout", "-q", "-b", "side")
    said = planned.runner("run", "--apply", "plan.json")
    assert said.code == 6
    assert "the branch was main and is side" in said.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("task C", "task see", "TASK-003: what to build has changed"),
        ("`true`", "`test 1`", "TASK-001: how it is proven has changed"),
        ("Status: PENDING", "Status: STALE", "TASK-001: was PENDING and is STALE"),
        ("- Depends", "- Network: yes\n- Depends", "TASK-001: its fields have changed"),
        ("## TASK-003", "## TASK-004", "TASK-003: is no longer in the plan\n  TASK-004: is new"),
    ],
)
def test_a_plan_file_that_moved_is_refused_and_says_where(planned, old, new, said):
    file = planned.folder / "TASK-GRAPH.md"
    file.write_text(file.read_text().replace(old, new, 1))
    ran = planned.runner("run", "--apply", "plan.json", "--allow-dirty")
    assert ran.code == 6
    assert said in ran.err
    assert not (planned.folder / JOURNAL).exists()


def test_a_plan_file_with_other_prose_around_its_tasks_has_moved(planned):
    file = planned.folder / "TASK-GRAPH.md"
    before = file.read_text()
    file.write_text(before.replace("# Bookings\n", "# Bookings\n\nA word about it.\n"))
    ran = planned.runner("run", "--apply", "plan.json", "-q", "--allow-dirty")
    assert ran.code == 6
    assert "TASK-GRAPH.md: its text outside the tasks' fields has changed" in ran.err
    assert not (planned.folder / JOURNAL).exists()
    file.write_text(before)
    assert planned.runner("run", "--apply", "plan.json", "-q").code == 0


def test_settings_that_name_other_commands_are_refused(ground, monkeypatch):
    monkeypatch.setenv("CI", "true")
    a_ground(ground, "A").write("runner.toml", '[gates]\nlint = "true"\n')
    ground.commit("gates")
    assert ground.runner("--plan-out", "plan.json").code == 0
    ground.write("runner.toml", '[gates]\nlint = "test 1"\n')
    said = ground.runner("run", "--apply", "plan.json", "--allow-dirty")
    assert said.code == 6, said.err
    assert "TASK-001: its commands in the settings have changed" in said.err


def test_a_plan_with_nothing_to_do_does_nothing(ground, monkeypatch):
    monkeypatch.setenv("CI", "true")
    a_ground(ground, "A is BLOCKED")
    said = ground.runner("--plan-out", "plan.json")
    assert (said.code, said.out) == (0, "nothing would run\n")
    before = ground.git("rev-parse", "HEAD")
    assert ground.runner("run", "--apply", "plan.json", "-q").code == 3
    assert ground.git("log", "--format=%s", f"{before}..") in ("", "chore(runner): record")
    assert not (ground.folder / "a.txt").exists()


def test_jobs_are_those_of_the_saved_plan(ground, monkeypatch):
    monkeypatch.setenv("CI", "true")
    a_ground(ground, "A")
    ground.runner("--plan-out", "plan.json", "-j", "7")
    assert json.loads(ground.runner("run", "--apply", "plan.json", "-n", "--json").out)["jobs"] == 7


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        '{"kind": "plan"}',
        '{"schemaVersion": 1, "kind": "graph"}',
        '{"schemaVersion": 1, "kind": "plan", "plan": 3, "selection": {}}',
        "\x00\x01",
        "[" * 100_000,
    ],
)
def test_what_is_no_saved_plan_is_refused(planned, content):
    planned.write("odd.json", content)
    said = planned.runner("run", "--apply", "odd.json")
    assert said.code == 2
    assert said.err.startswith("runner: this file is not a plan saved by this runner")


def test_a_saved_plan_of_another_format_is_refused(planned):
    document = saved(planned) | {"schemaVersion": 99}
    planned.write("plan.json", json.dumps(document))
    assert planned.runner("run", "--apply", "plan.json").code == 2


def test_a_plan_cannot_be_saved_where_there_is_no_folder(ground):
    a_ground(ground)
    said = ground.runner("--plan-out", "nowhere/plan.json")
    assert said.code == 2
    assert "the plan cannot be saved" in said.err


def test_a_saved_plan_takes_no_other_tasks_beside_it(planned):
    said = planned.runner("run", "TASK-003", "--apply", "plan.json")
    assert said.code == 2
    assert said.err == (
        "runner: --apply cannot be combined with other tasks or plans\nhint: runner run --help\n"
    )
