"""The clone of an issue: what was asked of it before a crash is not asked twice."""

import os

import pytest
from clone_place import BRANCH, Place
from crash_house import House
from crash_ways import STOPPED, stop_before
from issue_case import KilledError
from shop import BASE
from workplace import a_task

from runner.errors import RunnerError
from runner.extensions.bridge import issue_clone
from runner.extensions.bridge.issue_clone import find_journal
from runner.journal.log import Journal
from runner.journal.session_events import DraftProposed, DraftReviewed
from runner.model import Status
from runner.plan.edit import set_statuses
from runner.project import Project


def test_a_change_of_several_lines_that_stands_in_the_plan_is_not_asked_again(workplace, tmp_path):
    place = Place(workplace, tmp_path).prepare()
    wish = "as TSV,\n\n  with dates (comment 5)"
    assert place.clone.change("TASK-007", wish).code == 0
    plan = (place.clone.place / "TASK-GRAPH.md").read_text()
    assert plan.count("as TSV, with dates (comment 5)") == 1
    assert place.clone.change("TASK-007", wish).code == 0
    assert (place.clone.place / "TASK-GRAPH.md").read_text() == plan


class InClone(House):
    """The clone of an issue, for runs that are stopped at one of their effects."""

    clone = None

    @property
    def repo(self):
        return self.clone.place

    @property
    def environment(self):
        return self.clone.environ


def _moves_the_branch(kind, target):
    return (kind, target) == ("ref", f"refs/heads/{BRANCH}")


@pytest.mark.parametrize("times", [1, 2])
def test_what_a_crash_left_in_the_remote_alone_is_ours_and_taken_in(workplace, tmp_path, times):
    """The landing, and the record of its status: pushed, and the branch here is not moved yet."""
    place = Place(workplace, tmp_path).prepare()
    plan = place.clone.place / "TASK-GRAPH.md"
    task = a_task("TASK-008", "Yours", blocks={"b.py": "B = 1\n"}, tests=["true"])
    plan.write_text(f"{plan.read_text()}\n{task}")
    place.clone.prepare("main")
    house = InClone(tmp_path)
    object.__setattr__(house, "clone", place.clone)
    assert house.run("TASK-008", watch=stop_before(_moves_the_branch, times)).code == STOPPED
    left = place.clone.look()
    assert left.tip == place.tip()
    assert left.tip != left.head
    assert left.is_cut_off
    assert place.clone.build(is_retried=False).code == 0
    found = place.clone.look()
    assert found.is_done
    assert found.tip == found.head
    assert not found.is_cut_off
    assert "Status: DONE" in house.git("show", "HEAD:TASK-GRAPH.md").partition("TASK-008")[2]


def test_what_a_change_makes_stale_is_approved_though_a_crash_came_between(workplace, tmp_path):
    place = Place(workplace, tmp_path).prepare()
    plan = place.clone.place / "TASK-GRAPH.md"
    task = a_task("TASK-008", "Yours", blocks={"b.py": "B = 1\n"}, tests=["true"])
    plan.write_text(f"{plan.read_text()}\n{task}")
    place.clone.prepare("main")
    assert place.clone.build(is_retried=False).code == 0
    wish = "as TSV (comment 5)"
    assert place.clone._go("change", "--json", "--yes", "--", "TASK-008", wish).code == 0
    assert [one.status for one in place.clone.look().tasks] == [Status.STALE]
    assert place.clone.change("TASK-008", wish).code == 0
    assert [one.status for one in place.clone.look().tasks] == [Status.PENDING]


def test_what_somebody_pushed_is_not_ours(workplace, tmp_path):
    place = Place(workplace, tmp_path).prepare()
    place.push("theirs.txt")
    found = place.clone.look()
    assert found.tip != found.head
    assert not found.is_cut_off


def test_a_refusal_that_the_journal_has_is_not_done_again(workplace, tmp_path):
    """As when a kill came before it was told: the next draft may have the same bytes."""
    place = Place(workplace, tmp_path).prepare()
    draft = DraftProposed(1, "TASK-GRAPH.md", "text", "sha256:" + "a" * 64, (), "")
    with Journal.open(place.clone.journal, run="a") as journal:
        journal.append(DraftReviewed(1, draft.digest, approved=False, reason="plainer (comment 7)"))
    assert place.clone.reject(draft, "plainer", "comment 7").code == 0
    assert "DRAFT-1" in place.clone.reject(draft, "plainer", "comment 70").stderr


def test_the_same_words_to_two_tasks_are_asked_of_both(workplace, tmp_path):
    place = Place(workplace, tmp_path)
    workplace.plan(BASE, a_task("TASK-008", "Yours", blocks={"b.py": "B = 1\n"}, tests=["true"]))
    workplace.git("push", "-q", "origin", "main")
    place.prepare()
    wish = "TASK-007 and TASK-008 want a title (review 5)"
    for _ in range(2):
        for task in ("TASK-008", "TASK-007"):
            assert place.clone.change(task, wish).code == 0
    plan = (place.clone.place / "TASK-GRAPH.md").read_text()
    first, second = plan.split("TASK-008: Yours")
    assert (first.count(wish), second.count(wish)) == (1, 1)


def test_a_plan_of_another_text_is_told_from_one_of_this(workplace, tmp_path):
    place = Place(workplace, tmp_path).prepare()
    assert place.clone.look().is_planned
    digest = "sha256:" + "a" * 64
    with Journal.open(place.clone.journal, run="a") as journal:
        ours = DraftProposed(1, "TASK-GRAPH.md", "text", digest, (), "# Export", "issue.md")
        journal.append(ours)
        journal.append(DraftProposed(2, "TASK-GRAPH.md", "text", digest, (), "a wish by hand"))
    assert place.clone.look().is_planned
    place.clone.save_request_text("# Import")
    assert not place.clone.look().is_planned
    place.clone.save_request_text("much " * 10_000)
    assert not place.clone.look().is_planned
    place.clone.withdraw(ours, "another text")
    assert [one.number for one in place.clone._open().state().open_drafts] == [2]


def test_an_approved_plan_is_committed_once_in_the_remote_first(workplace, tmp_path, monkeypatch):
    place = Place(workplace, tmp_path).prepare()
    plan, before = place.clone.place / "TASK-GRAPH.md", place.tip()
    plan.write_text(f"{plan.read_text()}\n## TASK-008: Export\n\n- Command: true\n")

    def cut_off(*_):
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(issue_clone, "move_branch", cut_off)
        with pytest.raises(KilledError):
            place.clone.prepare("main")
    pushed = place.tip()
    assert pushed != before
    assert place.clone.look().head == before
    place.clone.prepare("main")
    facts = place.clone.look()
    assert (facts.head, facts.tip) == (pushed, pushed)
    shown = workplace.git(f"--git-dir={place.bare}", "show", f"{pushed}:TASK-GRAPH.md")
    assert "## TASK-008: Export" in shown
    assert workplace.git("-C", str(place.clone.place), "status", "--porcelain", "-uno") == ""
    place.clone.prepare("main")
    assert place.tip() == pushed


def test_a_plan_is_not_committed_over_what_somebody_pushed(workplace, tmp_path):
    place = Place(workplace, tmp_path).prepare()
    place.push("theirs.txt", f"origin/{BRANCH}")
    theirs = place.tip()
    plan = place.clone.place / "TASK-GRAPH.md"
    plan.write_text(f"{plan.read_text()}\n## TASK-008: Export\n\n- Command: true\n")
    place.clone.prepare("main")
    facts = place.clone.look()
    assert (facts.tip, place.tip()) == (theirs, theirs)
    assert facts.head != theirs
    assert "TASK-008" in plan.read_text()


EXPORT = """
## TASK-008: Export

- Output files: `made/8`
- Proof: none — it is for people

```text file=made/8
eight
```
"""


def test_a_project_in_a_subfolder_is_planned_and_built_there(workplace, tmp_path):
    place = Place(workplace, tmp_path, inside="app").prepare()
    plan = place.clone.place / "app/TASK-GRAPH.md"
    plan.write_text(plan.read_text() + EXPORT)
    place.clone.prepare("main")
    facts = place.clone.look()
    assert (facts.head, facts.plan) == (facts.tip, "app/TASK-GRAPH.md")
    assert [(one.id, one.outputs) for one in facts.tasks] == [("TASK-008", ("app/made/8",))]
    ended = place.clone.build(is_retried=False)
    assert ended.code == 0, ended.stderr
    assert place.clone.look().is_done
    assert find_journal(place.clone.folder, "app").is_file()
    assert not (place.clone.place / "TASK-GRAPH.md").exists()
    shown = workplace.git(f"--git-dir={place.bare}", "ls-tree", "-r", "--name-only", place.tip())
    assert "app/made/8" in shown.split()


def test_an_issue_of_a_repository_without_a_plan_is_looked_at(workplace, tmp_path):
    place = Place(workplace, tmp_path)
    workplace.git("rm", "-q", "TASK-GRAPH.md")
    workplace.git("commit", "-q", "-m", "no plan")
    workplace.git("push", "-q", "origin", "main")
    facts = place.prepare().clone.look()
    assert (facts.tasks, facts.plan, facts.head) == ((), "TASK-GRAPH.md", facts.tip)


def test_the_plan_that_a_variable_names_is_the_clone_s_own(workplace, tmp_path):
    place = Place(workplace, tmp_path, inside="app")
    environ = {**os.environ, "RUNNER_BUILD_TASK_GRAPH": "app/TASK-GRAPH.md"}
    place.clone.source = Project.open(workplace.root, environ)
    place.prepare()
    assert place.clone.look().plan == "app/TASK-GRAPH.md"


def test_a_status_alone_is_no_plan_to_commit(workplace, tmp_path):
    place = Place(workplace, tmp_path).prepare()
    plan, before = place.clone.place / "TASK-GRAPH.md", place.tip()
    done = set_statuses(plan.read_bytes(), {"TASK-007": (Status.DONE, "")})
    assert done != plan.read_bytes()
    plan.write_bytes(done)
    place.clone.prepare("main")
    assert place.tip() == before


def test_a_remote_that_refuses_the_plan_is_told(workplace, tmp_path):
    place = Place(workplace, tmp_path).prepare()
    hook = place.bare / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no plans here\nexit 1\n")
    hook.chmod(0o755)
    plan, before = place.clone.place / "TASK-GRAPH.md", place.tip()
    plan.write_text(f"{plan.read_text()}\n## TASK-008: Export\n\n- Command: true\n")
    with pytest.raises(RunnerError, match=f"rejected the plan on {BRANCH}") as told:
        place.clone.prepare("main")
    assert "no plans here" in told.value.detail
    assert place.tip() == before
