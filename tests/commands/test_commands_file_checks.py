import io
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from commands_build import a_ground
from pipeline_build import a_key, is_safe

from runner.app.write.static_checks import analysis_signs

KEY = a_key()


@pytest.fixture
def repository(ground):
    ground.git("init", "-q", "-b", "main")
    return ground


def typed(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def nowhere(said, key=KEY):
    """The key, and no long part of it, is in anything that was said."""
    return all(key[start : start + 16] not in said.out + said.err for start in range(5, 60, 5))


def test_a_key_blocks_with_its_place_and_the_variable_to_use(ground):
    ground.write("app.py", f'import x\nclient = x.Client("{KEY}")\n')
    said = ground.runner("secret-scan", "app.py")
    assert said.code == 1
    assert said.out == (
        "app.py:2:20: error: secret found: OpenAI API key\n"
        "    hint: remove the value and read it from the environment: "
        'os.environ["OPENAI_API_KEY"]\n'
    )
    assert nowhere(said)


def test_a_clean_file_passes_outside_any_repository(ground):
    ground.write("app.py", "x = 1\n")
    said = ground.runner("secret-scan", "app.py")
    assert (said.code, said.out) == (0, "")
    assert said.err == "1 file scanned: nothing found\n"


def test_what_only_looks_odd_warns_and_passes(ground):
    ground.write("app.py", 'password = "correct-horse-battery"\n')
    said = ground.runner("secret-scan", "app.py")
    assert said.code == 0
    assert "warning" in said.out


def test_standard_input_is_scanned(ground, monkeypatch):
    typed(monkeypatch, f"k = '{KEY}'\n".encode())
    said = ground.runner("secret-scan", "-")
    assert said.code == 1
    assert said.out.startswith("(standard input):1:6: error: ")
    assert nowhere(said)


def test_a_key_in_the_files_name_is_found_and_not_shown(ground):
    ground.write(f"{KEY}.txt", "x\n")
    for form in ((), ("--json",), ("--sarif",)):
        said = ground.runner("secret-scan", *form, f"{KEY}.txt")
        assert said.code == 1
        assert nowhere(said)
        assert "[REDACTED:openai]" in said.out or "%5BREDACTED%3Aopenai%5D" in said.out


@pytest.mark.parametrize("form", ["--json", "--sarif"])
def test_documents_hold_every_finding_and_no_value(ground, form):
    ground.write("app.py", f'a = "{KEY}"\nb = "{a_key(11)}"\n')
    said = ground.runner("secret-scan", form, "app.py", "missing.py")
    assert said.code == 2
    assert nowhere(said)
    assert nowhere(said, a_key(11))
    if form == "--json":
        assert [one["line"] for one in said.json["findings"]] == [1, 2]
        assert said.json["kind"] == "secret-scan"
        assert said.json["blocked"] is True
        assert said.json["unreadable"][0]["path"] == "missing.py"
    else:
        (run,) = said.json["runs"]
        assert [one["level"] for one in run["results"]] == ["error", "error"]
        assert run["invocations"][0]["executionSuccessful"] is False


def test_sarif_goes_into_a_file_that_is_named_so_and_never_over_a_source(ground):
    ground.write("app.py", f'a = "{KEY}"\n')
    ground.write("other.py", "b = 1\n")
    assert ground.runner("secret-scan", "app.py", "--sarif", "out.sarif").code == 1
    assert (ground.folder / "out.sarif").read_text().startswith('{\n  "$schema"')
    said = ground.runner("secret-scan", "--sarif", "app.py", "other.py")
    assert said.json["version"] == "2.1.0"
    assert (ground.folder / "app.py").read_text() == f'a = "{KEY}"\n'


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ((), "name at least one file", "runner pipeline secret-scan FILE"),
        (("--bogus", "x"), "unrecognized arguments: --bogus", "runner pipeline secret-scan --help"),
        (("missing.py",), "missing.py: cannot be read: No such file", "check the name"),
        ((".",), ".: is a folder", "name its files: git ls-files"),
        (("/dev/zero",), "/dev/zero: is not a regular file", "name files"),
        (("a\0b",), "a\\x00b: cannot be read", "check the name"),
    ],
)
def test_bad_input_is_exit_2_with_a_hint(ground, words, message, hint):
    said = ground.runner("secret-scan", *words)
    assert said.code == 2
    assert message in said.err
    assert f"hint: {hint}" in said.err


def test_unreadable_files_are_each_told_and_the_rest_is_scanned(ground):
    ground.write("app.py", f'a = "{KEY}"\n')
    said = ground.runner("secret-scan", "no1", "app.py", "no2")
    assert said.code == 2
    assert said.err.count("cannot be read") == 2
    assert said.out.startswith("app.py:1:6: error")


def test_a_binary_an_empty_and_a_large_file_are_scanned(ground):
    (ground.folder / "empty").write_bytes(b"")
    (ground.folder / "binary").write_bytes(os.urandom(100_000))
    line = b"value = compute(first, second)  # nothing to see\n"
    large = line * (20_000_000 // len(line)) + f'k = "{KEY}"\n'.encode()
    (ground.folder / "large.py").write_bytes(large)
    assert ground.runner("secret-scan", "empty", "binary").code == 0
    said = ground.runner("secret-scan", "large.py")
    assert said.code == 1
    assert said.out.startswith(f"large.py:{20_000_000 // len(line) + 1}:6: error")


def test_escapes_in_a_name_reach_no_terminal(ground):
    name = "a\x1b[31m\u202eb.py"
    ground.write(name, f'k = "{KEY}"\n')
    said = ground.runner("secret-scan", name, "gone\x1b[2J")
    assert is_safe(said.out)
    assert is_safe(said.err)
    assert said.out.startswith("a\\x1b[31m\\u202eb.py:1:6")


# --- allowing -------------------------------------------------------------------------


def test_a_person_allows_a_value_by_its_place(repository):
    repository.write("app.py", f'x = 1\nk = "{KEY}"\n')
    assert repository.runner("secret-scan", "app.py").code == 1
    said = repository.runner("secrets", "allow", "app.py:2", "--reason", "documented sample")
    assert said.code == 0
    assert said.err == ("allowed by Ada <ada@example.org>; now commit secrets-allowed.toml\n")
    assert repository.runner("secret-scan", "app.py").code == 0
    kept = (repository.folder / "secrets-allowed.toml").read_text()
    assert KEY not in kept
    assert 'reason = "documented sample"' in kept
    assert 'author = "Ada <ada@example.org>"' in kept
    again = repository.runner("secrets", "allow", "app.py:2", "--reason", "again")
    assert again.err == "already allowed; to list all: runner pipeline secrets list\n"


def test_a_value_is_allowed_from_standard_input_and_never_from_an_argument(repository, monkeypatch):
    repository.write("sub/app.py", f'k = "{KEY}"\n')
    typed(monkeypatch, f"{KEY}\n".encode())
    assert repository.runner("secrets", "allow", "--value-from", "-", "--reason", "ok").code == 0
    assert repository.runner("secret-scan", "sub/app.py").code == 0
    said = repository.runner("secrets", "allow", KEY, "--reason", "pasted")
    assert said.code == 2
    assert nowhere(said)


def test_one_allowed_value_lets_no_other_pass(repository):
    repository.write("app.py", f'k = "{KEY}"\n')
    repository.runner("secrets", "allow", "app.py:1", "--reason", "ok")
    repository.write("app.py", f'k = "{a_key(11)}"\n')
    assert repository.runner("secret-scan", "app.py").code == 1


def test_of_several_values_on_a_line_one_is_named(repository):
    repository.write("app.py", f'k = ("{KEY}", "{a_key(11)}")\n')
    said = repository.runner("secrets", "allow", "app.py:1", "--reason", "ok")
    assert said.code == 2
    assert "this line has several findings, at columns 7, 99" in said.err
    assert repository.runner("secrets", "allow", "app.py:1:99", "--reason", "ok").code == 0
    said = repository.runner("secret-scan", "app.py")
    assert [line for line in said.out.splitlines() if "error" in line] == [
        "app.py:1:7: error: secret found: OpenAI API key"
    ]


def test_an_entry_ends_on_its_day(repository):
    repository.write("app.py", f'k = "{KEY}"\n')
    today = datetime.now(UTC).date()
    reason = ("--reason", "for now")
    allow = ("secrets", "allow", "app.py:1", *reason, "--expires")
    assert repository.runner(*allow, str(today)).code == 0
    assert repository.runner("secret-scan", "app.py").code == 0
    kept = repository.folder / "secrets-allowed.toml"
    kept.write_text(kept.read_text().replace(str(today), str(today - timedelta(days=1))))
    assert repository.runner("secret-scan", "app.py").code == 1
    listed = repository.runner("secrets", "list")
    assert f"{today - timedelta(days=1)} (expired)" in listed.out
    assert repository.runner("secrets", "list", "--json").json["allowed"][0]["expired"] is True


def test_what_a_person_wrote_into_the_list_stays(repository):
    repository.write("app.py", f'k = "{KEY}"\nl = "{a_key(11)}"\n')
    repository.runner("secrets", "allow", "app.py:1", "--reason", "one")
    kept = repository.folder / "secrets-allowed.toml"
    kept.write_text("# ours\n" + kept.read_text().rstrip("\n"))
    before = kept.read_text()
    assert repository.runner("secrets", "allow", "app.py:2", "--reason", "two").code == 0
    assert kept.read_text().startswith(before)
    assert repository.runner("secret-scan", "app.py").code == 0


def test_a_reason_that_is_a_key_is_kept_nowhere(repository):
    repository.write("app.py", f'k = "{KEY}"\n')
    said = repository.runner("secrets", "allow", "app.py:1", "--reason", f"it is {KEY}")
    assert said.code == 2
    assert nowhere(said)
    assert not (repository.folder / "secrets-allowed.toml").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("allow", "app.py:1"), "an entry needs a reason"),
        (("allow", "app.py:1", "--reason", " "), "an entry needs a reason"),
        (("allow", "--reason", "x"), "name either the place or the value"),
        (("allow", "app.py:1", "--value-from", "x", "--reason", "x"), "name either"),
        (("allow", "app.py", "--reason", "x"), "no line number"),
        (("allow", "app.py:9", "--reason", "x"), "the scan finds nothing at this place"),
        (("allow", "gone.py:1", "--reason", "x"), "cannot be read"),
        (("allow", "app.py:1", "--reason", "x", "--expires", "soon"), '"soon" is not a valid date'),
        (("allow", "app.py:1", "--reason", "x", "--expires", "2001-01-01"), "is in the past"),
        (("forget",), "needs one of: allow, list, log"),
        ((), "needs one of: allow, list, log"),
    ],
)
def test_what_cannot_be_allowed_is_exit_2_with_a_hint(repository, words, message):
    repository.write("app.py", f'k = "{KEY}"\n')
    said = repository.runner("secrets", *words)
    assert said.code == 2
    assert message in said.err
    assert "hint: " in said.err
    assert not (repository.folder / "secrets-allowed.toml").exists()


def test_a_broken_list_lets_nothing_pass_unsaid(repository):
    repository.write("app.py", "x = 1\n")
    repository.write("secrets-allowed.toml", "[[allowed]]\nvalue = 1\n")
    said = repository.runner("secret-scan", "app.py")
    assert said.code == 2
    assert "entry 1 cannot be read" in said.err


def test_outside_a_repository_there_is_no_list(ground):
    said = ground.runner("secrets", "list")
    assert said.code == 2
    assert "not in a git repository" in said.err


def test_a_task_may_not_write_the_list():
    from runner.secrets.allowlist import FILE_NAME
    from runner.writes.paths import is_control, is_forbidden, scope_finding

    assert is_forbidden(FILE_NAME)
    assert is_forbidden(FILE_NAME.upper())
    assert is_control(f"sub/{FILE_NAME}")
    assert scope_finding(FILE_NAME, (FILE_NAME,), "TASK-001").refuses


ROOT = Path(__file__).parents[2]
PASSES = "test -n $RUNNER_TASK"
MAP = "| File | Tasks |\n|---|---|\n| `docs/*.md` | TASK-001, TASK-002 |\n"


@pytest.fixture
def three(ground):
    return a_ground(ground, "A; B; C")


def log_of(ground, task):
    return (ground.folder / "artifacts/build/logs" / task / "parallel.log").read_text()


def test_a_command_that_passes_for_all_is_exit_0_and_its_output_is_kept_per_task(three):
    said = three.runner("parallel", "-tasks", "TASK-001,3", "-cmd", "echo I am $RUNNER_TASK")
    assert said.code == 0, said.err
    assert "✓ TASK-001 passed" in said.out
    assert said.out.splitlines()[-1].startswith("2 tasks: passed for all; ")
    assert log_of(three, "TASK-001") == "I am TASK-001\n"
    assert log_of(three, "TASK-003") == "I am TASK-003\n"


def test_one_failure_is_exit_1_with_the_end_of_what_was_printed(three):
    line = 'test $RUNNER_TASK = TASK-001 || { echo "no such row" >&2; exit 7; }'
    said = three.runner("parallel", "--tasks", "TASK-001 TASK-002", "--cmd", line)
    assert said.code == 1
    assert "✗ TASK-002 failed with exit 7" in said.out
    assert "    no such row" in said.out
    assert "2 tasks: failed for TASK-002; " in said.out


def test_the_document_says_all_of_it(three):
    said = three.runner(
        "parallel", "-tasks", "1,2", "-cmd", "test $RUNNER_TASK = TASK-002", "-json"
    )
    assert said.code == 1
    assert said.json["kind"] == "parallel"
    assert [(one["task"], one["passed"], one["exit"]) for one in said.json["tasks"]] == [
        ("TASK-001", False, 1),
        ("TASK-002", True, 0),
    ]
    assert said.json["passed"] is False
    assert said.json["head"] == three.git("rev-parse", "HEAD")


def test_they_run_at_once_each_in_a_slot_of_its_own(three, tmp_path):
    """Each waits for the other: one after the other they would never end."""
    here = tmp_path / "here"
    here.mkdir()
    line = (
        f'touch {here}/$RUNNER_TASK; echo "$RUNNER_SLOT $RUNNER_PORT_BASE $TMPDIR"; '
        f"while ! test -e {here}/TASK-001 -a -e {here}/TASK-002; do sleep 0.05; done"
    )
    words = ("-tasks", "1,2", "-cmd", line, "-j", "2", "-sandbox", "none", "-json")
    said = three.runner("parallel", *words)
    assert said.code == 0, said.err
    rows = [log_of(three, f"TASK-00{n}").split() for n in (1, 2)]
    assert [row[0] for row in rows] == [str(one["slot"]) for one in said.json["tasks"]]
    for column in range(3):
        assert rows[0][column] != rows[1][column], "a slot, ports and a TMPDIR of its own"


def test_what_it_writes_is_kept_nowhere_and_head_is_what_it_sees(three):
    three.write("a.txt", "not committed\n")
    said = three.runner("parallel", "-tasks", "1", "-cmd", "test ! -e a.txt && echo x > a.txt")
    assert said.code == 0, said.out
    assert (three.folder / "a.txt").read_text() == "not committed\n"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"`b.txt`": "`a.txt`"}, "TASK-001 and TASK-002 both write a.txt"),
        ({"`b.txt`": "`*.txt`"}, "TASK-001 and TASK-002 both write a.txt and *.txt"),
        ({"`b.txt`": "any"}, "TASK-002 may write any file, including those of TASK-001"),
    ],
)
def test_two_tasks_that_write_one_file_are_refused_with_the_file_and_both_names(
    three, change, words
):
    plan = three.folder / "TASK-GRAPH.md"
    for old, new in change.items():
        plan.write_text(plan.read_text().replace(old, new))
    three.commit()
    said = three.runner("parallel", "-tasks", "1,2", "-cmd", "touch ran; true")
    assert said.code == 2
    assert words in said.err
    assert "--split" in said.err
    assert not (three.folder / "artifacts/build/logs").exists()


def test_rows_of_the_ownership_map_refuse_a_batch_too(three):
    three.write("FILE_OWNERSHIP_MAP.md", MAP)
    said = three.runner("parallel", "-tasks", "1,2,3", "-cmd", PASSES)
    assert said.code == 2
    assert "TASK-001 and TASK-002 both write docs/*.md" in said.err
    assert three.runner("parallel", "-tasks", "1,3", "-cmd", PASSES).code == 0


def test_with_split_they_run_one_after_the_other(three, tmp_path):
    three.write("FILE_OWNERSHIP_MAP.md", MAP)
    meeting = tmp_path / "meeting"
    line = (
        f"mkdir {meeting} || test $RUNNER_TASK = TASK-003 || exit 9; sleep 0.2; "
        f"test $RUNNER_TASK = TASK-003 || rmdir {meeting}"
    )
    words = ("-tasks", "1,2", "-cmd", line, "-j", "2", "-sandbox", "none")
    assert three.runner("parallel", *words, "-split").code == 0


def test_an_unknown_id_is_answered_with_the_one_that_is_meant(three):
    said = three.runner("parallel", "-tasks", "TASK-001,TASK-0O2", "-cmd", PASSES)
    assert said.code == 2
    assert 'unknown task "TASK-0O2"' in said.err
    assert "TASK-002" in said.err


@pytest.mark.parametrize(
    "words", [("-tasks", "1"), ("-cmd", "true"), ("-tasks", " , ", "-cmd", "x")]
)
def test_without_tasks_or_a_command_it_says_how_it_is_called(three, words):
    said = three.runner("parallel", *words)
    assert said.code == 2
    assert "runner pipeline parallel --tasks TASK-001,TASK-002 --cmd" in said.err


def test_more_than_there_is_of_a_scarce_thing_is_said_instead_of_waiting_for_ever(three):
    plan = three.folder / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace("- Output files: `a.txt`", "- Uses: gpu 2", 1))
    three.write("runner.toml", "[resources]\ngpu = 1\n")
    said = three.runner("parallel", "-tasks", "1,2", "-cmd", PASSES)
    assert said.code == 2
    assert "TASK-001 uses 2 gpu, but the settings have 1" in said.err


def test_ctrl_c_ends_all_of_them_and_their_children(three, tmp_path):
    mark = tmp_path / "started"
    mark.mkdir()
    line = f"sleep 987 & echo $! > {mark}/$RUNNER_TASK; wait"
    words = ("-tasks", "1,2", "-cmd", line, "-j", "2", "-sandbox", "none")
    script = ROOT / "scripts" / "parallel_runner.py"
    with subprocess.Popen(
        [sys.executable, str(script), *words],
        cwd=three.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        until(lambda: sum(bool(file.read_text()) for file in mark.iterdir()) == 2)
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130
    for file in mark.iterdir():
        until(lambda file=file: not Path(f"/proc/{file.read_text().strip()}").exists())


def until(holds, seconds=20.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


SAID = {
    "results": [
        {"check_id": "eval-used", "path": "a.rb", "start": {"line": 1, "col": 1},
         "extra": {"severity": "ERROR", "message": "eval runs text", "metadata": {}}}
    ]
}  # fmt: skip
PLAN = "# Shop\n\n## TASK-001: One\n\n- Output files: `web/b.js`\n"


@pytest.fixture
def analysed(ground, monkeypatch, tmp_path):
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


def test_one_file_is_looked_at_where_its_tool_is_installed(analysed, tmp_path):
    scan = ("sast-scan", "a.rb", "--task", "TASK-001")
    advice = "a.rb: note: no scanner for .rb is installed: install semgrep with a .semgrep.yml"
    nothing = f"{advice}\nSAST: no files were checked\n"
    assert analysed.runner(*scan).err == nothing
    install(tmp_path, "semgrep", json.dumps(SAID))
    assert analysed.runner(*scan).err == nothing  # it has no rules yet
    analysed.write(".semgrep.yml", "rules: []\n")
    said = analysed.runner(*scan)
    assert said.out == "a.rb:1:1: high: eval-used eval runs text\n"
    assert said.code == 0


def test_python_is_looked_at_by_both(analysed, tmp_path):
    install(tmp_path, "semgrep", json.dumps(SAID).replace("a.rb", "b.py"))
    analysed.write(".semgrep.yml", "rules: []\n")
    said = analysed.runner("sast-scan", "b.py", "--task", "TASK-001", "--json").json
    assert [one["tool"] for one in said["findings"]] == ["bandit", "semgrep"]


def test_what_a_tool_did_not_look_at_is_a_note_everywhere(analysed, tmp_path):
    install(tmp_path, "semgrep", "panic!")
    analysed.write(".semgrep.yml", "rules: []\n")
    said = analysed.runner("sast-scan", "a.rb", "--task", "TASK-001")
    assert said.out == ""
    assert (
        said.err == "a.rb: note: semgrep printed no readable report (exit 0): panic!\nSAST: none\n"
    )
    shown = analysed.runner("sast", "show")
    assert shown.err == said.err
    sarif = analysed.runner("sast", "show", "--sarif").json
    (result,) = sarif["runs"][1]["results"]
    assert (result["ruleId"], result["level"]) == ("unscanned", "note")


def test_doctor_can_say_what_is_called_for_and_missing(analysed, tmp_path):
    advice = (
        "no scanner for .js is installed: install semgrep with a .semgrep.yml, "
        "or eslint with eslint-plugin-security"
    )
    assert signs(analysed) == {
        "static analysis": ("note", advice),
        "analyser semgrep": ("note", "semgrep is not installed, so semgrep does not run"),
        "analyser eslint": ("note", "eslint is not installed, so eslint does not run"),
    }
    for tool in ("semgrep", "eslint"):
        install(tmp_path, tool, "[]")
    said = signs(analysed)
    assert said["analyser semgrep"][1].startswith("the rules file .semgrep.yml is missing")
    assert said["analyser eslint"][1].startswith("eslint-plugin-security is not installed")
    analysed.write(".semgrep.yml", "rules: []\n")
    analysed.write("node_modules/eslint-plugin-security/package.json", "{}")
    assert {state for state, _ in signs(analysed).values()} == {"ok"}


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
