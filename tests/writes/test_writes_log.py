"""The write log holds every approved write and what became of it, whatever happened meanwhile."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import threading

import pytest
from writes_builders import a_change, put

from runner.errors import RunnerError
from runner.model import digest_of
from runner.writes.log import WRITE_LOG, Fate, WriteLog, WriteReview, append_lines, read_lines
from runner.writes.sast import SAST_FINDINGS, load_findings


def test_an_approved_write_is_one_line_in_the_promised_fields(tmp_path):
    change = a_change("src/a.py", b"new\n", mode=0o100755, before=b"old\n")
    WriteLog(tmp_path).record(
        [change], run="r1", task="TASK-002", attempt=3, review=WriteReview.EDITED
    )
    line = json.loads((tmp_path / WRITE_LOG).read_text(encoding="utf-8"))
    assert list(line) == [
        "v", "time", "run", "task", "attempt", "path", "action", "mode", "before", "after",
        "bytes", "review",
    ]  # fmt: skip
    assert line.pop("time").endswith("Z")
    assert line == {
        "v": 1,
        "run": "r1",
        "task": "TASK-002",
        "attempt": 3,
        "path": "src/a.py",
        "action": "modify",
        "mode": "100755",
        "before": digest_of(b"old\n"),
        "after": digest_of(b"new\n"),
        "bytes": 4,
        "review": "edited",
    }


def test_outcomes_come_later_and_are_joined_on_task_and_attempt(tmp_path):
    log = WriteLog(tmp_path)
    for attempt in (1, 2, 3):
        changes = [a_change(), a_change("gone.py", None, before=b"x")]
        log.record(changes, run="r", task="TASK-002", attempt=attempt, review=WriteReview.OFF)
    log.record([a_change()], run="r", task="TASK-009", attempt=1, review=WriteReview.AUTO)
    log.close(run="r", task="TASK-002", attempt=1, fate=Fate.DROPPED)
    log.close(run="r", task="TASK-002", attempt=2, fate=Fate.LANDED, commit="c0ffee")
    writes = log.show("TASK-002").writes
    assert [(w.attempt, w.fate, w.commit) for w in writes[::2]] == [
        (1, Fate.DROPPED, ""),
        (2, Fate.LANDED, "c0ffee"),
        (3, None, ""),
    ]
    assert (writes[1].action, writes[1].after, writes[1].bytes) == ("delete", "", 0)
    assert len(log.show().writes) == 7


def test_a_line_torn_at_any_byte_is_cut_and_no_other_is_lost(tmp_path):
    append_lines(tmp_path, "log", [{"n": 1}, {"n": 2}])
    whole = (tmp_path / "log").read_bytes()
    for end in range(len(whole)):
        (tmp_path / "log").write_bytes(whole[:end])
        kept = len(read_lines(tmp_path, "log").records)
        append_lines(tmp_path, "log", [{"n": 3}])
        read = read_lines(tmp_path, "log")
        assert [record["n"] for record in read.records] == [*[1, 2][:kept], 3]
        assert read.damaged == ()


def test_a_torn_line_longer_than_any_block_is_cut(tmp_path):
    put(tmp_path, {"log": b'{"v":1,"n":1}\n{"v":1,"n":"' + b"x" * 200_000})
    append_lines(tmp_path, "log", [{"n": 2}])
    assert [record["n"] for record in read_lines(tmp_path, "log").records] == [1, 2]


def test_a_damaged_line_in_the_middle_is_named_and_the_rest_is_read(tmp_path):
    put(tmp_path, {"log": b'{"v":1,"n":1}\nnot json\n\n[1]\n{"v":1,"n":2}\n'})
    read = read_lines(tmp_path, "log")
    assert [record["n"] for record in read.records] == [1, 2]
    assert read.damaged == (2, 4)


def test_a_record_of_any_shape_is_read(tmp_path):
    (tmp_path / WRITE_LOG).parent.mkdir(parents=True)
    for path in (WRITE_LOG, SAST_FINDINGS):
        (tmp_path / path).write_text('{"path":"a","task":[]}\n{"path":"b","task":"T"}\n')
    assert [one.path for one in WriteLog(tmp_path).show("T").writes] == ["b"]
    assert [one["path"] for one in load_findings(tmp_path, "T")] == ["b"]


def test_four_processes_that_write_at_once_lose_nothing(tmp_path):
    program = (
        "import sys; from pathlib import Path\n"
        "from runner.writes.log import append_lines\n"
        "for n in range(50):\n"
        "    append_lines(Path(sys.argv[1]), 'a/log', [{'who': sys.argv[2], 'n': n}] * 2)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(who)])
        for who in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    read = read_lines(tmp_path, "a/log")
    assert read.damaged == ()
    assert len(read.records) == 400
    for who in "0123":
        numbers = [record["n"] for record in read.records if record["who"] == who]
        assert numbers == sorted(numbers)


def test_a_writer_waits_for_the_one_before_it(tmp_path):
    """Else one could cut, as torn, the line that another is about to finish."""
    append_lines(tmp_path, "log", [{"n": 1}])
    second = threading.Thread(target=append_lines, args=(tmp_path, "log", [{"n": 3}]))
    with (tmp_path / "log").open("ab", buffering=0) as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        first.write(b'{"v":1,')
        second.start()
        second.join(0.2)
        assert second.is_alive()
        first.write(b'"n":2}\n')
    second.join(10)
    assert [record["n"] for record in read_lines(tmp_path, "log").records] == [1, 2, 3]


def test_a_link_in_a_clone_does_not_lead_the_log_elsewhere(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "artifacts").symlink_to(outside)
    with pytest.raises(RunnerError, match="a symbolic link is in the way"):
        WriteLog(root).close(run="r", task="T", attempt=1, fate=Fate.DROPPED)
    assert list(outside.iterdir()) == []


def test_a_disk_that_fills_up_in_the_middle_leaves_the_log_as_it_was(tmp_path):
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("cannot mount here")
    try:
        append_lines(tmp_path, "log", [{"n": 1}])
        before = (tmp_path / "log").read_bytes()
        with pytest.raises(RunnerError, match="the disk is full"):
            append_lines(tmp_path, "log", [{"n": "x" * 100_000}])
        assert (tmp_path / "log").read_bytes() == before
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
