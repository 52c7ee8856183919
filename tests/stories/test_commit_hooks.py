"""A repository with commit hooks is told the gate that runs what they run."""

import os
import re
import stat
import tomllib

import pytest
from workplace import a_task

FORBIDS = """#!/bin/sh
if git diff --cached | grep -q "^+FORBIDDEN"; then echo "no FORBIDDEN here"; exit 1; fi
"""
CONFIG = ".pre-commit-config.yaml"


def write_program(place, path, text):
    place.write({path: text})
    file = place.root / path
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def with_hook(place):
    write_program(place, ".git/hooks/pre-commit", FORBIDS)


def with_hooks_path(place):
    write_program(place, ".githooks/pre-commit", FORBIDS)
    place.git("config", "core.hooksPath", ".githooks")


def with_husky(place):
    place.write({".husky/pre-commit": FORBIDS, ".husky/_/.gitignore": "*\n"})
    write_program(place, ".husky/_/pre-commit", "#!/bin/sh\nexec sh .husky/pre-commit\n")
    place.git("config", "core.hooksPath", ".husky/_")


def plan(place, text):
    section = a_task("TASK-001", outputs=["a.txt"], command=f"echo {text} > a.txt")
    place.write({"TASK-GRAPH.md": f"# Shop\n\n{section}"})
    place.git("add", "-A")
    place.git("commit", "-q", "--no-verify", "-m", "plan")


def follow(place, note):
    """Do what the note says, as it says it."""
    if copied := re.search("`(.*)`", note):
        done = os.system(f"cd {place.root} && {copied[1]} -q --no-verify")
        assert done == 0, note
    table = note.partition("[gates]")[2].split("\nnote")[0].split("\nTASK")[0]
    place.write({"runner.toml": f"[gates]{table}"})
    tomllib.loads(place.read("runner.toml"))
    place.git("add", "-A")
    place.git("commit", "-q", "--no-verify", "-m", "gates")


@pytest.mark.parametrize("hook", [with_hook, with_hooks_path, with_husky])
def test_a_hook_is_named_once_with_a_gate_that_holds_what_it_holds(workplace, hook):
    hook(workplace)
    plan(workplace, "FORBIDDEN")
    ended = workplace.run("--review", "off", "TASK-001")
    note = ended.err.partition("note: commit hooks do not run on the runner's commits: ")[2]
    assert note, ended.said
    assert ended.err.count("commit hooks do not run") == 1
    workplace.git(
        "reset", "-q", "--hard", workplace.git("log", "--format=%H", "-1", "--grep=^plan")
    )
    follow(workplace, note)
    ended = workplace.run("--review", "off", "--rebuild", "TASK-001", "--yes")
    assert "commit hooks" not in ended.err
    assert ended.code != 0, ended.said
    assert "no FORBIDDEN here" in ended.said


def test_a_sample_or_a_file_that_git_would_not_run_is_no_hook(workplace):
    workplace.write({".git/hooks/pre-commit.sample": FORBIDS, ".git/hooks/pre-commit": FORBIDS})
    plan(workplace, "fine")
    ended = workplace.run("--review", "off")
    assert "commit hooks" not in ended.err


@pytest.fixture
def pre_commit(monkeypatch, tmp_path):
    """A program of that name, which refuses a file with a word in it."""
    folder = tmp_path / "tools"
    folder.mkdir()
    file = folder / "pre-commit"
    file.write_text(
        '#!/bin/sh\n[ "$1 $2" = "run --files" ] || exit 3\nshift 2\n'
        'for f in "$@"; do echo "saw $f"; grep -q FORBIDDEN "$f" && exit 1; done; exit 0\n'
    )
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_pre_commit_is_a_gate_on_the_files_that_the_task_wrote(workplace, pre_commit):
    workplace.write({CONFIG: "repos: []\n", "old.txt": "FORBIDDEN\n"})
    words = {"TASK-001": ("a.txt", "fine", "pass"), "TASK-002": ("b.txt", "FORBIDDEN", "fail")}
    workplace.plan(
        *(
            a_task(id_, outputs=[path], command=f"echo {text} > {path}")
            for id_, (path, text, _) in words.items()
        )
    )
    ended = workplace.run("--review", "off", "--no-sandbox")
    assert ended.code == 1, ended.said
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "BLOCKED"}
    assert "commit hooks" not in ended.err
    for id_, (path, _, verdict) in words.items():
        proofs = [each["proof"] for each in workplace.happened("gate.completed", id_)]
        gate = next(one for one in proofs if one["id"] == "gate:pre-commit")
        assert gate["command"] == f"pre-commit run --files {path}"
        assert gate["verdict"] == verdict


def test_a_file_that_is_named_like_an_option_becomes_none(workplace, pre_commit):
    workplace.write({CONFIG: "repos: []\n"})
    section = a_task("TASK-001", outputs=["--config=x"], command="echo FORBIDDEN > ./--config=x")
    workplace.plan(section)
    ended = workplace.run("--review", "off", "--no-sandbox")
    assert ended.code == 1, ended.said
    assert "`pre-commit run --files ./--config=x` ended with exit code 1" in ended.said


def test_without_the_program_the_gate_is_said_not_to_run(workplace, monkeypatch):
    workplace.write({CONFIG: "repos: []\n"})
    plan(workplace, "fine")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    ended = workplace.run("--review", "off")
    assert "default gate pre-commit is not run: pre-commit is not on PATH" in ended.err


COMMITS = """\
set -e
git init -q x
cd x
git commit -q --allow-empty -m x
git log -1 --format='%an <%ae>'
test "$(git log -1 --format='%an <%ae>')" = "$1"
"""
OWN = "GIT_AUTHOR_NAME=Eve GIT_AUTHOR_EMAIL=e@x "


def commits_as(workplace, *rows):
    """A task for each identity that its test is to find, with words before its command."""
    tasks = [
        a_task(f"TASK-00{n}", blocks={f"{n}.txt": "a"}, tests=[f"{before}sh commits.sh '{who}'"])
        for n, (before, who) in enumerate(rows, 1)
    ]
    workplace.write({"commits.sh": COMMITS, "TASK-GRAPH.md": "# Shop\n\n" + "\n".join(tasks)})
    workplace.git("add", "-A")
    workplace.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "plan")


def test_tests_that_commit_find_the_persons_identity_in_the_sandbox(workplace):
    commits_as(workplace, ("", "Ada <ada@example.org>"), (OWN, "Eve <e@x>"))
    ended = workplace.run("--review", "off")
    assert ended.code == 0, ended.said


def test_without_an_identity_they_find_a_neutral_one(workplace):
    for name in ("user.name", "user.email"):
        workplace.git("config", "--unset", name)
    commits_as(workplace, ("", "runner <runner@localhost>"))
    ended = workplace.run("--review", "off")
    assert ended.code == 0, ended.said
