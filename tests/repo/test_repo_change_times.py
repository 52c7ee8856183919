"""A file that is written to without a trace in its times is seen all the same."""

import mmap
import os
import tempfile
import time
from pathlib import Path

import pytest
from repo_build import a_repository, git

from runner.repo import worktree_scan
from runner.repo.read import Repository
from runner.repo.scratch import Scratch
from runner.repo.tree_files import tells_changes


def _write_unseen(file, content):
    """As a program may on a file system in memory: no time of the file moves."""
    before = file.stat()
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as page:
        page[0]
        page[:] = content
    after = file.stat()
    return (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)


@pytest.fixture
def memory():
    """A folder on a file system in memory."""
    place = Path("/dev/shm")
    if not (place.is_dir() and os.access(place, os.W_OK)):
        pytest.skip("there is no /dev/shm here")
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


@pytest.mark.parametrize("many", [False, True], ids=["few files", "many files"])
def test_what_is_written_without_a_trace_is_seen_and_put_back(memory, many, monkeypatch):
    if many:
        monkeypatch.setattr(worktree_scan, "_MOST", 1)
    real = a_repository(memory / "real", {"a.py": "passes\n", "b.py": "checks\n"})
    head = git(real, "rev-parse", "HEAD")
    with Repository.open(real) as repo:
        scratch = Scratch.open(memory / "slot", repo.lender())
    scratch.reset(head)
    assert scratch.snapshot().changes == ()
    time.sleep(0.1)
    scratch.reset(head)
    scratch.sign()
    assert _write_unseen(scratch.tree_folder / "b.py", b"passes\n")
    assert [(one.path, one.content) for one in scratch.snapshot().changes] == [
        ("b.py", b"passes\n")
    ]
    scratch.reset(head)
    assert (scratch.tree_folder / "b.py").read_text() == "checks\n"
    assert scratch.snapshot().changes == ()


def test_on_a_disk_times_are_trusted_and_in_memory_they_are_not(memory, tmp_path):
    assert not tells_changes(memory)
    with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
        file.write(bytes(4096))
        file.flush()
        time.sleep(0.05)
        assert tells_changes(tmp_path) == (not _write_unseen(Path(file.name), bytes(4096)))
    assert not any(memory.iterdir())
