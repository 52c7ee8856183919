"""What whoever reviews reads: a diff that says of each file what becomes of it."""

import subprocess

import pytest

from runner.model import Action, Change, digest_of
from runner.run.reviewers import diff_of

ENDS = [b"one\ntwo", b"one\ntwo\n", b"one\ntwo\nthree", b"a\x0cb\nc\x85\nd", b"one\r\ntwo", b"x"]


def a_diff(contents):
    """Of files by their bytes before and now, as it is put together for who reads it."""
    changes = [
        Change(path, Action.MODIFY, 0o100644, digest_of(old), digest_of(new), new)
        for path, (old, new) in contents.items()
    ]
    return "".join(
        part for change in changes for part in diff_of(change, lambda path: contents[path][0])
    )


@pytest.mark.parametrize("before", ENDS)
@pytest.mark.parametrize("now", ENDS)
def test_it_makes_of_the_files_what_it_was_made_of(tmp_path, before, now):
    before, now = (one.decode("latin-1").encode() for one in (before, now))
    contents = {"a.txt": (before, now), "b.txt": (b"kept\nold", b"kept\nnew")}
    for path, (old, _) in contents.items():
        (tmp_path / path).write_bytes(old)
    diff = a_diff(contents)
    assert diff.count("\n--- a/b.txt\n") == (before != now)
    words = ["git", "apply", "--whitespace=nowarn", "-"]
    done = subprocess.run(
        words, cwd=tmp_path, input=diff.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert {path: (tmp_path / path).read_bytes() for path in contents} == {
        path: new for path, (_, new) in contents.items()
    }
