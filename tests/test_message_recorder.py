"""A test run fails when the product makes a message that the list of messages lacks."""

import os
import subprocess
import sys
from pathlib import Path

import messages
import pytest

TESTS = Path(__file__).parent
CONFTEST = """
import messages
from message_recorder import *

messages.messages = lambda: [messages.Message("a.py", 1, "error", "{name} has no tests in {path}")]
"""
TEST = """
import messages

def test_passes():
    source = "from runner.{module} import {name}\\n{name}({arguments})"
    exec(compile(source, str(messages.ROOT / "runner" / "planted.py"), "exec"))
"""
MADE = {
    "known": (
        ("errors", "RunnerError", "'TASK-001 has no tests in a/b.py', hint='7 has no tests in [x'"),
        ("model", "Finding", "'lint', 'x has no tests in a file'"),
    ),
    "unknown": (
        ("errors", "RunnerError", "'the books stand open'"),
        ("errors", "RunnerError", "'x', hint='close the books'"),
        ("model", "Finding", "'lint', 'the work is a wish'"),
        ("plan.diagnostic", "Problem", "'which no task is', 'TASK-GRAPH.md', 1, 1"),
    ),
}
UNKNOWN = ("the books stand open", "close the books", "the work is a wish", "which no task is")


@pytest.mark.parametrize("made", MADE)
def test_a_planted_message_fails_a_run_that_passes(made, tmp_path):
    for number, (module, name, arguments) in enumerate(MADE[made]):
        planted = TEST.format(module=module, name=name, arguments=arguments)
        (tmp_path / f"test_planted_{number}.py").write_text(planted)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", str(tmp_path)],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join((str(TESTS), str(messages.ROOT))),
            "RECORD_MESSAGES": "fail",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{len(MADE[made])} passed" in ended.stdout, ended.stdout + ended.stderr
    named = [text for text in UNKNOWN if f"`make messages`: {text}" in ended.stdout]
    assert named == list(UNKNOWN if made == "unknown" else ())
    assert ended.returncode == (made == "unknown")
