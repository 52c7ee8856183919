"""What a refusal names: a link as a link, and the command as the person typed it."""

import pytest
from test_hints_followed import GOOD, follow_command, task
from workplace import a_task

LINKS = {
    "out of the tree": "/etc/hostname",
    "to a file of the tree": "TASK-GRAPH.md",
    "to nothing": "missing.txt",
}


@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
def test_a_refused_link_is_called_one(workplace, target):
    plan = task(f"- Files: `a.txt`\n- Command: `ln -s {target} a.txt`\n- Tests: `test -L a.txt`\n")
    workplace.commit({"TASK-GRAPH.md": plan})
    ended = workplace.run("--no-sandbox", "--review", "off")
    assert ended.code == 1, ended.said
    assert "symbolic link" in ended.out, ended.said
    assert not workplace.has("a.txt")


TYPED = {
    "a plain run": (),
    "run": ("run", "--review", "off", "--no-sandbox"),
    "one task": ("run", "--only", "TASK-001", "-j", "1"),
    "a trial": ("run", "TASK-001", "-n", "--with-implementer"),
}


@pytest.mark.parametrize("typed", TYPED.values(), ids=TYPED)
def test_the_hint_of_a_repository_without_trust_repeats_the_typed_command(workplace, typed):
    settings = '[gates]\nlook = "true"\n'
    workplace.commit({"TASK-GRAPH.md": task(GOOD), "runner.toml": settings})
    said = workplace.runner(*typed)
    assert said.code == 3, said.said
    words = follow_command(said.err)
    assert "--trust" in words
    assert [one for one in words if one != "--trust"] == list(typed)
    after = workplace.runner(*words)
    assert "not trusted" not in after.said


def test_a_missing_program_is_created_committed_and_the_task_retried(workplace):
    tests = ["test -f a.txt"]
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="./make.sh", tests=tests))
    ended = workplace.run()
    hint = "create and commit the program that the command names, or fix the command"
    assert f"next: {hint}; then `runner retry TASK-001`" in ended.out
    workplace.commit({"make.sh": "echo a > a.txt\n"})
    workplace.git("update-index", "--chmod=+x", "make.sh")
    workplace.git("commit", "-q", "-m", "may run")
    workplace.git("checkout", "-q", "--", "make.sh")
    assert workplace.runner("retry", "TASK-001").code == 0
    assert workplace.statuses == {"TASK-001": "DONE"}
