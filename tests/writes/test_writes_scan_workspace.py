"""Tools of other languages look at copies, behind, and whatever they do is a value."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time

import pytest
from writes_builders import a_change, a_laboratory, put

from runner.model import digest_of
from runner.process.base import Ended, Ran
from runner.process.sandbox import choose_sandbox
from runner.writes.sast import SastPool, scan_file
from runner.writes.sast_report import SastReport
from runner.writes.scanners import SCANNERS, findings_of

RULES = {".semgrep.yml": b"rules: []\n"}
PLUGIN = {"node_modules/eslint-plugin-security/package.json": b"{}"}
MODULE = {"go.mod": b"module x\n"}
HERE = '"$(pwd)"'

GOSEC = {
    "Golang errors": {"b.go": [{"line": 2, "column": 1, "error": "undefined: y"}]},
    "Issues": [
        {"severity": "HIGH", "confidence": "LOW", "rule_id": "G101", "details": "a  key",
         "file": "/elsewhere/a.go", "line": "3-4", "column": "5"},
        {"severity": "LOW", "confidence": "LOW", "rule_id": "G104", "details": "old",
         "file": "/elsewhere/untouched.go", "line": "1", "column": "1"},
    ],
}  # fmt: skip
ESLINT = [
    {"filePath": "/elsewhere/a.js", "messages": [
        {"ruleId": "security/detect-eval", "severity": 2, "line": 7, "column": 1,
         "message": "eval"},
        {"ruleId": "semi", "severity": 2, "line": 8, "column": 1, "message": "style"},
    ]},
    {"filePath": "/elsewhere/b.ts", "messages": [
        {"ruleId": None, "fatal": True, "severity": 2, "line": 1, "message": "Unexpected token :"}
    ]},
]  # fmt: skip
SEMGREP = {
    "results": [
        {"check_id": "unsafe", "path": "a.rs", "start": {"line": 1, "col": 2},
         "extra": {"severity": "WARNING", "message": "m", "metadata": {}}}
    ],
    "errors": [],
}  # fmt: skip
CARGO = {
    "vulnerabilities": {
        "list": [
            {"advisory": {"id": "RUSTSEC-1", "title": "old"},
             "package": {"name": "time", "version": "0.1.0"}}
        ]
    }
}  # fmt: skip

SAID = {
    "gosec": ("a.go", MODULE, GOSEC, ("a.go", 3, 5, "G101", "high", "low", "a key")),
    "eslint": (
        "a.js", PLUGIN, ESLINT,
        ("a.js", 7, 1, "security/detect-eval", "high", "medium", "eval"),
    ),
    "semgrep": ("a.rs", RULES, SEMGREP, ("a.rs", 1, 2, "unsafe", "medium", "medium", "m")),
    "cargo": (
        "Cargo.lock", {}, CARGO,
        ("Cargo.lock", 0, 0, "RUSTSEC-1", "high", "high", "time 0.1.0: old"),
    ),
}  # fmt: skip


def says(output, code=0):
    text = output if isinstance(output, str) else json.dumps(output)
    return f"cat <<'END'\n{text}\nEND\nexit {code}"


def looked_at(laboratory, *changes):
    with SastPool() as pool:
        return pool.scan(changes, laboratory).result(30)


@pytest.mark.parametrize("tool", SAID)
def test_a_tool_of_another_language_is_read_into_the_same_words(tmp_path, tool):
    path, base, said, told = SAID[tool]
    tools = {tool: says(said, code=1), "cargo-audit": "exit 1"}
    report = looked_at(a_laboratory(tmp_path, tools, base=base), a_change(path, b"x"))
    (f,) = report.findings
    assert (f.path, f.line, f.column, f.rule, f.severity, f.confidence, f.message) == told
    assert f.digest == digest_of(b"x")


def test_what_a_tool_could_not_read_is_a_note(tmp_path):
    tools = {"gosec": says(GOSEC), "eslint": says(ESLINT)}
    laboratory = a_laboratory(tmp_path, tools, base=MODULE | PLUGIN)
    changes = [a_change(path, b"x") for path in ("a.go", "b.go", "a.js", "b.ts")]
    report = looked_at(laboratory, *changes)
    assert [(note.path, note.message) for note in report.notes] == [
        ("b.ts", "eslint did not scan this file: line 1: Unexpected token :"),
        ("b.go", "gosec did not scan this file: line 2: undefined: y"),
    ]


@pytest.mark.parametrize("output", ["panic!", "[]", '{"Issues": [{}]}', "[" * 99_999, ""])
def test_a_tool_that_prints_something_else_is_a_note(tmp_path, output):
    laboratory = a_laboratory(tmp_path, {"gosec": says(output, code=3)}, base=MODULE)
    report = looked_at(laboratory, a_change("a.go", b"x"))
    (note,) = report.notes
    assert note.message.startswith("gosec printed no readable report (exit 3)")
    assert (note.path, note.tool, report.findings) == ("a.go", "gosec", ())
    assert len(note.message) < 600


def test_no_half_of_a_key_is_told_at_the_end_of_a_long_message():
    key = "gh" + "p_" + "a1B2" * 9
    row = {**GOSEC["Issues"][0], "details": f"{'word ' * 98}{key}", "file": "a.go"}
    tail = json.dumps({"Issues": [row]})
    ran = Ran(1, 0.1, Ended.EXITED, digest_of(b""), len(tail), tail)
    tool = next(one for one in SCANNERS if one.tool == "gosec")
    (found,) = findings_of(tool, ran, "", {"a.go": digest_of(b"x")}).findings
    assert key[:8] not in found.message
    assert len(found.message) <= 500


def test_a_machine_that_starts_no_tool_stops_no_task(tmp_path):
    laboratory = a_laboratory(tmp_path, {"semgrep": says(SEMGREP)}, base=RULES)
    put(laboratory.tree, {"a.rs": b"x"})
    copy = laboratory.specimen([a_change("a.rs", b"x")])
    (copy.top / "tree").rename(copy.top / "gone")
    (note,) = copy.examine().notes
    said = "scanners of other languages did not run: the scratch tree is missing"
    assert note.message.startswith(said)


def test_warnings_around_the_json_do_not_hide_it(tmp_path):
    script = f"echo '[warn] old' >&2\n{says(GOSEC)}"
    laboratory = a_laboratory(tmp_path, {"gosec": script}, base=MODULE)
    report = looked_at(laboratory, a_change("a.go", b"x"))
    assert [found.rule for found in report.findings] == ["G101"]


def test_a_tool_that_does_not_end_is_ended_and_noted(tmp_path):
    laboratory = a_laboratory(tmp_path, {"gosec": "sleep 60"}, base=MODULE, seconds=0.3)
    began = time.monotonic()
    report = looked_at(laboratory, a_change("a.go", b"x"))
    assert [note.message for note in report.notes] == ["gosec took too long"]
    assert time.monotonic() - began < 20


def test_a_person_s_interruption_ends_the_tools(tmp_path):
    wanted = threading.Event()
    tools = {"gosec": "sleep 60"}
    laboratory = a_laboratory(tmp_path, tools, base=MODULE, interrupted=wanted.is_set)
    with SastPool() as pool:
        scan = pool.scan([a_change("a.go", b"x")], laboratory)
        wanted.set()
        assert [note.message for note in scan.result(20).notes] == ["gosec was interrupted"]


def test_whoever_closes_without_hearing_them_ends_them(tmp_path):
    laboratory = a_laboratory(tmp_path, {"gosec": "sleep 60"}, base=MODULE)
    with SastPool() as pool:
        scan = pool.scan([a_change("a.go", b"x")], laboratory)
    assert [note.message for note in scan.result(0).notes] == ["gosec was interrupted"]
    assert list(laboratory.folder.iterdir()) == []


def test_nothing_is_copied_where_no_tool_is_installed_or_called_for(tmp_path):
    changes = [a_change(path, b"x") for path in ("a.go", "a.js", "a.rs", "Cargo.lock", "a.md")]
    laboratory = a_laboratory(tmp_path, {}, base=MODULE | PLUGIN | RULES)
    unread = tuple(laboratory.find_unread(change.path for change in changes))
    assert looked_at(laboratory, *changes) == SastReport(unread=unread)
    rules = "install semgrep with a .semgrep.yml, or"
    assert unread == (
        f"no scanner for .go is installed: {rules} gosec",
        f"no scanner for .js is installed: {rules} eslint with eslint-plugin-security",
        f"no scanner for .rs is installed: {rules} cargo-audit",
        "no scanner for Cargo.lock is installed: install cargo-audit",
    )
    assert laboratory.specimen(changes) is None
    without = a_laboratory(tmp_path, {"semgrep": "exit 9", "eslint": "exit 9"})
    assert without.specimen([a_change("a.rs", b"x"), a_change("poetry.lock", b"x")]) is None


def test_bandit_and_a_tool_speak_of_the_same_attempt(tmp_path):
    said = {"results": [{**SEMGREP["results"][0], "path": "a.py"}]}
    laboratory = a_laboratory(tmp_path, {"semgrep": says(said)}, base=RULES)
    report = looked_at(laboratory, a_change("a.py", b"assert x\n"))
    assert [(found.tool, found.rule) for found in report.findings] == [
        ("bandit", "B101"),
        ("semgrep", "unsafe"),
    ]


def test_the_tree_may_change_as_soon_as_the_scan_has_begun(tmp_path):
    """The slot's next task begins while the tool still looks."""
    go = tmp_path / "go"
    script = f"""while [ ! -e {go} ]; do sleep 0.02; done
    printf '{{"Issues": [{{"severity": "LOW", "confidence": "LOW", "rule_id": "%s"' "$(cat a.go)"
    printf ', "details": "%s", "file": "a.go", "line": "1", "column": "1"}}]}}' "$(cat b.go)" """
    laboratory = a_laboratory(
        tmp_path, {"gosec": script}, base=MODULE, tree={"b.go": b"beside", "c.txt": b"not"}
    )
    with SastPool() as pool:
        scan = pool.scan([a_change("a.go", b"changed")], laboratory)
        assert not scan.is_ready()
        put(tmp_path / "shown", {"a.go": b"next task", "b.go": b"next task"})
        go.touch()
        report = scan.result(20)
    assert [(found.rule, found.message) for found in report.findings] == [("changed", "beside")]


def test_copies_hold_what_a_tool_needs_and_are_gone_afterwards(tmp_path):
    seen = tmp_path / "seen"
    tree = {
        "srv/go.mod": b"m", "srv/go.sum": b"s", "srv/pkg/b.go": b"b", "srv/pkg/b.txt": b"",
        "srv/other/c.go": b"c", "d.go": b"d",
    }  # fmt: skip
    script = f"(pwd; find . -type f | sort) > {seen}; echo '{{\"Issues\": []}}'"
    laboratory = a_laboratory(tmp_path, {"gosec": script}, tree=tree)
    report = looked_at(laboratory, a_change("srv/pkg/a.go", b"a"), a_change("x.md", b"x"))
    assert report == SastReport()
    where, *files = seen.read_text().splitlines()
    assert where.endswith("/tree/srv")
    assert files == ["./go.mod", "./go.sum", "./pkg/a.go", "./pkg/b.go"]
    assert list(laboratory.folder.iterdir()) == []


def test_a_link_beside_a_changed_file_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine alone")
    laboratory = a_laboratory(tmp_path, {"gosec": "cat *.go go.mod; exit 1"}, tree=MODULE)
    (tmp_path / "shown" / "link.go").symlink_to(outside)
    report = looked_at(laboratory, a_change("a.go", b"x"))
    assert "mine alone" not in str(report)


def test_what_is_judged_does_not_choose_its_judge(tmp_path):
    """A task that empties the rules is still judged by those of the base."""
    script = 'printf "%s" "$(cat .runner-semgrep.yml)" >&2; exit 7'
    laboratory = a_laboratory(
        tmp_path,
        {"semgrep": script},
        base={".semgrep.yml": b"the rules of the base"},
        tree={".semgrep.yml": b"none"},
    )
    changes = (a_change("a.rs", b"x"), a_change(".semgrep.yml", b"none"))
    (note,) = looked_at(laboratory, *changes).notes
    assert note.message.endswith("the rules of the base")


def test_what_a_killed_run_left_is_swept_away(tmp_path):
    laboratory = a_laboratory(tmp_path, {"gosec": says(GOSEC)}, base=MODULE)
    gone = subprocess.Popen(["true"])
    gone.wait()
    put(laboratory.folder, {f"{gone.pid}-0/tree/a": b"", f"{os.getpid()}-x/tree/a": b""})
    looked_at(laboratory, a_change("a.go", b"x"))
    assert [one.name for one in laboratory.folder.iterdir()] == [f"{os.getpid()}-x"]


def test_a_secret_in_what_a_tool_prints_is_not_kept(tmp_path):
    key = "sk-" + "proj-" + "a1B2c3D4e5" * 8
    said = {"results": [], "errors": [{"path": "a.rs", "message": f"cannot read {key}"}]}
    laboratory = a_laboratory(tmp_path, {"semgrep": says(said)}, base=RULES)
    report = looked_at(laboratory, a_change("a.rs", b"x"))
    assert len(report.notes) == 1
    assert key not in str(report)


def test_in_the_sandbox_a_tool_sees_the_copy_in_the_project_s_place(tmp_path):
    sandbox = choose_sandbox("auto")
    if not sandbox.contains:
        pytest.skip("no sandbox here")
    said = json.dumps(SEMGREP["results"][0]).replace('"a.rs"', '"%s/a.rs"')
    script = f"""printf '{{"results": [{said}]}}\\n' {HERE}
    echo >> a.rs; touch {tmp_path}/shown/harm; ls mine"""
    laboratory = a_laboratory(
        tmp_path, {"semgrep": script}, base=RULES, tree={"mine": b"1"}, sandbox=sandbox
    )
    report = looked_at(laboratory, a_change("a.rs", b"x"))
    assert [(found.path, found.rule) for found in report.findings] == [("a.rs", "unsafe")], report
    assert not (tmp_path / "shown/harm").exists()


def test_bandit_does_not_wait_for_a_slow_tool(tmp_path):
    go = tmp_path / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.02; done; echo '{{\"results\": []}}'"
    laboratory = a_laboratory(tmp_path, {"semgrep": script}, base=RULES)
    with SastPool() as pool:
        slow = pool.scan([a_change("a.rs", b"x")], laboratory)
        assert not slow.is_ready()
        quick = pool.scan([a_change("a.py", b"assert x\n")])
        assert quick.result(20) == scan_file(b"assert x\n", "a.py")
        assert not slow.is_ready()
        go.touch()
