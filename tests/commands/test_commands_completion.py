"""What the shells complete, asked of the real shells; and what `--help` says of every command."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands_build import a_ground
from commands_terminal import Terminal

from runner.commands.parser import load_command, make_parser
from runner.operations.table import TABLE, TOP
from runner.report.shell_completion import Flag, _zsh_flag

RUNNER = Path(sys.executable).parent / "runner"


@pytest.fixture
def completing(ground):
    """Asks a real bash what it would offer for a line."""
    a_ground(ground)
    ground.write("c.bash", ground.runner("completion", "bash").out)

    def ask(*words):
        asked = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _runner"
        script = f"source c.bash; {asked}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        assert ran.stderr == ""
        return ran.stdout.split()

    return ask


def test_bash_completes_commands(completing):
    assert completing(str(RUNNER), "statu") == ["status"]
    assert set(completing(str(RUNNER), "''")) >= set(TOP)


def test_bash_completes_ids_where_a_command_takes_one(completing):
    assert completing(str(RUNNER), "why", "TASK-00") == ["TASK-001", "TASK-002", "TASK-003"]
    assert completing(str(RUNNER), "run", "TASK-001", "--only", "TASK-003") == ["TASK-003"]
    assert completing(str(RUNNER), "init", "TASK-00") == []


def test_bash_completes_an_id_where_a_command_could_stand(completing):
    assert completing(str(RUNNER), "TASK-00") == ["TASK-001", "TASK-002", "TASK-003"]


def test_bash_completes_flags_of_the_command_and_of_run_without_one(completing):
    assert completing(str(RUNNER), "status", "--wa") == ["--watch"]
    assert completing(str(RUNNER), "--plan-o") == ["--plan-out"]
    assert completing(str(RUNNER), "status", "--plan-o") == []


def test_bash_completes_the_values_of_a_flag(completing, ground):
    assert completing(str(RUNNER), "graph", "--format", "''") == ["mermaid", "dot", "ascii", "svg"]
    ground.write("out.xml", "")
    assert completing(str(RUNNER), "run", "--junit", "out") == ["out.xml"]


def test_bash_completes_the_options_of_a_command_below_another(completing):
    pipeline = (str(RUNNER), "pipeline")
    offered = completing(*pipeline, "staged-write", "stage", "--")
    assert {"--task", "--file", "--content"} <= set(offered)
    assert not {"--reason", "--json", "--all"} & set(offered)
    assert completing(*pipeline, "staged-write", "reject", "--re") == ["--reason"]
    assert completing(*pipeline, "stag") == ["staged-write"]
    assert completing(*pipeline, "staged-write", "st") == ["stage"]
    assert "TASK-001" in completing(*pipeline, "write-log", "record", "--task", "")


def test_bash_completes_statuses_shells_and_commands_to_explain(completing):
    assert completing(str(RUNNER), "status", "--status", "d") == ["done"]
    assert completing(str(RUNNER), "help", "completion", "") == ["bash", "zsh", "fish"]
    assert completing(str(RUNNER), "help", "hold") == ["hold-out"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_commands_ids_and_values(ground, monkeypatch):
    a_ground(ground)
    monkeypatch.setenv("PATH", str(RUNNER.parent), prepend=":")
    ground.write("c.fish", ground.runner("completion", "fish").out)

    def ask(line):
        words = ["fish", "--no-config", "-c", f"source c.fish; complete -C '{line}'"]
        ran = subprocess.run(words, capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        return [row.split("\t")[0] for row in ran.stdout.splitlines()]

    assert ask("runner statu") == ["status"]
    assert ask("runner why TASK-00") == ["TASK-001", "TASK-002", "TASK-003"]
    assert ask("runner graph --format ") == ["ascii", "dot", "mermaid", "svg"]
    assert ask("runner --plan-o") == ["--plan-out"]
    assert ask("runner pipeline staged-write stage --fi") == ["--file"]
    assert ask("runner pipeline staged-write reject --fi") == []
    assert ask("runner pipeline staged-write sta") == ["stage"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_commands_ids_and_values(ground, monkeypatch):
    a_ground(ground, "A")
    monkeypatch.setenv("PATH", str(RUNNER.parent), prepend=":")
    ground.write("c.zsh", ground.runner("completion", "zsh").out)
    with Terminal(["zsh", "-f", "-i"]) as zsh:
        zsh.send("PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D\n")
        zsh.send("source c.zsh; print loa''ded\n")
        zsh.until("loaded")
        for typed, wanted in (
            ("runner statu", "runner status"),
            ("runner why TAS", "TASK-001"),
            ("runner graph --format sv", "--format svg"),
            ("runner run --plan-o", "--plan-out"),
            ("runner pipeline staged-write stage --fi", "stage --file"),
        ):
            before = len(zsh.said)
            zsh.send(f"{typed}\t")
            zsh.until(wanted, after=before)
            zsh.send("\x15")


def test_what_a_flag_says_cannot_break_the_zsh_script():
    flag = Flag("--x", "it's [odd]: 'very'", "value", ())
    assert _zsh_flag(flag) == "'*--x[its (odd) very]:value: '"


def test_without_a_plan_there_are_no_ids_and_no_words(ground):
    said = ground.runner("completion", "ids")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_ids_are_those_of_headings_not_of_examples(ground):
    ground.git("init", "-q")
    ground.write(
        "TASK-GRAPH.md",
        "# Plan\n\n## Task 7 - first\n\n```text file=a\n## TASK-998: no\n```\n\n### DB-12: kept\n\n"
        "- Status: PENDING\n\n### SHA-256: why not\n\nProse.\n\n## **TASK-008**: bold\n",
    )
    assert ground.runner("completion", "ids").out.split() == ["TASK-007", "DB-12", "TASK-008"]


def test_ids_need_neither_settings_nor_journal():
    """So that pressing a key is answered at once: a figure for it is in the benchmarks."""
    script = (
        "import sys; from runner.cli import main; main(['completion', 'ids']);"
        "print(*[name for name in sys.modules if name.startswith('runner.') and name.split('.')[1]"
        " in ('journal', 'config', 'project', 'run', 'report')])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[-2] == ""


# --- help -----------------------------------------------------------------------------


COMMANDS = [row for row in TABLE.values() if row.does or row.name in TOP]


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_has_help_with_a_sentence_its_options_and_an_example(entry, ground):
    parser = make_parser(entry)
    assert parser.epilog is not None
    if entry.does:
        assert callable(load_command(entry))
        examples = parser.epilog.split("example")[1].splitlines()[1:]
        assert any(f"runner {entry.name}" in line or "runner -" in line for line in examples)
    for action in parser._actions:
        assert action.help, f"{parser.prog}: {action.dest} has no help"
    with pytest.raises(SystemExit) as ended:
        ground.runner(*entry.name.split(), "--help")
    assert ended.value.code == 0


def test_help_begins_with_a_whole_sentence(ground, capsys):
    with pytest.raises(SystemExit):
        ground.runner("graph", "--help")
    out = capsys.readouterr().out
    assert out.startswith("usage: runner graph")
    assert "Draw the graph as text or as a picture.\n" in out
