"""`runner shell` is where a proof ran: what a message says to type fails as the proof failed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from workplace import a_task

from runner.process.sandbox import choose_sandbox

HARD = 'cat a.txt; test $? = 9 || (echo "it\'s $RUNNER_TASK in $(basename $PWD)"; exit 7)'


def typed_from(said):
    """The last command that a message says to type, as it is printed."""
    return re.findall(r"to reproduce: (runner shell .*)", said)[-1]


def type_literally(place, line):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=place.root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("flags", [(), ("--no-sandbox",)], ids=["sandbox", "none"])
def test_the_printed_command_fails_as_the_proof_failed(workplace, flags):
    if not flags and not choose_sandbox("auto").encloses:
        pytest.skip("there is no sandbox here")
    lines = {"TASK-001": HARD, "TASK-002": "grep -q 'b c' a.txt"}  # quotes, and a silent one
    workplace.plan(
        *(a_task(id_, blocks={"a.txt": f"of {id_}\n"}, tests=[line]) for id_, line in lines.items())
    )
    ended = workplace.run(*flags)
    assert ended.code == 1, ended.said
    name = "none" if flags else choose_sandbox("auto").name
    for id_ in lines:
        (proof,) = workplace.happened("attempt.finished", id_)[0]["proofs"]
        (line,) = set(re.findall(rf"to reproduce: (runner shell {id_} .*)", ended.said))
        again = type_literally(workplace, line)
        assert again.returncode == proof["exit"], again.stderr
        log = workplace.root / proof["log"] if proof.get("log") else None
        assert again.stdout == (log.read_text() if log else "")
        assert f"{id_} on draft/{id_}-work, sandbox: {name}" in again.stderr


def test_a_failed_gate_and_a_command_of_many_lines_are_run_by_their_names(workplace):
    workplace.write({"check.sh": "cat a.txt; exit 4\n"})
    fields = ["Gates:\n  - lint: `sh check.sh lint`"]
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=["test -f a.txt"], fields=fields)
    )
    ended = workplace.run()
    again = type_literally(workplace, typed_from(ended.said))
    assert (again.returncode, again.stdout) == (4, "a\n"), ended.said + again.stderr
    assert workplace.runner("shell", "1", "--", "gate:lint").code == 4


def test_the_tree_is_that_of_the_last_proof(workplace):
    shows = ("--", "cat", "a.txt")
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "held\n"}, tests=["true"], fields=["Review: prompt"]),
        a_task("TASK-002", blocks={"b.txt": "landed\n"}, tests=["grep -q landed b.txt"]),
        a_task("TASK-003", blocks={"c.txt": "draft\n"}, tests=["grep -q other c.txt"]),
    )
    workplace.run()
    held = workplace.runner("shell", "TASK-001", *shows)
    assert (held.code, held.out) == (0, "held\n"), held.err
    assert workplace.runner("shell", "TASK-001", "--proposal", *shows).out == "held\n"
    assert workplace.runner("shell", "TASK-001", "--base", *shows).code == 1
    none = workplace.runner("shell", "TASK-001", "--draft", *shows)
    assert (none.code, "TASK-001 has no draft now" in none.err) == (2, True)
    done = workplace.runner("shell", "TASK-002", "--", "cat b.txt")
    assert (done.out, "on HEAD" in done.err) == ("landed\n", True)
    draft = workplace.runner("shell", "TASK-003", "--", "cat c.txt b.txt; exit 5")
    assert draft.code == 5
    assert draft.out.startswith("draft\n")
    assert workplace.dirt == [] or all("artifacts" in line for line in workplace.dirt)


def test_without_a_command_a_shell_opens_and_a_draft_that_is_gone_still_has_its_tree(workplace):
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=["grep -q b a.txt"]))
    ended = workplace.run()
    done = subprocess.run(
        [sys.executable, "-m", "runner", "shell", "TASK-001"],
        cwd=workplace.root,
        env={**os.environ, "SHELL": "/bin/sh"},
        input="cat a.txt; echo $RUNNER_TASK; exit 6\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (6, "a\nTASK-001\n"), done.stderr
    line = typed_from(ended.said)
    workplace.git("branch", "-D", "draft/TASK-001-work")
    again = type_literally(workplace, line)
    assert (again.returncode, "on draft/TASK-001-work" in again.stderr) == (1, True), again.stderr


def test_the_plans_commands_run_only_after_trust(workplace):
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=["true"]))
    refused = workplace.runner("shell", "TASK-001", "--", "TC-001")
    assert (refused.code, "runner shell TASK-001 --trust" in refused.err) == (3, True)
