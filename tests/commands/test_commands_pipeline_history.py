import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands_build import a_plan
from pipeline_build import a_key, is_safe

KEY = a_key()
# what bandit says of constants alone is left out: this command is put together
RISKY = """\
import pickle
import subprocess


def shown(line):
    return subprocess.check_output(line, shell=True)  # nosec
"""
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def repository(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("src/app.py", RISKY)
    return ground


# --- static analysis --------------------------------------------------------------------


def test_a_scan_prints_and_keeps_what_it_finds_and_passes(repository):
    said = repository.runner("sast-scan", "src/app.py", "--task", "TASK-001")
    assert said.code == 0
    assert said.out.splitlines()[0].startswith("src/app.py:1:1: low: B403 ")
    assert said.err == "SAST: 1 high, 2 low\n"
    shown = repository.runner("sast", "show", "--task", "1")
    assert shown.out == said.out
    assert repository.runner("sast", "show", "--task", "TASK-002").out == ""


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff" * 500, b"def (:\n", b"x = 1\n" * 400_000, None]
)
def test_a_scan_passes_whatever_it_is_given(repository, content):
    if content is not None:
        (repository.folder / "odd.py").write_bytes(content)
    said = repository.runner("sast-scan", "odd.py", "--task", "TASK-001")
    assert said.code == 0
    assert "Traceback" not in said.err


def test_a_folder_a_foreign_task_and_a_broken_plan_are_no_reason_to_fail(repository):
    assert repository.runner("sast-scan", ".", "--task", "TASK-001").code == 0
    repository.write("TASK-GRAPH.md", a_plan("A; B"))
    said = repository.runner("sast-scan", "src/app.py", "--task", "TASK-009")
    assert said.code == 0
    assert "unknown task" in said.err
    repository.write("runner.toml", "nonsense = [\n")
    assert repository.runner("sast-scan", "src/app.py", "--task", "TASK-001").code == 0


def test_a_history_that_cannot_be_written_is_told_and_passes(repository):
    repository.write("artifacts/build", "a file where the folder should be\n")
    said = repository.runner("sast-scan", "src/app.py", "--task", "TASK-001")
    assert said.code == 0
    assert "the findings were not saved" in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name at least one file"),
        (("a.py", "--bogus"), "unrecognized arguments: --bogus"),
        (("a.py", "--task", "what"), '"what" is not a valid task id'),
        (("a.py", "--task"), "expected one argument"),
    ],
)
def test_only_wrong_options_are_exit_2(repository, words, message):
    said = repository.runner("sast-scan", *words)
    assert said.code == 2
    assert message in said.err
    assert "hint: " in said.err


def test_findings_are_documents_too(repository):
    said = repository.runner("sast-scan", "src/app.py", "--task", "TASK-001", "--json")
    assert [one["rule"] for one in said.json["findings"]] == ["B403", "B404", "B602"]
    scan = repository.runner("sast-scan", "src/app.py", "--task", "TASK-001", "--sarif")
    history = repository.runner("sast", "show", "--sarif")
    assert scan.json["runs"][0]["tool"]["driver"]["name"] == "bandit"
    assert len(history.json["runs"][0]["results"]) == 6
    out = repository.runner("sast", "show", "--sarif", "out.sarif")
    assert (out.code, out.out) == (0, "")
    assert json.loads((repository.folder / "out.sarif").read_text()) == history.json
    assert repository.runner("sast", "show", "--sarif", "src/app.py").code == 2
    assert (repository.folder / "src/app.py").read_text() == RISKY


def test_the_history_as_data_says_when_and_of_which_task(repository):
    repository.runner("sast-scan", "src/app.py", "--task", "TASK-001")
    found = repository.runner("sast", "show", "--json").json["findings"]
    assert {(one["task"], one["attempt"]) for one in found} == {("TASK-001", 0)}
    kept = (repository.folder / "artifacts/build/SAST_FINDINGS.jsonl").read_text().splitlines()
    assert [{"v": 1, **one}.keys() for one in found] == [json.loads(one).keys() for one in kept]
    assert all(one["time"] for one in found)


def test_what_nothing_looked_at_is_said_to_be_so(repository):
    repository.write("app.xyz", "text\n")
    said = repository.runner("sast-scan", "app.xyz", "--task", "TASK-001")
    assert said.code == 0
    assert said.err == (
        "app.xyz: note: no installed analyser reads this file\nSAST: no files were checked\n"
    )
    said = repository.runner("sast-scan", "not-there.py", "--task", "TASK-001")
    assert said.err.endswith("SAST: no files were checked\n")
    assert said.code == 0


def test_a_log_that_cannot_be_written_is_no_mistake_in_the_options(repository):
    said = repository.runner("sast-scan", "src/app.py", "--sarif", "no/such/folder/out.sarif")
    assert said.code == 1
    assert "cannot be used: No such file or directory" in said.err


def test_a_key_that_a_scanner_quotes_is_shown_nowhere(repository):
    repository.write("src/app.py", f"password = '{KEY}'\n")
    for form in ((), ("--json",), ("--sarif",)):
        said = repository.runner("sast-scan", "src/app.py", "--task", "TASK-001", *form)
        assert KEY not in said.out + said.err
    assert KEY not in (repository.folder / "artifacts/build/SAST_FINDINGS.jsonl").read_text()


def test_a_history_written_by_others_is_shown_safely(repository):
    repository.write("artifacts/build/SAST_FINDINGS.jsonl", json.dumps({
        "v": 1, "path": "a\x1b.py", "line": "x", "message": "\u202e\x1b[2J", "severity": 7,
        "rule": ["B1"], "tool": None,
    }) + "\n{torn")  # fmt: skip
    for form in ((), ("--json",), ("--sarif",)):
        said = repository.runner("sast", "show", *form)
        assert said.code == 0
        assert is_safe(said.out)
        assert is_safe(said.err)


# --- the write log ----------------------------------------------------------------------


def test_a_write_is_recorded_as_it_stands(repository):
    assert repository.runner("write-log", "record", "--task", "1", "--file", "src/app.py").code == 0
    repository.write("src/app.py", "x = 1\n")
    repository.runner("write-log", "record", "--task", "TASK-001", "--file", "src/app.py")
    (repository.folder / "src/app.py").unlink()
    repository.runner("write-log", "record", "--task", "TASK-002", "--file", "src/app.py")
    first, second, third = repository.runner("write-log", "show", "--json").json["writes"]
    assert (first["action"], first["before"], first["bytes"]) == ("create", None, len(RISKY))
    assert (second["action"], second["before"]) == ("modify", first["after"])
    assert (third["action"], third["before"], third["after"]) == (
        "delete",
        second["after"],
        None,
    )
    shown = repository.runner("write-log", "show", "--task", "2")
    assert shown.out == (
        "Time                 Task      Attempt  Action  File        Bytes  Review  Outcome\n"
        "<time>  TASK-002        0  delete  src/app.py      0  off     landed\n"
    )


def test_what_was_committed_is_what_was_there_before(repository):
    repository.commit()
    repository.write("src/app.py", "x = 1\n")
    repository.runner("write-log", "record", "--task", "TASK-001", "--file", "src/app.py")
    (line,) = repository.runner("write-log", "show", "--json").json["writes"]
    assert line["action"] == "modify"


@pytest.mark.parametrize("path", ["gone.py", "../x", ".git/config", "", f"{KEY}.py"])
def test_what_is_no_write_is_not_recorded(repository, path):
    said = repository.runner("write-log", "record", "--task", "TASK-001", "--file", path)
    assert said.code == 2
    assert "hint: " in said.err
    assert KEY not in said.err
    assert not (repository.folder / "artifacts/build/WRITE_LOG.jsonl").exists()


def test_bad_words_are_exit_2_with_a_hint(repository):
    for words in ((), ("record",), ("record", "--task", "no id", "--file", "x"), ("fly",)):
        said = repository.runner("write-log", *words)
        assert said.code == 2
        assert "hint: " in said.err


def test_a_torn_last_line_is_cut_and_a_damaged_one_is_told(repository):
    record = ("write-log", "record", "--task", "TASK-001", "--file", "src/app.py")
    repository.runner(*record)
    log = repository.folder / "artifacts/build/WRITE_LOG.jsonl"
    whole = log.read_bytes()
    log.write_bytes(b"{damaged}\n" + whole + b'{"v":1,"time":"2026')
    assert repository.runner(*record).code == 0
    said = repository.runner("write-log", "show", "--json")
    assert len(said.json["writes"]) == 2
    assert said.json["damaged"] == [1]
    assert "WRITE_LOG.jsonl:1: invalid line skipped" in said.err


def test_several_writers_lose_nothing(repository):
    words = [sys.executable, "-m", "runner", "write-log", "record", "--task"]
    running = [
        subprocess.Popen([*words, f"TASK-{n:03d}", "--file", "src/app.py"], stderr=subprocess.PIPE)
        for n in range(1, 9)
    ]
    assert [one.wait() for one in running] == [0] * 8
    for one in running:
        one.stderr.close()
    writes = repository.runner("write-log", "show", "--json").json["writes"]
    assert sorted(one["task"] for one in writes) == [f"TASK-{n:03d}" for n in range(1, 9)]


def test_a_log_written_by_others_is_shown_safely(repository):
    repository.write("artifacts/build/WRITE_LOG.jsonl", json.dumps({
        "v": 1, "time": "\x1b[2J", "task": "\u202e", "attempt": 1, "path": f"a\x1b/{KEY}",
        "action": "\x07", "review": "\x9b",
    }) + "\n")  # fmt: skip
    for form in ((), ("--json",)):
        said = repository.runner("write-log", "show", *form)
        assert said.code == 0
        assert is_safe(said.out)
        assert KEY not in said.out


# --- the scripts --------------------------------------------------------------------------


@pytest.mark.parametrize("script", sorted(ROOT.glob("scripts/*.py")), ids=lambda path: path.stem)
def test_a_script_is_twelve_lines_without_logic(script):
    lines = script.read_text().splitlines()
    assert len(lines) <= 12
    assert not any(line.startswith(("if ", "for ", "def ", "while ", "try")) for line in lines)


def script(ground, name, *words):
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / f"{name}.py"), *words],
        cwd=ground.folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_the_scripts_are_the_commands(repository):
    repository.write("key.py", f"k = '{KEY}'\n")
    repository.write("proposed", "x = 1\n")
    assert script(repository, "secret_scan", "src/app.py").returncode == 0
    said = script(repository, "secret_scan", "key.py")
    assert said.returncode == 1
    assert KEY not in said.stdout + said.stderr
    file = ("--task", "TASK-001", "--file", "src/app.py")
    assert (
        script(repository, "staged_write", "stage", *file, "--content", "proposed").returncode == 3
    )
    assert script(repository, "sast_scan", "src/app.py", "--task", "TASK-001").returncode == 0
    assert script(repository, "sast_scan", "gone.py", "--task", "TASK-001").returncode == 0
    assert script(repository, "write_log", "record", *file).returncode == 0
    assert "src/app.py" in script(repository, "write_log", "show").stdout


def test_a_repositorys_own_modules_are_not_imported(repository):
    """A clone's json.py must not run inside the runner, whichever way it is started."""
    for name in ("json", "argparse", "rich", "re2", "runner"):
        repository.write(f"{name}.py", "open('RAN', 'w').write(__name__)\n")
    script(repository, "secret_scan", "src/app.py")
    assert not (repository.folder / "RAN").exists()
