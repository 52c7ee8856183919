"""A disk that fails is never taken for an empty file, nor for something that is not there."""

import os
import subprocess

import pytest
from repo_build import a_change, a_repository, write
from test_proposal_bounds import a_scratch

from runner.repo.git import Git, GitError, ObjectReader, disk_error
from runner.repo.proposal_bounds import ProposalError


def test_a_file_that_git_could_not_take_up_is_refused_and_not_landed_empty(tmp_path):
    scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), tmp_path / "slot")
    write(scratch.project, {"ü": "two"})  # a name that git itself has to judge
    objects = tmp_path / "slot/git/objects"
    for number in range(256):  # git writes an object nowhere
        (objects / f"{number:02x}").write_text("")
    with pytest.raises(ProposalError, match="git could not add"):
        scratch.changes()


def test_a_disk_that_fills_up_while_a_proposal_is_read_is_said_to_be_full(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "t", disk], check=False).returncode:
        pytest.skip("only who may mount has a disk to fill")
    try:
        scratch = a_scratch(a_repository(tmp_path / "real", {"a": "1"}), disk / "slot")
        scratch.apply([a_change("ü", os.urandom(300_000))])
        left = os.statvfs(disk)
        (disk / "filler").write_bytes(bytes(left.f_bavail * left.f_frsize - 50_000))
        with pytest.raises(OSError, match="No space left on device"):
            scratch.changes()
        (disk / "filler").unlink()
        assert [len(change.content) for change in scratch.changes()] == [300_000]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize("said", [b"", b"%s blo", b"%s blob 9\n", b"%s blob 9\nfour"])
def test_what_git_leaves_half_said_is_no_answer(tmp_path, said, monkeypatch):
    a_repository(tmp_path / "real", {"a": "1"})
    name = "a" * 40
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "said").write_bytes(said.replace(b"%s", name.encode()))
    (programs / "git").write_text(f"#!/bin/sh\nread line\ncat {programs}/said\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    reader = ObjectReader(Git(tmp_path / "real"))
    with pytest.raises(GitError, match="cat-file"):
        reader.read(name)
    reader.close()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("fatal: unable to write loose object file: No space left on device", "No space"),
        ("error: b.bin: failed to insert into database: Input/output error", "Input/output"),
        ("fatal: pathspec 'x' did not match any files", None),
    ],
)
def test_what_git_says_of_the_disk_is_known_as_the_disks(tmp_path, said, words):
    met = disk_error(said, tmp_path)
    assert (met and words in str(met)) if words else met is None
