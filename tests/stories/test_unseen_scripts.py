"""A task whose command starts a script that is not committed is refused until it is."""

import pytest
from workplace import NO_PROOF, a_task

SCRIPT = "open('a.txt', 'w').write('made\\n')\n"


@pytest.fixture
def project(workplace):
    workplace.write({".gitignore": "tools/\n"})
    workplace.commit()
    return workplace


def plan(place, path):
    line = f"python3 {path}"
    place.write(
        {
            "TASK-GRAPH.md": "# Shop\n\n"
            + a_task("TASK-001", outputs=["a.txt"], command=line, fields=[NO_PROOF])
        }
    )
    place.git("add", "TASK-GRAPH.md")
    place.git("commit", "-qm", "plan")
    place.write({path: SCRIPT})


@pytest.mark.parametrize(
    ("path", "why", "files", "way_out"),
    [
        ("agent.py", "is not committed", ["agent.py"], "git add agent.py, then commit"),
        (
            "tools/agent.py",
            "is ignored by git",
            [".worktreeinclude"],
            "add /tools/ to .worktreeinclude and commit that file",
        ),
    ],
    ids=["untracked", "ignored"],
)
def test_it_is_refused_with_the_way_out_and_runs_once_that_was_followed(
    project, path, why, files, way_out
):
    plan(project, path)
    checked = project.runner("validate")
    assert (checked.code, f"TASK-001: {path} {why}" in checked.said) == (2, True), checked.said
    assert way_out in checked.said
    ended = project.run()
    assert ended.code == 3
    assert f"{path} {why}" in ended.said
    assert way_out in ended.said
    assert project.happened("attempt.started") == []
    if ".worktreeinclude" in files:
        project.write({".worktreeinclude": "/tools/\n"})
    project.git("add", *files)
    project.git("commit", "-qm", "as advised")
    assert project.runner("validate").code == 0
    ended = project.run()
    assert ended.code == 0, ended.said
    assert project.read("a.txt") == "made\n"


def test_a_script_outside_of_the_repository_is_accepted(project, tmp_path):
    script = tmp_path / "elsewhere" / "agent.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    project.plan(
        a_task("TASK-001", outputs=["a.txt"], command=f"python3 {script}", fields=[NO_PROOF])
    )
    assert project.run("--no-sandbox").code == 0
