"""A commit message that outlived its bytes proves nothing, here and in every clone."""

import re

import pytest
from built import copy
from workplace import a_task

from runner.journal.records import commits_made

ONE = a_task("TASK-001", "One", blocks={"one.txt": "good\n"}, tests=["grep -q good one.txt"])
TWO = a_task("TASK-002", "Two", blocks={"two.txt": "two\n"}, tests=["grep -q two two.txt"])
CHECK = a_task("TASK-003", "Check", needs=["TASK-001"], tests=["grep -q good one.txt"])


@pytest.fixture
def built(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(ONE)
    assert workplace.run().code == 0
    workplace.git("reset", "-q", "--hard")
    return workplace


def landing(place, task="TASK-001"):
    return place.git("log", "--format=%H", f"--grep=Task: {task}").splitlines()[0]


def unverified(place):
    return {
        one["id"]
        for one in place.runner("status", "--json").document["tasks"]
        if one["status"] == "DONE" and not one["verified"]
    }


def over_the_landing(place, *, files=None, message=""):
    """The branch from before the landing, with these commits on it and the last plan."""
    last = place.head
    place.git("reset", "-q", "--hard", landing(place))
    place.write(files or {})
    place.git("add", "--", *(files or {}))
    words = ("-m", message) if message else ("--no-edit",)
    place.git("commit", "-q", "--amend", *words)
    records(place, last)


def by_hand(place, path, text):
    place.write({path: text})
    place.git("add", path)
    place.git("commit", "-q", "-m", "mine")


def records(place, last):
    """A commit of the runner's documents as they were."""
    place.git("checkout", last, "--", "TASK-GRAPH.md", "artifacts")
    place.git("commit", "-q", "-m", "the plan as it was")


def test_a_clone_believes_the_landing_as_the_runner_made_it(built):
    assert "Files: sha256:" in built.git("log", "-1", "--format=%B", landing(built))
    assert unverified(built.cloned()) == set()
    # Other words around the evidence leave it as it is; a proof by hand in it proves nothing.
    message = built.git("log", "-1", "--format=%B", landing(built)).strip()
    over_the_landing(built, message=f"{message}\nSigned-off-by: Ada <ada@example.org>\n")
    assert unverified(built.cloned("signed")) == set()
    better = re.sub(r"Proof: TC-001 pass exit=0", "Proof: TC-001 pass exit=0 passed=9", message)
    over_the_landing(built, message=better)
    assert unverified(built.cloned("better")) == {"TASK-001"}


def test_an_amended_landing_is_unverified_here_and_in_a_clone(built):
    for path, text in (("conftest.py", "x = 1\n"), ("one.txt", "bad\n")):
        here = copy(built.root, built.root.with_name(path), built.home)
        over_the_landing(here, files={path: text})
        clone = here.cloned(f"clone-{path}")
        for place in (here, clone):
            assert "Proof: TC-001 pass" in place.git("log", "-1", "--format=%B", landing(place))
            assert unverified(place) == {"TASK-001"}, path
        said = clone.runner("evidence", "TASK-001")
        assert "unproven: the proof in its commit is for another" in said.out
        assert "proven by the runner" not in said.out
        assert "runner verify TASK-001" in said.out


def test_an_amended_landing_that_passes_is_shipped_and_one_that_fails_is_not(built):
    over_the_landing(built, files={"one.txt": "good, and mine\n"})
    assert built.cloned().runner("ship", "--trust").code == 0
    over_the_landing(built, files={"one.txt": "bad\n"})
    assert built.cloned("other").runner("ship", "--trust").code != 0


def test_a_message_that_is_copied_proves_nothing(built):
    message = built.git("log", "-1", "--format=%B", landing(built)).strip()
    for name, said in (("with", message), ("without", re.sub(r"\nFiles: .*", "", message))):
        here = copy(built.root, built.root.with_name(name), built.home)
        here.commit({"one.txt": "bad\n"}, message=said)
        assert unverified(here.cloned(f"clone-{name}")) == {"TASK-001"}, name
        assert unverified(here) == {"TASK-001"}, name


def test_two_landings_in_one_commit_are_unverified(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(ONE, TWO)
    assert workplace.run().code == 0
    workplace.git("reset", "-q", "--hard")
    first = workplace.git("log", "--format=%H", "--grep=Task: ").splitlines()[-1]
    message = workplace.git("log", "-1", "--format=%B", landing(workplace, "TASK-002"))
    workplace.git("reset", "-q", "--soft", f"{first}^")
    workplace.git("commit", "-q", "-m", message)
    assert unverified(workplace.cloned()) == {"TASK-001", "TASK-002"}


def test_a_landing_that_is_picked_is_proven_and_one_whose_conflict_was_resolved_is_not(built):
    landed, last = landing(built), built.head
    built.git("reset", "-q", "--hard", f"{landed}^")
    by_hand(built, "mine.txt", "mine\n")
    built.git("cherry-pick", "-x", landed)
    records(built, last)
    assert unverified(built.cloned()) == set()
    built.git("reset", "-q", "--hard", f"{landed}^")
    by_hand(built, "one.txt", "mine\n")
    built.git("cherry-pick", landed, check=False)
    built.write({"one.txt": "good and mine\n"})
    built.git("add", "one.txt")
    built.git("commit", "-q", "--no-edit")
    records(built, last)
    assert unverified(built.cloned("other")) == {"TASK-001"}


def test_a_commit_of_the_first_versions_is_believed_where_its_journal_is(built):
    journal = built.root / "artifacts/build/journal.jsonl"
    landed, last = landing(built), built.head
    message = re.sub(r"\nFiles: .*", "", built.git("log", "-1", "--format=%B", landed))
    built.git("reset", "-q", "--hard", landed)
    built.git("commit", "-q", "--amend", "-m", message)
    old = built.head
    records(built, last)
    clone = built.cloned()
    assert unverified(clone) == {"TASK-001"}
    assert clone.run().code == 0  # proven again at its end
    assert unverified(clone) == set()
    assert landed in set(commits_made(journal))
    assert old not in set(commits_made(journal))


def test_a_check_that_somebody_wrote_down_by_hand_is_nobodys_proof(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(ONE, CHECK)
    assert workplace.run().code == 0
    assert unverified(workplace.cloned()) == set()
    workplace.git("commit", "-q", "--amend", "--allow-empty", "--no-edit")
    assert unverified(workplace.cloned("same")) == set()
    workplace.write({"one.txt": "good, and mine\n"})
    workplace.git("commit", "-q", "-a", "--amend", "--no-edit")
    assert unverified(workplace.cloned("other")) == {"TASK-001", "TASK-003"}


def test_a_landing_that_was_cut_off_and_rebased_is_its_own_files_alone(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(ONE)
    base = workplace.head
    assert workplace.run().code == 0
    own = landing(workplace)
    journal = workplace.root / "artifacts/build/journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    begun = next(n for n, line in enumerate(lines) if '"type":"task.landing"' in line)
    workplace.git("reset", "-q", "--hard", base)
    journal.write_text("".join(lines[: begun + 1]))  # as a kill behind the branch's move leaves it
    workplace.write({"theirs.txt": "of a person\n"})
    workplace.git("add", "theirs.txt")
    workplace.git("commit", "-q", "-m", "theirs")
    workplace.git("cherry-pick", own)
    assert workplace.run().code == 0
    (landed,) = workplace.happened("task.landed")
    assert landed["paths"] == ["one.txt"]
    assert landed["commit"] == landing(workplace) != own
