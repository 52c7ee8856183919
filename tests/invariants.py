"""What must hold of a repository whatever happened to the runner: one function each."""

import json
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from runner.journal.records import read_journal
from runner.journal.state import RunState, fold
from runner.model import Status
from runner.repo.trailers import parse_message

BUILD = "artifacts/build"
JOURNAL = f"{BUILD}/journal.jsonl"
_DOCUMENTS = {"TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md"}
_STATUS = re.compile(rb"^- Status: .*\n", re.MULTILINE)
_SECTION = re.compile(r"^## (TASK-\d+):", re.MULTILINE)
_SAID = re.compile(r"^- Status: ([A-Z-]+)", re.MULTILINE)


def is_document(path):
    """Whether the runner itself writes this file: "the same tree" leaves it out."""
    return path in _DOCUMENTS or path.startswith(f"{BUILD}/")


def git(repo, *words):
    done = subprocess.run(["git", *words], cwd=repo, capture_output=True, check=False)
    assert done.returncode == 0, f"git {words[0]}: {done.stderr.decode()}"
    return done.stdout.decode()


@dataclass(frozen=True)
class Landing:
    """A commit of a task, by its trailers."""

    commit: str
    task: str
    attempt: str
    spec: str


def messages(repo):
    """Commit to message, of all that HEAD reaches, newest first."""
    listed = git(repo, "log", "-z", "--format=%H%n%B", "HEAD", "--").split("\0")
    return [tuple(one.split("\n", 1)) for one in listed if one]


def landings(repo):
    """The commits of tasks that HEAD reaches, newest first."""
    found = []
    for commit, message in messages(repo):
        said = parse_message(message).trailers
        if "Task" in said:
            found.append(Landing(commit, said["Task"][-1], said["Attempt"][-1], said["Spec"][-1]))
    return found


def state_of(repo):
    """What the journal folds to."""
    return fold(read_journal(repo / JOURNAL))


# --- after any crash ------------------------------------------------------------------


def hold(repo, plan, home=None, secrets=()):
    """All that must hold at any time; `plan` are the person's bytes, `home` their folder."""
    every_prefix_of_the_journal_replays(repo)
    what_is_done_has_its_commit(repo)
    nothing_landed_twice(repo)
    the_plan_differs_in_statuses_alone(repo, plan)
    nothing_staged_is_lost(repo)
    no_secret_was_written(repo, home, secrets)
    git_finds_nothing_wrong(repo)


def every_prefix_of_the_journal_replays(repo):
    """Whole records fold one by one, and to the same as all at once."""
    journal = repo / JOURNAL
    if not journal.exists():
        return
    state, records = RunState.empty(), tuple(read_journal(journal))
    for number, record in enumerate(records, start=1):
        assert record.seq == number
        state = state.after(record)
    assert state == fold(records)


def what_is_done_has_its_commit(repo):
    """DONE in the plan means: in the journal, with a commit HEAD reaches or without changes."""
    state = state_of(repo)
    reached = set(git(repo, "rev-list", "HEAD", "--").split())
    for id_, status in plan_statuses(repo).items():
        known = state.task(id_)
        if status is Status.DONE:
            assert known.status is Status.DONE, (
                f"{id_} is DONE in the plan, {known.status} in the journal"
            )
        if known.status is Status.DONE and known.commit:
            assert known.commit in reached, f"{id_} is DONE, and its commit is not in HEAD"


def plan_statuses(repo):
    """The statuses that TASK-GRAPH.md says."""
    sections = _SECTION.split((repo / "TASK-GRAPH.md").read_text())
    return {
        id_: Status(found[1]) if (found := _SAID.search(text)) else Status.PENDING
        for id_, text in zip(sections[1::2], sections[2::2], strict=True)
    }


def nothing_landed_twice(repo):
    """No task and attempt has two commits, and no task and specification has."""
    found = landings(repo)
    for what in (lambda one: (one.task, one.attempt), lambda one: (one.task, one.spec)):
        twice = [key for key, times in Counter(map(what, found)).items() if times > 1]
        assert not twice, f"landed more than once: {twice}"


def the_plan_differs_in_statuses_alone(repo, plan):
    """Beside statuses, every byte is the person's."""
    now = (repo / "TASK-GRAPH.md").read_bytes()
    assert _without_statuses(now) == _without_statuses(plan)


def nothing_staged_is_lost(repo):
    """What is listed as staged is there, whole; what the journal holds has its ref."""
    from runner.writes.staging import Staging

    staging = Staging(repo)
    for one in staging.list():
        staging.read(one)
    for id_, known in state_of(repo).tasks.items():
        if known.held is not None:
            ref = f"refs/runner/{known.held.ref}"
            assert git(repo, "rev-parse", "--verify", "-q", ref).strip(), f"{id_}: {ref} is gone"


def no_secret_was_written(repo, home, secrets):
    """None of these values stands in a file of the runner's, in the repository or at home."""
    for file in (*_files(repo / BUILD), *(_files(home / ".cache") if home else ())):
        content = file.read_bytes()
        for secret in secrets:
            assert secret.encode() not in content, f"a secret stands in {file}"


def git_finds_nothing_wrong(repo):
    """`git fsck` is content; objects that nothing names are no damage."""
    said = git(repo, "fsck", "--strict", "--no-dangling", "--no-progress")
    assert not said, said


# --- after a run that ended by itself -------------------------------------------------


def finished(repo):
    """All that must hold once every task is DONE."""
    the_repository_is_clean(repo)
    every_task_is_done(repo)
    one_status_line_a_task(repo)
    every_check_is_in_a_record(repo)
    every_write_has_one_fate(repo)
    every_decision_is_written_once(repo)
    nothing_is_left_behind(repo)


def the_repository_is_clean(repo):
    """Nothing is modified, staged or left untracked."""
    said = git(repo, "status", "--porcelain", "--untracked-files=all")
    assert not said, f"git status says:\n{said}"


def the_work_is_clean(repo):
    """Nothing is modified, staged or untracked but documents of the runner's own."""
    said = git(repo, "status", "--porcelain", "--untracked-files=all").splitlines()
    said = [line for line in said if not is_document(line[3:])]
    assert not said, "git status says:\n" + "\n".join(said)


def every_task_is_done(repo):
    """In the plan, in the journal, and in the plan as committed."""
    state = state_of(repo)
    assert not state.run_open
    assert state.landing is None
    for id_, status in plan_statuses(repo).items():
        assert (status, state.task(id_).status) == (Status.DONE, Status.DONE), id_
    committed = git(repo, "show", "HEAD:TASK-GRAPH.md")
    assert committed.encode() == (repo / "TASK-GRAPH.md").read_bytes()


def one_status_line_a_task(repo):
    """CHECKPOINT.md says of every task once that it is DONE."""
    text = (repo / BUILD / "CHECKPOINT.md").read_text()
    numbers = Counter(int(n) for n in re.findall(r"^--- Task (\d+): .* DONE", text, re.MULTILINE))
    expected = {int(id_.rpartition("-")[2]): 1 for id_ in plan_statuses(repo)}
    assert dict(numbers) == expected, text


def every_check_is_in_a_record(repo):
    """A task that is DONE without a commit of its own is named by a record commit, once."""
    state = state_of(repo)
    checks = {id_ for id_ in plan_statuses(repo) if not state.task(id_).commit}
    named = [
        value.split()[0]
        for _, message in messages(repo)
        for value in parse_message(message).trailers.get("Checked", ())
    ]
    assert sorted(named) == sorted(checks)


def every_write_has_one_fate(repo):
    """The write log says of every attempt with writes what became of it, once."""
    lines = [json.loads(line) for line in (repo / BUILD / "WRITE_LOG.jsonl").open()]
    fates = Counter((one["task"], one["attempt"]) for one in lines if "outcome" in one)
    written = {(one["task"], one["attempt"]) for one in lines if "path" in one}
    assert dict(fates) == dict.fromkeys(written, 1)
    landed = {(one.task, int(one.attempt)) for one in landings(repo)}
    said = {(one["task"], one["attempt"]) for one in lines if one.get("outcome") == "landed"}
    assert said == landed


def every_decision_is_written_once(repo):
    """Each decision of the journal stands in DECISIONS.md under its number, and no other does."""
    file = repo / BUILD / "DECISIONS.md"
    text = file.read_text() if file.exists() else ""
    numbers = [int(number) for number in re.findall(r"^## DECISION-(\d+):", text, re.MULTILINE)]
    events = [r.event for r in read_journal(repo / JOURNAL) if r.type == "decision.made"]
    assert numbers == [event.number for event in events], text
    titles = [event.decision.title for event in events]
    assert len(set(titles)) == len(titles), titles


def nothing_is_left_behind(repo):
    """No half-written file stands anywhere, and no reference of the runner's own is kept."""
    left = [str(file) for file in _files(repo) if file.name.endswith((".tmp", ".lock"))]
    left = [path for path in left if not path.endswith(f"{BUILD}/run.lock")]
    assert not left, left
    assert not git(repo, "for-each-ref", "refs/runner", "refs/heads/draft")


# --- recovering -----------------------------------------------------------------------


def recovering_twice_is_recovering_once(run, repo):
    """A run that finds nothing to do changes no commit, no journal line and no file."""
    before = _standing(repo)
    run()
    assert _standing(repo) == before


def _standing(repo):
    files = {str(file.relative_to(repo)): file.read_bytes() for file in _files(repo)}
    return {path: content for path, content in files.items() if not path.startswith(".git/")}, git(
        repo, "rev-parse", "HEAD"
    )


# --- details --------------------------------------------------------------------------


def _files(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            yield Path(at, name)


def _without_statuses(plan):
    return _STATUS.sub(rb"", plan)
