"""`parallel` runs one command for several tasks at once, and never lets two write one file."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands_build import a_ground

ROOT = Path(__file__).parents[2]
PASSES = "test -n $RUNNER_TASK"
MAP = "| File | Tasks |\n|---|---|\n| `docs/*.md` | TASK-001, TASK-002 |\n"


@pytest.fixture
def three(ground):
    return a_ground(ground, "A; B; C")


def log_of(ground, task):
    return (ground.folder / "artifacts/build/logs" / task / "parallel.log").read_text()


def test_a_command_that_passes_for_all_is_exit_0_and_its_output_is_kept_per_task(three):
    said = three.runner("parallel", "-tasks", "TASK-001,3", "-cmd", "echo I am $RUNNER_TASK")
    assert said.code == 0, said.err
    assert "✓ TASK-001 passed" in said.out
    assert said.out.splitlines()[-1].startswith("2 tasks: passed for all; ")
    assert log_of(three, "TASK-001") == "I am TASK-001\n"
    assert log_of(three, "TASK-003") == "I am TASK-003\n"


def test_one_failure_is_exit_1_with_the_end_of_what_was_printed(three):
    line = 'test $RUNNER_TASK = TASK-001 || { echo "no such row" >&2; exit 7; }'
    said = three.runner("parallel", "--tasks", "TASK-001 TASK-002", "--cmd", line)
    assert said.code == 1
    assert "✗ TASK-002 failed with exit 7" in said.out
    assert "    no such row" in said.out
    assert "2 tasks: failed for TASK-002; " in said.out


def test_the_document_says_all_of_it(three):
    said = three.runner(
        "parallel", "-tasks", "1,2", "-cmd", "test $RUNNER_TASK = TASK-002", "-json"
    )
    assert said.code == 1
    assert said.json["kind"] == "parallel"
    assert [(one["task"], one["passed"], one["exit"]) for one in said.json["tasks"]] == [
        ("TASK-001", False, 1),
        ("TASK-002", True, 0),
    ]
    assert said.json["passed"] is False
    assert said.json["head"] == three.git("rev-parse", "HEAD")


def test_they_run_at_once_each_in_a_slot_of_its_own(three, tmp_path):
    """Each waits for the other: one after the other they would never end."""
    here = tmp_path / "here"
    here.mkdir()
    line = (
        f'touch {here}/$RUNNER_TASK; echo "$RUNNER_SLOT $RUNNER_PORT_BASE $TMPDIR"; '
        f"while ! test -e {here}/TASK-001 -a -e {here}/TASK-002; do sleep 0.05; done"
    )
    words = ("-tasks", "1,2", "-cmd", line, "-j", "2", "-sandbox", "none", "-json")
    said = three.runner("parallel", *words)
    assert said.code == 0, said.err
    rows = [log_of(three, f"TASK-00{n}").split() for n in (1, 2)]
    assert [row[0] for row in rows] == [str(one["slot"]) for one in said.json["tasks"]]
    for column in range(3):
        assert rows[0][column] != rows[1][column], "a slot, ports and a TMPDIR of its own"


def test_what_it_writes_is_kept_nowhere_and_head_is_what_it_sees(three):
    three.write("a.txt", "not committed\n")
    said = three.runner("parallel", "-tasks", "1", "-cmd", "test ! -e a.txt && echo x > a.txt")
    assert said.code == 0, said.out
    assert (three.folder / "a.txt").read_text() == "not committed\n"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"`b.txt`": "`a.txt`"}, "TASK-001 and TASK-002 both write a.txt"),
        ({"`b.txt`": "`*.txt`"}, "TASK-001 and TASK-002 both write a.txt and *.txt"),
        ({"`b.txt`": "any"}, "TASK-002 may write any file, including those of TASK-001"),
    ],
)
def test_two_tasks_that_write_one_file_are_refused_with_the_file_and_both_names(
    three, change, words
):
    plan = three.folder / "TASK-GRAPH.md"
    for old, new in change.items():
        plan.write_text(plan.read_text().replace(old, new))
    three.commit()
    said = three.runner("parallel", "-tasks", "1,2", "-cmd", "touch ran; true")
    assert said.code == 2
    assert words in said.err
    assert "--split" in said.err
    assert not (three.folder / "artifacts/build/logs").exists()


def test_rows_of_the_ownership_map_refuse_a_batch_too(three):
    three.write("FILE_OWNERSHIP_MAP.md", MAP)
    said = three.runner("parallel", "-tasks", "1,2,3", "-cmd", PASSES)
    assert said.code == 2
    assert "TASK-001 and TASK-002 both write docs/*.md" in said.err
    assert three.runner("parallel", "-tasks", "1,3", "-cmd", PASSES).code == 0


def test_with_split_they_run_one_after_the_other(three, tmp_path):
    three.write("FILE_OWNERSHIP_MAP.md", MAP)
    meeting = tmp_path / "meeting"
    line = (
        f"mkdir {meeting} || test $RUNNER_TASK = TASK-003 || exit 9; sleep 0.2; "
        f"test $RUNNER_TASK = TASK-003 || rmdir {meeting}"
    )
    words = ("-tasks", "1,2", "-cmd", line, "-j", "2", "-sandbox", "none")
    assert three.runner("parallel", *words, "-split").code == 0


def test_an_unknown_id_is_answered_with_the_one_that_is_meant(three):
    said = three.runner("parallel", "-tasks", "TASK-001,TASK-0O2", "-cmd", PASSES)
    assert said.code == 2
    assert 'unknown task "TASK-0O2"' in said.err
    assert "TASK-002" in said.err


@pytest.mark.parametrize(
    "words", [("-tasks", "1"), ("-cmd", "true"), ("-tasks", " , ", "-cmd", "x")]
)
def test_without_tasks_or_a_command_it_says_how_it_is_called(three, words):
    said = three.runner("parallel", *words)
    assert said.code == 2
    assert "runner pipeline parallel --tasks TASK-001,TASK-002 --cmd" in said.err


def test_more_than_there_is_of_a_scarce_thing_is_said_instead_of_waiting_for_ever(three):
    plan = three.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("- Output files: `a.txt`", "- Uses: gpu 2", 1))
    three.write("runner.toml", "[resources]\ngpu = 1\n")
    said = three.runner("parallel", "-tasks", "1,2", "-cmd", PASSES)
    assert said.code == 2
    assert "TASK-001 uses 2 gpu, but the settings have 1" in said.err


def test_ctrl_c_ends_all_of_them_and_their_children(three, tmp_path):
    mark = tmp_path / "started"
    mark.mkdir()
    line = f"sleep 987 & echo $! > {mark}/$RUNNER_TASK; wait"
    words = ("-tasks", "1,2", "-cmd", line, "-j", "2", "-sandbox", "none")
    script = ROOT / "scripts" / "parallel_runner.py"
    with subprocess.Popen(
        [sys.executable, str(script), *words],
        cwd=three.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        until(lambda: sum(bool(file.read_text()) for file in mark.iterdir()) == 2)
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130
    for file in mark.iterdir():
        until(lambda file=file: not Path(f"/proc/{file.read_text().strip()}").exists())


def until(holds, seconds=20.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)
