"""What waits for a review is kept byte for byte, under names no proposal can choose."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from writes_builders import a_change, everything_in

from runner.errors import ExitCode, RunnerError
from runner.writes.staging import STAGED, Staging


@pytest.fixture
def staging(tmp_path):
    return Staging(tmp_path)


def stage(staging, *changes, task="TASK-002", attempt=1):
    return staging.stage(changes, run="run-1", task=task, attempt=attempt)


def test_every_kind_of_content_comes_back_as_it_was(staging):
    changes = [
        a_change("empty.txt", b""),
        a_change("binary.bin", bytes(range(256)) * 10),
        a_change("one-line.js", b"x" * (5 << 20)),
        a_change("large.bin", os.urandom(1 << 20) * 20),
        a_change("run.sh", b"#!/bin/sh\n", mode=0o100755, before=b"old"),
        a_change("gone.py", None, before=b"old"),
    ]
    stage(staging, *changes)
    listed = staging.list("TASK-002")
    assert {staging.read(staged).path: staging.read(staged) for staged in listed} == {
        change.path: change for change in changes
    }


def test_no_name_on_disk_comes_from_a_proposal(staging, tmp_path):
    stage(staging, a_change("../../evil", b"x"), task="../../TASK")
    files = everything_in(tmp_path)
    assert all(name.startswith(STAGED + "/") for name in files)
    assert not any("evil" in name or "TASK" in name for name in files)
    assert [staged.task for staged in staging.list()] == ["../../TASK"]


def test_an_id_stays_the_same_for_the_same_proposal_in_a_later_attempt(staging):
    (first,) = stage(staging, a_change())
    (again,) = stage(staging, a_change(), attempt=2)
    (other,) = stage(staging, a_change(content=b"other = 1\n"), attempt=3)
    assert first.id == again.id != other.id
    assert staging.find(first.id).attempt == 2
    with pytest.raises(RunnerError) as told:
        staging.find("nothing")
    assert told.value.hint == "list the IDs: runner pipeline staged-write list"


def test_staging_a_path_again_replaces_it_and_removing_leaves_nothing(staging, tmp_path):
    stage(staging, a_change(content=b"one"), a_change("b.py", b"shared"))
    stage(staging, a_change(content=b"shared"))
    assert sorted(staging.read(staged).content for staged in staging.list()) == [b"shared"] * 2
    staging.remove([staged for staged in staging.list() if staged.path == "b.py"])
    (left,) = staging.list()
    assert staging.read(left).content == b"shared"
    staging.remove_attempt("TASK-002", 1)
    assert everything_in(tmp_path) == {f"{STAGED}/lock": b""}


def test_bytes_that_changed_since_they_were_shown_are_refused(staging, tmp_path):
    (staged,) = stage(staging, a_change())
    (blob,) = (path for path in (tmp_path / STAGED).rglob("*") if len(path.name) == 64)
    blob.write_bytes(b"something else")
    with pytest.raises(RunnerError, match="the staged content changed") as told:
        staging.read(staged)
    assert told.value.code is ExitCode.CONFLICT
    blob.unlink()
    with pytest.raises(RunnerError, match="the staged content is missing"):
        staging.read(staged)


@pytest.mark.parametrize(
    "index",
    [b"", b"{", b"[]", b'{"staged": [{}]}', b'{"staged": 7}', b"[" * 100_000],
)
def test_a_damaged_list_is_told_with_its_place(staging, tmp_path, index):
    stage(staging, a_change())
    (tmp_path / STAGED / "TASK-002/1/index.json").write_bytes(index)
    with pytest.raises(RunnerError, match="damaged") as told:
        staging.list()
    assert told.value.where == f"{STAGED}/TASK-002/1/index.json"


def test_a_task_in_a_forged_list_that_no_text_can_be_is_forgotten_all_the_same(staging, tmp_path):
    (kept,) = stage(staging, a_change("a.txt", None), task="T")
    index = tmp_path / STAGED / "T" / "1" / "index.json"
    index.write_text(index.read_text().replace('"T"', r'"\ud800"'))
    (forged,) = staging.list()
    assert (forged.task, kept.task) == ("\ud800", "T")
    staging.remove([forged])


def test_a_digest_in_a_forged_list_is_no_path(staging, tmp_path):
    stage(staging, a_change())
    index = tmp_path / STAGED / "TASK-002/1/index.json"
    text = index.read_text(encoding="utf-8")
    start = text.index('"after": "') + len('"after": "')
    index.write_text(text[:start] + "sha256:../../../x" + text[start + 71 :], encoding="utf-8")
    with pytest.raises(RunnerError, match="damaged"):
        staging.list()


def test_several_processes_stage_for_one_attempt_and_all_is_kept(staging, tmp_path):
    program = (
        "import sys; from pathlib import Path\n"
        "from runner.model import *; from runner.writes.staging import Staging\n"
        "for n in range(10):\n"
        "    c = b'%s %d' % (sys.argv[2].encode(), n)\n"
        "    path, mode = f'{sys.argv[2]}-{n}', 0o100644\n"
        "    change = Change(path, Action.CREATE, mode, None, digest_of(c), c)\n"
        "    Staging(Path(sys.argv[1])).stage([change], run='r', task='TASK-002', attempt=1)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "abc"
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(staging.list()) == 30
    assert all(staging.read(staged).content for staged in staging.list())
