"""A red team of our own: a separate author's draft, and the author as an attacker."""

import os
from pathlib import Path

import pytest
from author_plans import FILE, TESTS, a_round, answer, plan_half
from held_out_plans import store_of
from test_held_out_red_team import NEEDLE, needs, permit_search, searcher

from runner.held_out.workspace import open_folder
from runner.project import Project

DRAFT = [f"# {NEEDLE}", *TESTS]
REPORT = """open("found.txt", "w").writelines(o for o in found if "/agent/" not in o)"""


def read_repository(workplace):
    """Return all that the repository's folder holds, with git's objects unpacked."""
    names = workplace.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    objects = [workplace.git("cat-file", "-p", name) for name in names]
    files = [path for path in workplace.root.rglob("*") if path.is_file()]
    return "\n".join((*objects, *(path.read_bytes().decode("utf-8", "replace") for path in files)))


def let_search(workplace):
    """Have the implementer search, and write what it found to `found.txt`."""
    workplace.write({"search.py": searcher(workplace, REPORT)})
    workplace.edit_plan("`app.py`", "`app.py`, `found.txt`")
    workplace.edit_plan("ls -R > seen.txt && rm seen.txt", "python3 search.py && test -e found.txt")
    workplace.commit()


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_code_that_landed_earlier_and_runs_with_the_draft_brings_no_bytes_out(
    workplace, monkeypatch, tmp_path, sandbox
):
    needs(sandbox)
    permit_search(monkeypatch, sandbox)
    plan_half(workplace, workplace.home / "agent", [a_round(DRAFT)], sandbox=sandbox)
    name, home = f"{tmp_path.parent.parent.name}-{sandbox}-leak", workplace.home
    places = [f"/dev/shm/{name}", f"/tmp/{name}", f"{home}/{name}", f"{workplace.root}/.git/{name}"]
    workplace.write(
        {
            "conftest.py": "import glob, os\n"
            "tests = glob.glob('tests/**/*.py', recursive=True)\n"
            "text = ''.join(open(one).read() for one in tests)\n"
            f"for place in {places!r}:\n"
            "    try:\n"
            "        open(place, 'a').write(text)\n"
            "    except OSError:\n"
            "        pass\n"
            "os.system('(git add -A; git stash -q; git stash apply -q) >/dev/null 2>&1')\n"
        }
    )
    let_search(workplace)
    try:
        ended = workplace.run("--jobs", "1")
        assert ended.code == 0, ended.said
        assert workplace.read("found.txt") == ""
    finally:
        left = [one for one in map(Path, places) if one.is_file()]
        held = [str(one) for one in left if NEEDLE in one.read_text()]
        for one in left:
            one.unlink()
    assert held == []


def test_an_author_at_work_elsewhere_is_hidden_from_tasks_that_may_read_home(
    workplace, monkeypatch
):
    needs("bubblewrap")
    permit_search(monkeypatch, "bubblewrap")
    own = {"sandbox": "bubblewrap", "sandbox_read": [str(workplace.home)]}
    plan_half(workplace, workplace.home / "agent", [a_round(DRAFT)], **own)
    let_search(workplace)
    with open_folder(Project.open(workplace.root, os.environ).held_out.workspaces) as slot:
        (slot / "draft.py").write_text(NEEDLE)
        ended = workplace.run("--jobs", "1")
        assert (slot / "draft.py").is_file()
    assert ended.code == 0, ended.said
    assert workplace.read("found.txt") == ""


@pytest.mark.parametrize("when", ["first", "mutants"])
def test_words_of_an_author_that_fails_are_in_no_file_of_the_repository(
    workplace, tmp_path, monkeypatch, when
):
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")
    failing = {
        "steps": [{"write": FILE, "lines": DRAFT}, {"fail": f"rate limit: {NEEDLE}"}],
        "say": "",
    }
    rounds = [failing if when == "first" else a_round()]
    mutants = [failing] if when == "mutants" else ()
    plan_half(workplace, tmp_path / "agent", rounds, mutants, mutation="warn")
    ended = workplace.run("--jobs", "1")
    assert "agent did not write its tests" in ended.said
    assert NEEDLE not in ended.said
    assert NEEDLE not in read_repository(workplace)
    assert NEEDLE in store_of(workplace).read_refusal("TASK-001")


def test_names_of_a_refused_draft_are_in_no_file_of_the_repository(
    workplace, tmp_path, monkeypatch
):
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")
    say = answer(A1=[f"{FILE}::test_of_a_draft"], A2=[f"{FILE}::test_below"])
    plan_half(workplace, tmp_path / "agent", [a_round(["def test_half():", "    0 / 0"], say=say)])
    ended = workplace.run("--jobs", "1")
    assert "still wrong after 2 repairs" in ended.said
    assert "test_of_a_draft" not in ended.said
    assert "test_of_a_draft" not in read_repository(workplace)
    assert "test_of_a_draft" in store_of(workplace).read_refusal("TASK-001")


@pytest.mark.parametrize(
    ("path", "line", "accepted"),
    [
        ("tests/conftest.py", "x = 1", False),
        ("tests/sitecustomize.py", "x = 1", False),
        ("tests/__init__.py", "x = 1", False),
        ("tests/__init__.py", "", True),
        ("tests/AGENTS.md", "x", False),
        ("tests/own.pth", "x", False),
        ("tests/pytest.ini", "[pytest]", False),
        ("tests/.github/workflows/x.yml", "x", False),
        ("tests/helpers.py", "x = 1", True),
        ("setup.cfg", "x", False),
    ],
)
def test_an_author_may_not_plant_what_affects_more_than_its_tests(
    workplace, tmp_path, path, line, accepted
):
    found = a_round(say=answer([FILE, path]))
    found["steps"].append({"write": path, "lines": [line]})
    plan_half(workplace, tmp_path / "agent", [found])
    workplace.run("--jobs", "1")
    assert workplace.has(path) == accepted
    assert ("DONE" in workplace.status_line("TASK-001")) == accepted
