"""A test run fails when the product makes a message that the list of messages lacks."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import messages
import pytest
from message_recorder import FIELDS, FOREIGN, find_unknown

TESTS = Path(__file__).parent
CONFTEST = """
import messages
from message_recorder import *

TEXT = "{name} has no tests in {path}"
messages.messages = lambda paths=(): [messages.Message("runner/a.py", 1, "error", TEXT)]
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
        ("plan.source", "Problem", "'which no task is', 'TASK-GRAPH.md', 1, 1"),
    ),
}
UNKNOWN = ("the books stand open", "close the books", "the work is a wish", "which no task is")


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("made", MADE)
def test_a_planted_message_fails_a_run_that_passes(made, workers, tmp_path):
    for number, (module, name, arguments) in enumerate(MADE[made]):
        planted = TEST.format(module=module, name=name, arguments=arguments)
        (tmp_path / f"test_planted_{number}.py").write_text(planted)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", str(workers), str(tmp_path)],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join((str(TESTS), str(messages.ROOT))),
            "RECORD_MESSAGES": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{len(MADE[made])} passed" in ended.stdout, ended.stdout + ended.stderr
    named = [text for text in UNKNOWN if f"`make messages`: {text}" in ended.stdout]
    assert named == list(UNKNOWN if made == "unknown" else ())
    assert ("tests/message_recorder.py" in ended.stdout) == (made == "unknown")
    assert ended.returncode == (made == "unknown")


def test_texts_are_read_again_where_code_changed(tmp_path, monkeypatch):
    runner, kept = tmp_path / "runner", {}
    runner.mkdir()
    monkeypatch.setattr(messages, "ROOT", tmp_path)
    cache = SimpleNamespace(get=kept.get, set=kept.__setitem__)

    def unknown(*texts):
        return [text for _, text in find_unknown([("a.py:1", one) for one in texts], cache)]

    (runner / "old.py").write_text('raise RunnerError("an old text")')
    (runner / "new.py").write_text('raise RunnerError("a first text")')
    assert unknown("an old text", "a first text", "a second text") == ["a second text"]
    (runner / "new.py").write_text('raise RunnerError("a second text")')
    assert unknown("an old text", "a first text", "a second text") == ["a first text"]
    (runner / "old.py").unlink()
    assert unknown("an old text", "a second text") == ["an old text"]


def test_a_function_that_repeats_another_program_exists():
    for place, field in FOREIGN:
        path, _, name = place.partition(":")
        tree = ast.parse((messages.ROOT / "runner" / path).read_text("utf-8"))
        found = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
        assert name in found, place
        assert field in FIELDS
