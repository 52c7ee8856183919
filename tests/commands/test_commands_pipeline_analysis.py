"""Analysers of other languages by hand: on one file, and what there is to say of their absence."""

import json

import pytest

from runner.app.write.static_checks import analysis_signs

SAID = {
    "results": [
        {"check_id": "eval-used", "path": "a.rb", "start": {"line": 1, "col": 1},
         "extra": {"severity": "ERROR", "message": "eval runs text", "metadata": {}}}
    ]
}  # fmt: skip
PLAN = "# Shop\n\n## TASK-001: One\n\n- Output files: `web/b.js`\n"


@pytest.fixture
def repository(ground, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()
    ground.git("init", "-q", "-b", "main")
    ground.write("TASK-GRAPH.md", PLAN)
    ground.write("a.rb", "eval(gets)\n")
    ground.write("b.py", "assert True\n")
    ground.commit()
    return ground


def install(tmp_path, name, output):
    tool = tmp_path / "bin" / name
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
    tool.chmod(0o755)


def signs(ground):
    found = analysis_signs(ground.project(), ["web/b.js"])
    return {sign.name: (str(sign.state), sign.text) for sign in found}


def test_one_file_is_looked_at_where_its_tool_is_installed(repository, tmp_path):
    scan = ("sast-scan", "a.rb", "--task", "TASK-001")
    advice = "a.rb: note: nothing scans .rb: install semgrep with a .semgrep.yml"
    nothing = f"{advice}\nSAST: no files were checked\n"
    assert repository.runner(*scan).err == nothing
    install(tmp_path, "semgrep", json.dumps(SAID))
    assert repository.runner(*scan).err == nothing  # it has no rules yet
    repository.write(".semgrep.yml", "rules: []\n")
    said = repository.runner(*scan)
    assert said.out == "a.rb:1:1: high: eval-used eval runs text\n"
    assert said.code == 0


def test_python_is_looked_at_by_both(repository, tmp_path):
    install(tmp_path, "semgrep", json.dumps(SAID).replace("a.rb", "b.py"))
    repository.write(".semgrep.yml", "rules: []\n")
    said = repository.runner("sast-scan", "b.py", "--task", "TASK-001", "--json").json
    assert [one["tool"] for one in said["findings"]] == ["bandit", "semgrep"]


def test_what_a_tool_did_not_look_at_is_a_note_everywhere(repository, tmp_path):
    install(tmp_path, "semgrep", "panic!")
    repository.write(".semgrep.yml", "rules: []\n")
    said = repository.runner("sast-scan", "a.rb", "--task", "TASK-001")
    assert said.out == ""
    assert (
        said.err == "a.rb: note: semgrep printed no readable report (exit 0): panic!\nSAST: none\n"
    )
    shown = repository.runner("sast", "show")
    assert shown.err == said.err
    sarif = repository.runner("sast", "show", "--sarif").json
    (result,) = sarif["runs"][1]["results"]
    assert (result["ruleId"], result["level"]) == ("unscanned", "note")


def test_doctor_can_say_what_is_called_for_and_missing(repository, tmp_path):
    advice = (
        "nothing scans .js: install semgrep with a .semgrep.yml, "
        "or eslint with eslint-plugin-security"
    )
    assert signs(repository) == {
        "static analysis": ("note", advice),
        "analyser semgrep": ("note", "semgrep is not installed, so semgrep does not run"),
        "analyser eslint": ("note", "eslint is not installed, so eslint does not run"),
    }
    for tool in ("semgrep", "eslint"):
        install(tmp_path, tool, "[]")
    said = signs(repository)
    assert said["analyser semgrep"][1].startswith("the rules file .semgrep.yml is missing")
    assert said["analyser eslint"][1].startswith("eslint-plugin-security is not installed")
    repository.write(".semgrep.yml", "rules: []\n")
    repository.write("node_modules/eslint-plugin-security/package.json", "{}")
    assert {state for state, _ in signs(repository).values()} == {"ok"}


# --- `runner doctor --repository` -----------------------------------------------------


def test_it_is_readable_and_whole_as_json_without_a_plan(workplace):
    workplace.commit({"pkg/__init__.py": "", "pkg/a.py": "from pkg import b\n", "pkg/b.py": ""})
    said = workplace.runner("analyse")
    assert said.code == 0
    assert "packages: pkg in pkg, 3 files" in said.out
    assert "imported most: pkg/__init__.py by 2, pkg/b.py by 1" in said.out
    document = workplace.runner("analyse", "--json").document
    assert (document["kind"], document["files"]) == ("analysis", 3)
    assert document["sources"][1]["imports"] == ["pkg/__init__.py", "pkg/b.py"]
    assert workplace.dirt == []


def test_control_signs_of_a_clone_reach_no_terminal(workplace):
    workplace.commit({"a\x1b[31m/__init__.py": "", "package.json": '{"name": "\\u001b]0;x"}'})
    assert "\x1b" not in workplace.runner("analyse").out
