"""A repository that declares its own checks is held to them, though nobody configured a gate."""

import json
import shutil
import stat

import pytest
from workplace import PASSES, a_task

from runner.model import Verdict

PYPROJECT = "[tool.ruff]\n[tool.pytest.ini_options]\n"


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """A folder at the front of PATH for programs of this test; PATH holds the system's, else."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def give(name, script):
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    return give


def gates_of(workplace, id_="TASK-001"):
    proofs = [event["proof"] for event in workplace.happened("gate.completed", id_)]
    return {proof["id"]: proof["verdict"] for proof in proofs if proof["kind"] == "gate"}


def test_a_makefile_s_targets_are_run_and_refuse(workplace):
    makefile = "lint:\n\t@! grep -n BAD *.txt\n"
    workplace.commit({"Makefile": makefile})
    workplace.plan(
        a_task("TASK-001", blocks={"good.txt": "fine"}),
        a_task("TASK-002", blocks={"bad.txt": "BAD"}, needs=["TASK-001"]),
    )
    ended = workplace.run()
    assert ended.code == 1
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "BLOCKED"}
    assert gates_of(workplace) == {"gate:lint": "pass"}
    assert "gate:lint" in workplace.status_line("TASK-002")


def test_pytest_without_tests_and_a_missing_tool_stand_in_nobody_s_way(workplace, tools):
    tools("python", 'case "$*" in *find_spec*) exit 0;; *) exit 5;; esac')
    workplace.commit({"pyproject.toml": PYPROJECT})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}))
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0
    assert "note: default gate lint is not run: ruff is not on PATH" in ended.err
    assert gates_of(workplace) == {"gate:tests": str(Verdict.SKIPPED)}
    assert "Gates: — tests" in workplace.read("artifacts/build/CHECKPOINT.md")


def test_settings_and_doctor_say_where_a_gate_comes_from(workplace, tools):
    tools("ruff", "exit 0")
    tools("python", "exit 1")
    workplace.commit({"pyproject.toml": PYPROJECT})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}))
    said = workplace.runner("settings", "--json").document["settings"]
    assert said["gates"]["source"] == "pyproject.toml (default gate)"
    assert [gate["command"] for gate in said["gates"]["value"]] == ["ruff check ."]
    signs = workplace.runner("doctor", "--json").document["signs"]
    texts = {sign["name"]: sign["text"] for sign in signs}
    assert texts["default gate lint"] == "ruff check . (pyproject.toml)"
    notes = [sign["text"] for sign in signs if sign["name"] == "settings"]
    assert notes == ["default gate tests is not run: python cannot import pytest"]


def test_a_tool_in_an_environment_that_nobody_activated_is_found(workplace, tools):
    workplace.write(
        {"pyproject.toml": "[tool.ruff]\n", ".venv/pyvenv.cfg": "", ".gitignore": "/.venv"}
    )
    workplace.write({".venv/bin/ruff": "#!/bin/sh\nexit 0\n"})
    (workplace.root / ".venv/bin/ruff").chmod(0o755)
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}))
    said = workplace.runner("settings", "--json").document["settings"]
    assert [gate["command"] for gate in said["gates"]["value"]] == [".venv/bin/ruff check ."]


def test_a_python_of_the_repository_is_looked_into_and_not_started(workplace, tools, tmp_path):
    tools("python", "exit 1")
    started = tmp_path / "started"
    files = {"pyproject.toml": PYPROJECT.replace("[tool.ruff]\n", ""), ".venv/pyvenv.cfg": ""}
    workplace.write(files | {".venv/bin/python": f"#!/bin/sh\ntouch {started}\n"})
    (workplace.root / ".venv/bin/python").chmod(0o755)
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}))
    assert workplace.runner("settings", "--json").document["settings"]["gates"]["value"] == []
    workplace.write({".venv/lib/python3.12/site-packages/pytest/__init__.py": ""})
    said = workplace.runner("settings", "--json").document["settings"]
    (gate,) = said["gates"]["value"]
    assert gate["command"] == ".venv/bin/python -m pytest -q"
    assert not started.exists()


def test_packages_that_nobody_installed_are_said(workplace, tools):
    tools("npm", "exit 1")
    manifest = {"scripts": {"lint": "eslint ."}, "devDependencies": {"eslint": "9"}}
    workplace.commit({"package.json": json.dumps(manifest)})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}))
    ended = workplace.run()
    assert ended.code == 0
    assert "note: default gate lint is not run: node_modules is not installed" in ended.err


def test_configured_gates_and_a_person_who_wants_none_have_the_last_word(workplace):
    files = {"Makefile": "lint:\n\tfalse\n"}
    workplace.commit(files | {"runner.toml": "proof.default_gates = false\n"})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}))
    assert workplace.run().code == 0
    workplace.commit({"runner.toml": f'[gates]\nmine = "{PASSES}"\n'})
    workplace.plan(
        a_task("TASK-001", status="DONE", blocks={"a.txt": "a"}),
        a_task("TASK-002", blocks={"b.txt": "b"}),
    )
    assert workplace.run().code == 0
    assert gates_of(workplace, "TASK-002") == {"gate:mine": "pass"}


def test_what_a_repository_declares_is_among_what_a_person_is_asked_to_trust(workplace):
    workplace.commit({"Makefile": "lint:\n\techo hello\n"})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}))
    ended = workplace.run(trust=False)
    assert ended.code == 3
    assert "make lint" in ended.err


def test_init_gives_no_trust_to_a_makefile_that_was_there(workplace):
    workplace.commit({"Makefile": "lint:\n\techo hello\n"})
    assert workplace.runner("init").code == 0
    workplace.commit()
    assert workplace.run(trust=False).code == 3


def a_linted_project(workplace, outside):
    """A Makefile whose lint can be counted from outside."""
    workplace.commit({"Makefile": f"lint:\n\techo ran >> {outside}\n"})


def test_a_change_of_documents_alone_waits_for_the_whole_with_default_gates(workplace, tmp_path):
    outside = tmp_path / "linted"
    a_linted_project(workplace, outside)
    workplace.plan(
        a_task("TASK-001", blocks={"a.sh": "true"}, tests=["test -f a.sh"]),
        a_task(*("TASK-002",), blocks={"a.md": "a"}, tests=["test -f a.md"], needs=["TASK-001"]),
    )
    assert workplace.run("--no-sandbox").code == 0
    assert gates_of(workplace, "TASK-001") == {"gate:lint": "pass"}
    assert gates_of(workplace, "TASK-002") == {"gate:lint": "skipped"}
    assert "opened none of the changed files" in workplace.runner("evidence", "TASK-002").out
    assert outside.read_text().count("ran") == 2  # once for the first task, once for the whole


def test_a_default_gate_that_is_all_there_is_runs_for_documents_too(workplace, tmp_path):
    outside = tmp_path / "linted"
    a_linted_project(workplace, outside)
    workplace.plan(a_task("TASK-001", blocks={"a.md": "a"}))
    assert workplace.run("--no-sandbox").code == 0
    assert gates_of(workplace, "TASK-001") == {"gate:lint": "pass"}


def test_a_default_gate_waits_until_the_tasks_own_proof_passes(workplace, tmp_path):
    outside = tmp_path / "linted"
    a_linted_project(workplace, outside)
    workplace.plan(a_task("TASK-001", blocks={"a.sh": "true"}, tests=["test -f b.sh"]))
    assert workplace.run("--no-sandbox").code == 1
    assert not outside.exists()


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--strict",), 1)])
def test_a_check_is_not_refused_for_what_was_red_before_the_plan(workplace, words, code):
    red = "def test_old():\n    assert False\n"
    workplace.commit({"pyproject.toml": "[tool.pytest.ini_options]\n", "test_old.py": red})
    new = {
        "new.py": "X = 1\n",
        "test_new.py": "from new import X\n\n\ndef test_x():\n    assert X == 1\n",
    }
    proof = ["python3 -m pytest -q test_new.py"]
    workplace.plan(
        a_task("TASK-001", "New", blocks=new, tests=proof),
        a_task("TASK-002", "All", needs=["TASK-001"], tests=proof),
    )
    ended = workplace.run(*words)
    assert ended.code == code, ended.said
    if not words:
        assert "TASK-002 ⚠ gate:tests" in ended.err
        assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}


def test_tests_of_pytest_that_requirements_alone_name_protect_the_project(workplace):
    test = "from old import X\n\n\ndef test_x():\n    assert X == 1\n"
    files = {
        "requirements-dev.txt": "pytest\n",
        "old.py": "X = 1  # one\n",
        "tests/old_test.py": test,
    }
    workplace.commit({**files, "conftest.py": ""})
    good = a_task("TASK-001", blocks={"old.py": "X = 1\n"}, tests=["test -f old.py"])
    bad = a_task(
        "TASK-002", needs=["TASK-001"], blocks={"old.py": "X = 2\n"}, tests=["test -f old.py"]
    )
    workplace.plan(good, bad)
    ended = workplace.run()
    assert ended.code == 1, ended.said
    assert workplace.landings == ["TASK-001"]
    assert gates_of(workplace, "TASK-001") == {"gate:tests": "pass"}
    assert gates_of(workplace, "TASK-002") == {"gate:tests": "fail"}


UNITTEST = {
    "pyproject.toml": "[project]\nname = 'old'\n",
    "old.py": "X = 1\n",
    "tests/test_old.py": "import unittest\nfrom old import X\n\n\n"
    "class OldTest(unittest.TestCase):\n    def test_x(self):\n        self.assertEqual(X, 1)\n",
}
GO = {
    "go.mod": "module old\n\ngo 1.19\n",
    "old.go": "package old\n\nfunc X() int { return 1 }\n",
    "old_test.go": 'package old\n\nimport "testing"\n\nfunc TestX(t *testing.T) {\n'
    "\tif X() != 1 {\n\t\tt.Fatal(X())\n\t}\n}\n",
}


@pytest.mark.parametrize(
    ("files", "path", "program"), [(UNITTEST, "old.py", "python"), (GO, "old.go", "go")]
)
def test_tests_that_no_manifest_names_protect_the_project(workplace, files, path, program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    workplace.commit(files)
    broken = {path: files[path].replace("1", "2")}
    workplace.plan(a_task("TASK-001", blocks=broken, tests=[f"test -f {path}"]))
    ended = workplace.run()
    assert ended.code != 0, ended.said
    assert workplace.landings == []
    assert gates_of(workplace)["gate:tests"] == "fail"
