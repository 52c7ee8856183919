"""What a task may propose at most: told by stat, before anything is read."""

import os
import time
from pathlib import Path

import pytest
from repo_build import a_change, a_repository, commit_all, git, write

from runner import effects
from runner.repo.git import StoppedError
from runner.repo.proposal_bounds import ProposalBounds, ProposalError
from runner.repo.read import Repository
from runner.repo.scratch import Scratch
from runner.repo.tree_files import make_readable, remove_special_files


def a_well(folder, depth):
    """Folders within each other, and a file in the last."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=at))
    os.close(at)


def a_scratch(real, slot):
    with Repository.open(real) as repo:
        scratch = Scratch.open(slot, repo.lender())
        scratch.reset(repo.head().commit)
    return scratch


def test_a_file_too_large_to_hold_is_named(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    scratch.bounds = ProposalBounds(file_size=1000)
    write(scratch.project, {"big": "x" * 1001})

    with pytest.raises(ProposalError) as refused:
        scratch.changes()
    assert refused.value.message == "big has 1,001 bytes; the limit for one file is 1,000"
    assert "proposal_file_size" in refused.value.hint


def test_a_huge_file_is_refused_before_a_byte_of_it_is_read(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    with (scratch.project / "big").open("wb") as file:
        file.truncate(7 << 30)

    before = _bytes_read()
    with pytest.raises(ProposalError, match="7,516,192,768 bytes"):
        scratch.changes()
    assert _bytes_read() - before < 1 << 26
    assert not any((tmp_path / "slot/git/objects").glob("*/tmp_obj*"))


def _bytes_read():
    """What this process and its children of before have read."""
    said = Path("/proc/self/io").read_text().split()
    return int(said[said.index("rchar:") + 1])


def test_files_that_are_small_are_bounded_together_and_in_number(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    write(scratch.project, {"a": "22", "b": "x" * 600, "c": "x" * 600, "ignored.pyc": "x" * 9000})
    scratch.bounds = ProposalBounds(size=1000)
    with pytest.raises(ProposalError, match=r"1,202 bytes together; the limit is 1,000") as refused:
        scratch.changes()
    assert "proposal_size" in refused.value.hint
    scratch.bounds = ProposalBounds(files=2)
    with pytest.raises(ProposalError, match=r"3 files; the limit is 2") as refused:
        scratch.changes()
    assert "proposal_files" in refused.value.hint
    scratch.bounds = ProposalBounds(file_size=600, size=1202, files=3)
    assert [change.path for change in scratch.changes()] == ["a", "b", "c"]


def test_a_folder_too_deep_to_be_opened_is_told(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    at = os.open(scratch.project, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 200, dir_fd=at)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("lost.txt", os.O_WRONLY | os.O_CREAT, dir_fd=at))
    os.close(at)

    with pytest.raises(ProposalError, match="too deep") as refused:
        scratch.changes()
    assert len(refused.value.path) < 300
    scratch.reset(scratch.base)
    assert scratch.changes() == ()


def test_folders_by_the_thousand_within_each_other_are_told_and_taken_away(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    a_well(scratch.project, 1300)
    with pytest.raises(ProposalError, match="more than 500 folders deep") as refused:
        scratch.changes()
    assert len(refused.value.path) < 300
    make_readable(scratch.tree_folder)
    remove_special_files(scratch.tree_folder)
    scratch.reset(scratch.base)
    assert scratch.changes() == ()


def test_a_base_of_folders_by_the_thousand_within_each_other_is_read(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    a_well(real, 1300)
    commit_all(real, "deep")
    scratch = a_scratch(real, tmp_path / "slot")
    scratch.sign()
    write(scratch.project, {"a": "2"})
    assert [change.path for change in scratch.changes()] == ["a"]
    for folder in (real, scratch.tree_folder):
        effects.remove_tree(folder / "d")  # which pytest could not


def test_what_takes_long_is_given_up_when_nobody_wants_it(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    write(scratch.project, {f"f{n}": "x" for n in range(300)})
    began = time.monotonic()
    scratch.stopped = lambda: True
    with pytest.raises(StoppedError):
        scratch.changes()
    with pytest.raises(StoppedError):
        scratch.apply([a_change("z", "1")])
    with pytest.raises(StoppedError):
        scratch.reset(scratch.base)
    scratch.stopped = lambda: False
    scratch.reset(scratch.base)
    assert scratch.changes() == ()
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("files", "new", "clashes"),
    [
        ({"src/A.py": "1"}, "src/a.py", {"src/a.py": "src/A.py"}),
        ({"Src/a.py": "1"}, "src/b.py", {"src/b.py": "Src"}),
        ({"src/a.py": "1"}, "src/b.py", {}),
        ({"ü.py": "1"}, "u\u0308.py", {"u\u0308.py": "ü.py"}),
    ],
)
def test_new_names_that_differ_in_case_alone_are_known(tmp_path, files, new, clashes):
    scratch = a_scratch(a_repository(tmp_path / "real", files), tmp_path / "slot")
    write(scratch.project, {new: "2"})
    changes = scratch.changes()
    assert [change.path for change in changes] == [new]
    assert scratch.same_but_case(changes) == clashes


def test_a_file_that_only_changes_its_case_clashes_with_nothing(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"A.py": "1"}), tmp_path / "slot")
    (scratch.project / "A.py").rename(scratch.project / "a.py")
    assert scratch.same_but_case(scratch.changes()) == {}


def test_new_names_are_compared_with_each_base_in_turn(tmp_path):
    root = a_repository(tmp_path / "real", {"src/a.py": "1"})
    first = git(root, "rev-parse", "HEAD")
    write(root, {"src/B.py": "1", "Docs/x": "1"})
    second = commit_all(root, "more")
    scratch = a_scratch(root, tmp_path / "slot")
    new = (a_change("src/b.py"), a_change("docs/y"))
    found = {}
    for base in (first, second, first, second):
        scratch.reset(base)
        found[base] = scratch.same_but_case(new)
        assert scratch.same_but_case((*new, a_change("src/c"), a_change("src/C"))) == {
            **found[base],
            "src/c": "src/C",
        }
    assert found == {first: {}, second: {"src/b.py": "src/B.py", "docs/y": "Docs"}}
    assert scratch.same_but_case((new[0], a_change("src/B.py", None))) == {}
