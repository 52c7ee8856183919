"""A forked runner is as one that was started: a child with a folder, words and end of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm_runner

RUNNER = (sys.executable, "-m", "runner")
WARM = pytest.mark.skipif(sys.platform != "linux", reason="CLONE_PARENT is Linux's")


@WARM
def test_it_is_a_child_in_its_folder_with_its_environment_and_exit_code(workplace):
    workplace.write({"PLAN.md": "# Elsewhere\n\n## TASK-001: One\n"})
    environ = {**os.environ, "RUNNER_TASK_GRAPH": "PLAN.md"}
    done = warm_runner.run(
        [*RUNNER, "status"], cwd=workplace.root, env=environ, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Elsewhere: 1 task")
    assert warm_runner.run([*RUNNER, "no-command"], stderr=subprocess.DEVNULL).returncode == 2


@WARM
def test_a_signal_ends_it_as_any_other(workplace):
    workplace.plan("## TASK-001: One\n\n- Output files: `a`\n- Command: `sleep 60`\n")
    started = workplace.start("run", "--trust", "--no-sandbox")
    assert isinstance(started, warm_runner._Forked)
    assert started.stderr.readline()
    assert Path(f"/proc/{started.pid}/cwd").readlink() == workplace.root
    started.send_signal(signal.SIGTERM)
    started.communicate()
    assert started.returncode in (130, -signal.SIGTERM)  # it listens by now, or not yet


def test_what_python_reads_when_it_starts_has_a_start_of_its_own():
    environ = {**os.environ, "PYTHONOPTIMIZE": "1"}
    with warm_runner.start([*RUNNER, "version"], env=environ, stdout=subprocess.PIPE) as started:
        assert type(started) is subprocess.Popen
        assert started.stdout.read()
