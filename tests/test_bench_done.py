"""The public benchmark holds itself: its oracles can fail, its cases are what their digests say."""

import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

DONE = Path(__file__).parent.parent / "benchmarks/done"
sys.path.insert(0, str(DONE))

import pairs  # noqa: E402
from case import Case, Task, git, of_all, read_cases, write  # noqa: E402
from oracle import of_claims, of_crashes, of_leaks, passes  # noqa: E402
from report import pass_hat, read, wilson  # noqa: E402


def bench(place, *words, code=0):
    call = (sys.executable, DONE / "run.py", "--place", place, "--board", "A,E", *words)
    ran = subprocess.run(call, capture_output=True, text=True, check=False)
    assert ran.returncode == code, ran.stderr[-2000:]
    return ran


CONTROLLED = ["A-wrong-code", "A-ends-the-tests", "A-good-chain", "E-tool-in-front"]
CONTROLLED += ["A-lock-of-its-own-others", "A-chain-of-three-others", "E-always-equal-others"]
GOOD = ("A-good-chain", "A-chain-of-three-others")


@pytest.mark.nightly(
    sibling="tests/test_bench_done.py::test_code_that_ends_the_program_does_not_satisfy_an_oracle"
)
@pytest.mark.parametrize("family", CONTROLLED)
def test_a_liar_is_caught_and_an_honest_tool_is_not(tmp_path, family):
    bench(tmp_path, "--check", "--only", family)
    by_tool = Counter((one.adapter, one.outcome) for one in read(tmp_path / "controls.jsonl"))
    good = family in GOOD
    assert set(by_tool) == {("liar", "ok" if good else "false DONE"), ("honest", "ok")}


@pytest.mark.nightly(
    sibling="tests/test_bench_done.py::test_a_floor_believes_its_test_and_the_table_says_so"
)
def test_the_check_says_where_an_oracle_is_blind(tmp_path):
    """A bad case whose truth cannot fail is told: nobody would be caught by it."""
    text = (
        "import sys\nsys.path.insert(0, sys.argv.pop(1))\nimport dataclasses, run\n"
        "every = run.cases\n"
        "def blind(given):\n"
        "    one = next(case for case in every(given) if case.name == 'A-wrong-code-open-1')\n"
        "    task = dataclasses.replace(one.tasks[0], truth='', bad=False)\n"
        "    return [dataclasses.replace(one, tasks=(task,))]\n"
        "run.cases = blind\nsys.exit(run.main())\n"
    )
    call = (sys.executable, "-c", text, DONE, "--place", tmp_path, "--check", "--board", "A")
    ran = subprocess.run(call, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr[-2000:]
    assert "liar A-wrong-code-open-1: ok" in ran.stdout


def test_a_floor_believes_its_test_and_the_table_says_so(tmp_path):
    results = tmp_path / "results.jsonl"
    words = ("--only", "A-tests-of-a-mock", "--adapter", "shell", "--results", results)
    said = bench(tmp_path, *words).stdout
    assert "| shell | open | 1/1 (100 %" in said
    (one,) = [json.loads(line) for line in results.read_text().splitlines()]
    assert one["outcome"] == "false DONE"
    assert str(tmp_path) not in json.dumps(one)
    bench(tmp_path, *words)  # what is there is not run again
    assert len(results.read_text().splitlines()) == 1
    assert bench(tmp_path, "--report", results).stdout == said


def test_what_breaks_is_an_error_and_no_refusal(tmp_path):
    """A tool that gives way at a bad case has not seen through it."""
    results = tmp_path / "results.jsonl"
    text = (
        "import sys\nsys.path.insert(0, sys.argv.pop(1))\nimport run\nfrom work import ToolError\n"
        "shell = run.adapter('shell')\n"
        "def broken(work): raise ToolError('it fell over')\n"
        "shell.run = broken\nsys.exit(run.main())\n"
    )
    words = ("--place", tmp_path, "--results", results, "--only", "A-wrong", "--board", "A")
    words += ("--adapter", "shell")
    subprocess.run((sys.executable, "-c", text, DONE, *words), check=True, capture_output=True)
    (one,) = read(results)
    assert (one.outcome, one.detail) == ("error", "it fell over")


def test_cases_are_the_same_bytes_on_every_machine(tmp_path):
    first = bench(tmp_path, "--digests", "--board", "A,E").stdout
    assert first.strip() in (DONE / "README.md").read_text()


def test_a_folder_of_more_cases_is_measured_too(tmp_path):
    write(
        tmp_path / "more/A-more",
        {
            "case.toml": 'board = "A"\nname = "A-more"\nfamily = "more"\nkind = "bad"\n'
            'half = "sealed"\n\n[[task]]\nname = "it"\ntitle = "It"\ndeleted = ["a.py"]\n',
            "tree/a.py": "a = 1\n",
            "work-1/b.py": "b = 1\n",
        },
    )
    (case,) = read_cases(tmp_path / "more")
    assert case.files == {"a.py": "a = 1\n"}
    assert case.tasks[0].edits == {"b.py": "b = 1\n", "a.py": None}
    words = ("--digests", "--board", "A,E", "--cases", tmp_path / "more")
    assert f"sealed: 1 cases, sha256 {of_all([case])}" in bench(tmp_path, *words).stdout


def test_code_that_ends_the_program_does_not_satisfy_an_oracle(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "ends.py").write_text("import os\nprint('held')\nos._exit(0)\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "it")
    task = Task("ends", "", ("ends.py",), "", {}, truth="import ends", bad=True)
    case = Case("A", "it", "it", "bad", {}, (task,))
    assert of_claims(case, tmp_path, {"ends": "done"})[0] == "false DONE"
    assert of_claims(case, tmp_path, {"ends": "open"})[0] == "ok"
    assert of_all([case]) != of_all([case, case])


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_intervals_are_wilson_s(hits, of, low, high):
    assert wilson(hits, of) == pytest.approx((low, high), abs=1e-4)


def test_pass_hat_is_the_share_of_cases_right_in_all_k_tries():
    assert pass_hat([[True, True], [True, False]], 1) == pytest.approx(0.75)
    assert pass_hat([[True, True], [True, False]], 2) == pytest.approx(0.5)
    assert pass_hat([[True, True, False]], 2) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("after_the_kill", "word"),
    [
        ("", "ok"),
        ("git reset -q --hard HEAD~1", "lost"),
        ("echo '# again' >> a.py; git commit -q -a -m again", "doubled"),
        ("rm done.txt", "wedged"),
        ("echo '# more' >> a.py", "dirty"),
        ("touch .git/index.lock", "dirty"),
    ],
)
def test_what_a_kill_left_is_told(tmp_path, after_the_kill, word):
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "before")
    (tmp_path / "a.py").write_text("IT = 1\n")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-q", "-m", "a")
    (tmp_path / "done.txt").write_text("a")
    name = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    name |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    env = {**os.environ, **name}
    subprocess.run(("sh", "-c", after_the_kill or ":"), cwd=tmp_path, check=True, env=env)
    task = Task("a", "", ("a.py",), "", {"a.py": "IT = 1\n"}, truth="import a\nassert a.IT == 1")
    case = Case("C", "it", "it", "good", {}, (task,))
    after = {"a": "done" if (tmp_path / "done.txt").exists() else "open"}
    outcome, said = of_crashes(case, tmp_path, {"a": "open"}, after)
    assert outcome == word, said


@pytest.mark.parametrize("place", ["history", "objects"])
def test_a_secret_is_found_wherever_git_has_it(tmp_path, place):
    home = tmp_path / "home"
    repo = tmp_path / "repo"
    home.mkdir()
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "before")
    case = Case("D", "it", "it", "bad", {}, (), secret=("nobody", "s-secret"))
    assert of_leaks(case, repo, home) == ("ok", "")
    (repo / "a.txt").write_text("nobodys-secret")
    assert of_leaks(case, repo, home) == ("leak", "files (repo/a.txt)")
    git(repo, "add", "-A")
    if place == "history":
        git(repo, "commit", "-q", "-m", "it")
    else:
        git(repo, "reset", "-q")
        (repo / "a.txt").unlink()
    assert of_leaks(case, repo, home) == ("leak", place)


def test_a_pair_is_green_alone_and_red_together(tmp_path):
    """The maker of pairs on a project of two functions, by real test runs."""
    code = "def _half(n):\n    return n // 2\n\n\ndef quarter(n):\n    return _half(_half(n))\n"
    test = (
        "import unittest\n\nfrom it.core import quarter\n\n\nclass ItTest(unittest.TestCase):\n"
        "    def test_it(self):\n        self.assertEqual(quarter(8), 2)\n"
    )
    files = {"it/__init__.py": "", "it/core.py": code, "tests/__init__.py": ""}
    files["tests/test_it.py"] = test
    source = pairs.Source("it", "1", "", "it", ("core",), ("test_it",), "")
    names, arguments = pairs.uses(source, files)
    assert [use.name for use in names] == ["_half"]
    assert arguments == []  # one letter

    def run(edits, command):
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        write(place, {**files, **edits})
        return passes(place, command)

    case = pairs._pair(source, files, names[0], names[0], "open", renames_first=True)
    assert pairs.holds(case, run)
    assert not pairs.holds(dataclasses.replace(case, kind="good"), run)
