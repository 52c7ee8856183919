"""Analysers of other languages run behind the tasks: nobody waits for them but the run's end."""

import json
import os
import re

import pytest
from workplace import a_task

FOUND = """{"results": [{"check_id": "eval-used", "path": "%s", "start": {"line": 1, "col": 1},
"extra": {"severity": "ERROR", "message": "eval runs text", "metadata": {}}}], "errors": []}"""
WAITS = "n=0; while [ ! -e {file} ]; do sleep 0.02; n=$((n+1)); [ $n -lt 900 ] || exit 9; done"
LAST = 'for each in "$@"; do last=$each; done'


@pytest.fixture
def semgrep(workplace, tmp_path, monkeypatch):
    """Installs a stand-in of this name for the story; its script is the argument."""

    def install(script):
        tool = tmp_path / "bin" / "semgrep"
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
        workplace.commit({".semgrep.yml": "rules: []\n"})

    return install


def reports(said=FOUND):
    return f'{LAST}\ncat <<END | sed "s|%s|$last|"\n{said}\nEND'


def findings(workplace):
    text = workplace.read("artifacts/build/SAST_FINDINGS.jsonl")
    return [json.loads(line) for line in text.splitlines()]


def two_tasks():
    return (
        a_task("TASK-001", blocks={"a.rb": "eval(gets)\n", "b.py": "assert True\n"}),
        a_task("TASK-002", needs=["TASK-001"], blocks={"c.rb": "puts 1\n"}),
    )


def test_their_findings_join_those_of_bandit_for_the_same_attempt(workplace, semgrep):
    semgrep(reports())
    workplace.plan(*two_tasks())
    ended = workplace.run("-j", "1")
    assert ended.code == 0, ended.said
    told = {(one["task"], one["attempt"], one["tool"], one["path"]) for one in findings(workplace)}
    assert told == {
        ("TASK-001", 1, "bandit", "b.py"),
        ("TASK-001", 1, "semgrep", "b.py"),
        ("TASK-002", 1, "semgrep", "c.rb"),
    }
    assert "SAST: 2 high, 1 low" in workplace.runner("sast", "show").err
    sarif = workplace.runner("sast", "show", "--sarif").document
    assert [run["tool"]["driver"]["name"] for run in sarif["runs"]] == ["bandit", "semgrep"]


def test_tasks_land_before_their_slow_scan_has_ended_and_the_run_ends_after_it(
    workplace, semgrep, monkeypatch
):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")  # so that the tool sees what has landed
    semgrep(f"{WAITS.format(file=workplace.root / 'c.rb')}\n{reports()}")
    workplace.plan(*two_tasks())
    ended = workplace.run("-j", "1")
    assert ended.code == 0, ended.said
    assert [one["rule"] for one in findings(workplace)].count("eval-used") == 2
    assert "SAST: pending" in workplace.read("artifacts/build/CHECKPOINT.md")


def test_the_checkpoint_names_what_to_install_for_code_that_nothing_scans(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_PROOF_SAST_BLOCK_AT", "high")
    rows = {
        "a.js": ("exports.a = 1;\n", "eslint with eslint-plugin-security"),
        "a.ts": ("export const a = 1;\n", "eslint with eslint-plugin-security"),
        "a.go": ("package a\n", "gosec"),
        "a.rs": ("fn main() {}\n", "cargo-audit"),
    }
    workplace.plan(
        *(
            a_task(f"TASK-00{n}", blocks={path: content, f"b{n}.py": "assert True\n"})
            for n, (path, (content, _)) in enumerate(rows.items(), 1)
        )
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    lines = re.findall(
        r"^SAST: (.*)$", workplace.read("artifacts/build/CHECKPOINT.md"), re.MULTILINE
    )
    doctor = workplace.runner("doctor").said
    for path, (_, tools) in rows.items():
        ending = path.removeprefix("a")
        missing = (
            f"no scanner for {ending} is installed: install semgrep with a .semgrep.yml, or {tools}"
        )
        assert f"1 low; {missing}" in lines, path
        assert re.search(rf"no scanner for [^:]*{re.escape(ending)}[, ]", doctor), path
        assert re.search(rf"^note +analyser {tools.split()[0]} ", doctor, re.MULTILINE)


def test_a_team_that_lets_them_block_waits_for_them_too(workplace, semgrep, monkeypatch):
    monkeypatch.setenv("RUNNER_PROOF_SAST_BLOCK_AT", "high")
    semgrep(reports())
    workplace.plan(a_task("TASK-001", blocks={"a.rb": "eval(gets)\n"}))
    ended = workplace.run()
    assert ended.code == 1, ended.said
    assert "eval-used (high): eval runs text" in workplace.runner("why", "TASK-001").said
    assert workplace.landings == []


def test_a_tool_that_fails_holds_nothing_up(workplace, semgrep):
    tasks = []
    for number, script in enumerate(("kill -9 $$", "echo rubbish; exit 2", "exec /nowhere"), 1):
        semgrep(script)
        tasks = [one.replace("PENDING", "DONE") for one in tasks]
        tasks.append(a_task(f"TASK-00{number}", blocks={f"a{number}.rb": "puts 1\n"}))
        workplace.plan(*tasks)
        ended = workplace.run()
        assert ended.code == 0, (script, ended.said)
        assert workplace.landings[-1] == f"TASK-00{number}"
    said = [one["message"] for one in findings(workplace) if one["task"] != "TASK-003"]
    assert said
    assert all(one.startswith("semgrep printed no readable report") for one in said)


def test_a_rule_that_the_task_itself_takes_away_still_holds(workplace, semgrep):
    semgrep('grep -q "rules: ..$" .runner-semgrep.yml || exit 5\n' + reports())
    workplace.plan(
        a_task("TASK-001", blocks={"a.rb": "eval(gets)\n", ".semgrep.yml": "none: []\n"})
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert [one["rule"] for one in findings(workplace)] == ["eval-used"]


def test_a_tool_that_takes_longer_than_all_tasks_is_heard(workplace, semgrep):
    semgrep(f"sleep 2; {reports()}")
    workplace.plan(a_task("TASK-001", blocks={"a.rb": "eval(gets)\n"}))
    assert workplace.run().code == 0
    assert [one["rule"] for one in findings(workplace)] == ["eval-used"]
