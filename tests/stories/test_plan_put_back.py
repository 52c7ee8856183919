"""Ordinary tidying with git puts an older text of the plan back: what landed stays landed."""

import os
import signal
import subprocess
import time
from contextlib import suppress

import pytest
from workplace import a_task

COUNT = 4


def chain(count=COUNT, *, slow=()):
    """Tasks that need each other in a row; each says in a file of its own that it was built."""
    tasks = []
    for n in range(1, count + 1):
        wait = f"while [ ! -e ../go-{n} ]; do sleep 0.02; done; " if n in slow else ""
        tasks.append(
            a_task(
                f"TASK-{n:03d}",
                f"Makes f{n}",
                needs=[f"TASK-{n - 1:03d}"] if n > 1 else [],
                outputs=[f"f{n}.txt"],
                command=f"{wait}echo {n} > f{n}.txt",
                tests=[f"grep {n} f{n}.txt"],
            )
        )
    return tasks


def ids(count=COUNT):
    return [f"TASK-{n:03d}" for n in range(1, count + 1)]


@pytest.fixture
def cut_off(workplace, monkeypatch):
    """Two of the tasks have landed, and the run that built them was killed: no record commit."""
    workplace.plan(*chain())
    killed_after(workplace, "TASK-002", monkeypatch)
    assert workplace.landings == ids(2)
    assert workplace.git("show", "HEAD:TASK-GRAPH.md").count("PENDING") == COUNT
    return workplace


def killed_after(workplace, task, monkeypatch):
    """A run in a process of its own that ends, like a killed one, once a task is DONE."""
    from runner.run.landing.record_commit import record as honest

    assert honest
    code = f"""
import os, sys
from runner.run import engine
end = engine.Engine._end
def ended(self, one):
    end(self, one)
    if one.id == {task!r}:
        self._publish(now=True)
        os._exit(9)
engine.Engine._end = ended
from runner.cli import main
sys.exit(main(["run", "--trust", "-j", "1"]))
"""
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=workplace.root, capture_output=True, check=False
    )
    assert done.returncode == 9, done.stderr.decode()


def all_built_once(workplace, count=COUNT):
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.landings == ids(count)
    assert len(workplace.happened("attempt.started")) == count
    assert workplace.read("TASK-GRAPH.md").count("- Status: DONE") == count
    assert workplace.git("show", "HEAD:TASK-GRAPH.md").count("- Status: DONE") == count
    assert workplace.dirt == []
    again = workplace.run()
    assert (again.code, again.out) == (0, f"all {count} tasks are DONE; nothing to do\n")
    return ended


def stash(workplace):
    workplace.git("stash")


def undone_in_an_editor(workplace):
    workplace.write({"TASK-GRAPH.md": workplace.git("show", "HEAD~2:TASK-GRAPH.md") + "\n"})


def rebase(workplace):
    workplace.git("stash")
    workplace.git("switch", "-q", "-c", "upstream", "HEAD~2")
    workplace.commit({"other.txt": "theirs\n"}, "theirs")
    workplace.git("switch", "-q", "main")
    workplace.git("rebase", "-q", "upstream")


@pytest.mark.nightly(
    sibling="tests/run/test_run_own_lines.py::test_all_that_was_written_is_gone_where_the_file_is_as_committed"
)
@pytest.mark.parametrize("tidy", [stash, rebase])
def test_what_landed_is_not_built_again(cut_off, tidy):
    tidy(cut_off)
    assert cut_off.read("TASK-GRAPH.md").count("PENDING") == COUNT
    assert cut_off.statuses["TASK-001"] == "DONE"
    ended = all_built_once(cut_off)
    assert "restored to an older version" in ended.err


def test_a_stash_that_comes_back_afterwards_changes_nothing(cut_off):
    cut_off.git("stash")
    all_built_once(cut_off)
    cut_off.git("stash", "pop", check=False)
    cut_off.git("checkout", "HEAD", "--", "TASK-GRAPH.md", check=False)
    assert cut_off.run().out == f"all {COUNT} tasks are DONE; nothing to do\n"


def test_a_clone_of_what_was_cut_off_adopts_what_landed(cut_off):
    clone = cut_off.cloned()
    ended = clone.run()
    assert ended.code == 0, ended.said
    assert clone.landings == ids()
    assert [one["task"] for one in clone.happened("attempt.started")] == ids()[2:]


def test_a_record_that_was_reset_away_is_no_request(workplace):
    workplace.plan(*chain(2))
    assert workplace.run().code == 0
    workplace.git("reset", "-q", "--hard", "HEAD~1")
    assert workplace.read("TASK-GRAPH.md").count("PENDING") == 2
    all_built_once(workplace, 2)


@pytest.mark.parametrize("tidy", [stash, undone_in_an_editor])
def test_tidying_while_a_run_goes_on_leaves_a_true_plan(workplace, tidy):
    workplace.plan(*chain(3, slow=(3,)))
    going = workplace.start("run", "--trust", "-j", "1", "--no-sandbox")
    try:
        until(lambda: workplace.has("artifacts/build/journal.jsonl"))
        until(lambda: len(workplace.happened("task.done")) == 2)
        until(lambda: workplace.read("TASK-GRAPH.md").count("DONE") == 2)
        tidy(workplace)
        assert workplace.read("TASK-GRAPH.md").count("PENDING") == 3
        slots = workplace.home / "cache"
        # Named: git's files come and go beside it.
        built = "*/repositories/*/slots/*/tree/f2.txt"

        def is_over():  # a slot that is laid out anew loses what was put into it
            for path in slots.glob(built):
                with suppress(OSError):
                    (path.parent.parent / "go-3").touch()
            return going.poll() is not None

        until(is_over)
        _, err = going.communicate(timeout=10)
    finally:
        if going.poll() is None:
            os.kill(going.pid, signal.SIGKILL)
    assert going.returncode == 0, err
    assert workplace.read("TASK-GRAPH.md").count("- Status: DONE") == 3
    assert workplace.run().out == "all 3 tasks are DONE; nothing to do\n"
    assert workplace.landings == ids(3)


def until(said, seconds=120):
    ends = time.monotonic() + seconds
    while not said():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_a_status_that_a_person_committed_is_a_request(cut_off):
    """The record says DONE, a commit of a person says PENDING: that is no older text."""
    assert cut_off.run().code == 0
    cut_off.edit_plan("- Status: DONE", "- Status: PENDING")
    cut_off.git("commit", "-qam", "TASK-001 once more")
    ended = cut_off.run()
    assert ended.code == 0, ended.said
    assert len(cut_off.happened("attempt.started", "TASK-001")) == 2
    assert len(cut_off.happened("attempt.started", "TASK-002")) == 1


@pytest.mark.parametrize("was", ["DONE", "PENDING"])
def test_status_put_back_by_an_older_text_of_a_stale_task_stays_stale(workplace, was):
    """The committed status is older than what made the task STALE: it approves nothing."""
    workplace.plan(*chain(1))
    assert workplace.run().code == 0
    if was == "DONE":
        workplace.git("tag", "built")  # so the next record stands on this one
    workplace.edit_plan("- Status: DONE", "- Status: STALE — look again")
    assert workplace.run().code == 3
    workplace.git("reset", "-q", "--hard", "HEAD~1")
    assert workplace.status_line("TASK-001") == f"- Status: {was}"
    assert workplace.run().code == 3
    assert workplace.status_line("TASK-001") == "- Status: STALE — look again"


def test_a_blocked_task_that_a_person_makes_pending_is_tried_again_before_any_record(cut_off):
    """One status edited among others that stand as they were written is a hand's."""
    cut_off.edit_plan(cut_off.status_line("TASK-003"), "- Status: BLOCKED — not yet")
    assert cut_off.run().code == 3
    cut_off.git("reset", "-q", "--soft", "HEAD~1")  # the record: what is committed lags again
    cut_off.git("reset", "-q")
    cut_off.edit_plan("- Status: BLOCKED — not yet", "- Status: PENDING")
    ended = cut_off.run()
    assert ended.code == 0, ended.said
    assert cut_off.landings == ids()


def test_a_text_from_the_middle_of_a_run_is_no_request(cut_off):
    """An editor's undo may go back to any text that it had: here to one where TASK-001 is DONE."""
    cut_off.edit_plan(
        "- Status: DONE\n- Depends on: TASK-001", "- Status: PENDING\n- Depends on: TASK-001"
    )
    all_built_once(cut_off)


def test_what_another_clone_recorded_is_heard_after_a_pull(workplace):
    """A record is no older text only for its subject: somebody asked for it elsewhere."""
    workplace.plan(*chain(1))
    assert workplace.run().code == 0
    clone = workplace.cloned()
    assert clone.runner("change", "TASK-001", "dates are UTC", "--yes").code == 0
    workplace.git("pull", "-q", "--ff-only", str(clone.root), "main")
    assert workplace.statuses["TASK-001"] == "STALE"
    assert workplace.run().code == 3
    assert workplace.status_line("TASK-001").startswith("- Status: STALE")
    assert len(workplace.happened("attempt.started")) == 1


@pytest.fixture
def stuck(workplace):
    """The last task is BLOCKED, and the record that says so was reset away: its text lags."""

    def built(count):
        failing = a_task(f"TASK-{count:03d}", outputs=["never.txt"], command="false")
        workplace.plan(*chain(count - 1), failing)
        assert workplace.run().code == 1
        if workplace.landings:  # else nothing was built, and there is no record
            workplace.git("reset", "-q", "--mixed", "HEAD~1")
        assert workplace.read("TASK-GRAPH.md").count("- Status: BLOCKED") == 1
        return len(workplace.happened("attempt.started", f"TASK-{count:03d}"))

    return built


def test_one_more_try_is_heard_where_no_work_is_taken_back(workplace, stuck):
    """The only status that was written and not committed is the one that a hand edits."""
    tried = stuck(1)
    workplace.edit_plan(workplace.status_line("TASK-001"), "- Status: PENDING")
    assert workplace.run().code == 1
    assert len(workplace.happened("attempt.started", "TASK-001")) > tried


def test_a_text_that_takes_work_back_asks_for_no_other_try_either(workplace, stuck):
    tried = stuck(2)
    workplace.git("checkout", "--", "TASK-GRAPH.md")
    assert "restored to an older version" in workplace.run().err
    assert len(workplace.happened("attempt.started", "TASK-002")) == tried
    assert workplace.landings == ids(1)


@pytest.mark.parametrize(
    ("folder", "tidy"),
    [
        (".", ("add", "-A")),
        ("packages/a [x]", ("stash", "-u", "-q")),
    ],
)
def test_the_journal_stays_on_branches_from_before_it_was_ignored(workplace, folder, tidy):
    """What a branch holds, or what is cleaned there, is gone with the switch to another."""
    task = a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt", tests=["grep a a.txt"])
    workplace.write({".git/info/exclude": "*.mine"})
    workplace.commit({f"{folder}/TASK-GRAPH.md": task})
    assert workplace.run(here=folder).code == 0
    assert not workplace.dirt
    journal = workplace.root / folder / "artifacts/build/journal.jsonl"
    told = journal.read_bytes()
    workplace.git("switch", "-q", "-c", "colleague", "HEAD~2")
    workplace.write({"a.mine": "", "theirs.txt": "", "app/run.lock": ""})
    workplace.git(*tidy)
    workplace.git("commit", "-q", "--allow-empty", "-m", "theirs")
    assert workplace.has("a.mine")
    workplace.git("switch", "-q", "main")
    workplace.git("merge", "-q", "--no-edit", "colleague")
    assert workplace.has("app/run.lock") is (tidy[0] == "add")
    assert journal.read_bytes() == told
    assert workplace.run(here=folder).code == 0
    assert journal.read_bytes().count(b'"attempt.started"') == 1


def test_what_a_person_took_out_of_the_ignored_files_is_theirs_on_every_branch(workplace):
    workplace.write({"artifacts/build/.gitignore": "/journal.jsonl\n*.lock\n"})
    workplace.plan(*chain(1))
    assert workplace.run().code == 0
    assert workplace.run().code == 0
    said = workplace.read(".git/info/exclude").splitlines()
    ours = [line for line in said if "artifacts/build" in line]
    assert ours == ["**/artifacts/build/journal.jsonl", "**/artifacts/build/*.lock"]


def test_files_of_a_run_that_somebody_committed_are_nobodys_changes(workplace):
    """They differ with every run: to commit them would never be enough."""
    workplace.plan(*chain(1))
    assert workplace.run().code == 0
    files = ("run.lock", "journal.jsonl", "WRITE_LOG.jsonl")
    paths = [f"artifacts/build/{file}" for file in files]
    workplace.git("add", "-f", *paths)
    workplace.plan(*chain(2))
    workplace.git("commit", "-q", "--allow-empty", "-am", "all of it")
    said = workplace.run()
    assert (said.code, workplace.landings) == (0, ids(2)), said.said
    hint = next(line for line in said.err.splitlines() if "git rm" in line)
    assert all(path in hint for path in paths)
    workplace.git("rm", *hint.partition("git rm ")[2].partition(",")[0].split())
    workplace.git("commit", "-q", "-m", "as the hint says")
    again = workplace.run()
    assert (again.code, "git rm" in again.err) == (0, False), again.said
    workplace.plan(*chain(3))
    workplace.write({"f1.txt": "mine\n"})
    assert "uncommitted changes" in workplace.run().err
