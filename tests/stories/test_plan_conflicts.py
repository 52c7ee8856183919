"""A plan in the middle of a merge is named as such by every command that reads it."""

import pytest
from workplace import a_task

COMMANDS = (
    ("validate",),
    ("status",),
    ("list",),
    ("show", "TASK-001"),
    ("run", "--trust"),
    ("run", "-n"),
    ("why", "TASK-001"),
    ("undo", "TASK-001", "--yes"),
    ("change", "TASK-001", "other", "--yes"),
    ("verify", "--all", "--trust"),
)


@pytest.fixture
def sides(workplace):
    """Two branches that change one line of the plan each in its own way."""
    workplace.plan(a_task("TASK-001", "One", blocks={"a.txt": "1\n"}, tests=["true a.txt"]))
    plan = workplace.read("TASK-GRAPH.md")
    workplace.git("switch", "-qc", "theirs")
    workplace.commit({"TASK-GRAPH.md": plan.replace("One", "Theirs")})
    workplace.git("switch", "-q", "main")
    workplace.commit({"TASK-GRAPH.md": plan.replace("One", "Ours")})
    return workplace


def begin(place, how):
    if how == "stash pop":
        place.write({"TASK-GRAPH.md": place.read("TASK-GRAPH.md").replace("Ours", "Mine")})
        place.git("stash")
        place.commit({"TASK-GRAPH.md": place.read("TASK-GRAPH.md").replace("Ours", "Other")})
        place.git("stash", "pop", check=False)
    else:
        place.git(how, "theirs", check=False)


@pytest.mark.parametrize("how", ["merge", "rebase", "stash pop"])
def test_conflict_markers_are_named_with_their_lines_and_the_way_out(sides, how):
    begin(sides, how)
    lines = sides.read("TASK-GRAPH.md").splitlines()
    begins = next(at for at, line in enumerate(lines, 1) if line.startswith("<<<<<<<"))
    ends = next(at for at, line in enumerate(lines, 1) if line.startswith(">>>>>>>"))
    for words in COMMANDS if how == "merge" else COMMANDS[:2]:
        said = sides.runner(*words)
        assert said.code == 2, (words, said.said)
        assert f"the plan has conflict markers in lines {begins}-{ends}" in said.err, words
        assert f"(TASK-GRAPH.md:{begins})" in said.err
        assert "already on line" not in said.said
    add = "git add TASK-GRAPH.md"
    goes_on = "" if how == "stash pop" else f" && git {how} --continue"
    assert f"hint: edit TASK-GRAPH.md and remove the markers; then: {add}{goes_on}\n" in said.err
    kept = [line for line in lines if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>")]
    sides.write({"TASK-GRAPH.md": "\n".join(line for line in kept if "Theirs" not in line) + "\n"})
    said = sides.runner("status")
    assert ("the plan is not merged yet" in said.err) is (said.code == 2) is bool(goes_on)
    sides.git("add", "TASK-GRAPH.md")
    if goes_on:
        sides.git(*goes_on.removeprefix(" && git ").split(), GIT_EDITOR="true", check=False)
    assert sides.runner("status").code == 0


def test_markers_that_were_committed_are_named_and_those_in_a_code_block_are_text(workplace):
    markers = "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"
    workplace.plan(a_task("TASK-001", blocks={"a.txt": markers}, tests=["true a.txt"]))
    assert workplace.runner("validate").code == 0
    workplace.write({"TASK-GRAPH.md": f"{workplace.read('TASK-GRAPH.md')}\n{markers}"})
    said = workplace.runner("validate")
    assert "the plan has conflict markers in lines" in said.err
    assert said.err.endswith("hint: edit TASK-GRAPH.md and remove the markers\n")


def test_a_merge_of_another_file_leaves_the_plan_readable(sides):
    sides.git("switch", "-qc", "more", "main")
    sides.commit({"b.txt": "1\n"})
    sides.git("switch", "-q", "main")
    sides.commit({"b.txt": "2\n"})
    sides.git("merge", "more", check=False)
    assert sides.runner("status").code == 0
    assert "a merge is in progress" in sides.runner("run", "--trust").err
