"""Every change passes the steps in their order, and a refused one goes no further."""

from __future__ import annotations

import os

import pytest
from writes_builders import a_bench, a_change, everything_in, put, runs_in, some_rules

from runner.config.shell_rules import Permission, Permit
from runner.model import Severity
from runner.writes.pipeline import WriteContext, admit_writes, compile_writes
from runner.writes.project_compile import CompileCommand
from runner.writes.sast import SastPool


def pass_writes(changes, rules, context):
    return compile_writes(admit_writes(changes, rules, context), rules, context)


def a_key() -> str:
    """A credential in a shape we name, built here so that none stands in the repository."""
    return "ghp" + "_" + "".join(chr(ord("a") + n % 26) + str(n % 10) for n in range(7, 25))


def an_aws_id() -> str:
    return "".join(("AK", "IA", *(chr(ord("A") + n * 7 % 26) for n in range(16))))


def test_a_good_change_is_staged_compiled_scanned_and_passed(tmp_path):
    with SastPool() as pool:
        context = a_bench(tmp_path, sast=pool)
        passed = pass_writes([a_change(content=b"assert x\n")], some_rules("src/"), context)
        assert passed.clean
        assert [change.path for change in passed.changes] == ["src/app.py"]
        assert [staged.path for staged in context.staging.list("TASK-002")] == ["src/app.py"]
        assert [found.rule for found in passed.sast.result(30).findings] == ["B101"]


def test_each_step_stops_what_it_refuses_and_the_others_go_on(tmp_path):
    leak = f'key = "{an_aws_id()}"\n'.encode()
    changes = [
        a_change("src/good.py"),
        a_change("elsewhere.py"),
        a_change("src/.git/config"),
        a_change("src/link", b"/etc/passwd", mode=0o120000),
        a_change("src/root", b"", mode=0o104755),
        a_change("src/leak.py", leak + b"def broken(:\n"),
        a_change("src/broken.py", b"def broken(:\n"),
        a_change("TASK-GRAPH.md"),
    ]
    context = a_bench(tmp_path)
    passed = pass_writes(changes, some_rules("src/", "TASK-GRAPH.md"), context)
    refusals = {found.path: found.check for found in passed.findings if found.refuses}
    assert refusals == {
        "elsewhere.py": "scope",
        "src/.git/config": "paths",
        "src/link": "paths",
        "src/root": "paths",
        "src/leak.py": "secret-scan",
        "src/broken.py": "compile",
        "TASK-GRAPH.md": "paths",
    }
    assert [change.path for change in passed.changes] == ["src/good.py"]
    assert passed.refused == set(refusals)
    assert passed.tainted == set(refusals) - {"src/broken.py"}
    assert {staged.path for staged in passed.staged} == {"src/good.py", "src/broken.py"}
    assert not any(an_aws_id().encode() in held for held in everything_in(tmp_path).values())
    assert not any(an_aws_id() in repr(found) for found in passed.findings)


def test_a_key_in_a_file_name_or_a_binary_file_is_seen(tmp_path):
    changes = [
        a_change(f"src/{a_key()}.txt", b""),
        a_change("src/blob.bin", b"\0\xff" * 50 + an_aws_id().encode() + b"\n\xfe\0"),
    ]
    passed = pass_writes(changes, some_rules("src/"), a_bench(tmp_path))
    assert passed.changes == ()


def test_a_refused_path_is_told_without_the_key_in_its_name(tmp_path):
    changes = [
        a_change(f"other/{a_key()}.txt", b""),
        a_change(f"src/{a_key()}", b"", mode=0o120000),
    ]
    passed = pass_writes(changes, some_rules("src/"), a_bench(tmp_path))
    assert [finding.check for finding in passed.findings] == ["scope", "paths"]
    assert a_key() not in repr(passed.findings)
    assert "other/[REDACTED:github]" in passed.findings[0].message


def test_marks_are_reported_but_do_not_refuse(tmp_path):
    changes = [
        a_change("src/a.py", b"x = 1  # type: ignore\n"),
        a_change("src/b.py", b"eval(x)  # nosec\n"),
    ]
    passed = pass_writes(changes, some_rules("src/"), a_bench(tmp_path))
    assert passed.clean
    assert [(found.path, found.severity) for found in passed.findings] == [
        ("src/a.py", Severity.NOTE),
        ("src/b.py", Severity.WARNING),
    ]


def test_permission_rules_hold_whoever_writes(tmp_path):
    def refused(*, reviewed=False):
        rules = some_rules(
            "src/",
            permission=(Permission("*_file", "src/core/**", Permit.DENY),),
            permission_floor=(Permission("write_file", "*.sql", Permit.ASK),),
            reviewed=reviewed,
        )
        old = b"x = 1\n"
        paths = {"src/core/a.py": old, "src/b.py": old, "src/old.sql": b"x", "src/new.sql": None}
        changes = [a_change(path, b"y = 2\n", before=before) for path, before in paths.items()]
        base = {path: before for path, before in paths.items() if before is not None}
        return pass_writes(changes, rules, a_bench(tmp_path, base=base)).refused

    assert refused() == {"src/core/a.py", "src/new.sql"}
    assert refused(reviewed=True) == {"src/core/a.py"}


def test_control_files_are_named_for_the_review(tmp_path):
    rules = some_rules(".github/workflows/ci.yml", "src/")
    changes = [a_change("src/a.py"), a_change(".github/workflows/ci.yml", b"on: push\n")]
    passed = pass_writes(changes, rules, a_bench(tmp_path))
    assert passed.clean
    assert passed.controls == (".github/workflows/ci.yml",)


def test_the_runners_own_table_is_compared_with_the_base(tmp_path):
    old = b"[tool.runner]\njobs = 1\n"
    context = a_bench(tmp_path, base={"pyproject.toml": old})
    kept = a_change("pyproject.toml", old + b"[tool.ruff]\n", before=old)
    moved = a_change("pyproject.toml", old.replace(b"1", b"2"), before=old)
    assert pass_writes([kept], some_rules("any"), context).clean
    assert not pass_writes([moved], some_rules("any"), context).clean


@pytest.mark.parametrize(
    "content",
    [b"", bytes(range(256)) * 100, b"x" * (5 << 20), os.urandom(1 << 16) + bytes(20 << 20)],
    ids=["empty", "binary", "one line of 5 MB", "20 MB"],
)
def test_strange_content_passes_whole(tmp_path, content):
    context = a_bench(tmp_path)
    passed = pass_writes([a_change("data.bin", content)], some_rules("any"), context)
    assert passed.clean
    assert context.staging.read(passed.staged[0]).content == content


def test_a_project_is_compiled_once_and_only_when_its_files_were_let_through(tmp_path):
    heard = []
    tree = put(tmp_path / "tree", {"a.x": b"", "b.x": b""})
    context = WriteContext(tree, lambda _: None, runs_in(tree, heard=heard))
    rules = some_rules("*.x", compile_commands=(CompileCommand("*.x", "echo a.x:2:1: bad; false"),))
    passed = pass_writes([a_change("a.x"), a_change("b.x")], rules, context)
    assert len(heard) == 1
    assert [(found.path, found.line) for found in passed.findings if found.refuses] == [("a.x", 2)]
    assert [change.path for change in passed.changes] == ["b.x"]
    pass_writes([a_change("a.x"), a_change("outside.y")], rules, context)
    assert len(heard) == 1


def test_a_review_at_the_write_comes_between_the_steps(tmp_path):
    rules, context = some_rules("any"), a_bench(tmp_path)
    admitted = admit_writes([a_change("a.py", b"def (:\n")], rules, context)
    assert admitted.clean
    assert context.staging.list() == admitted.staged
    assert not compile_writes(admitted, rules, context).clean


def test_without_commands_or_staging_the_steps_still_judge(tmp_path):
    context = WriteContext(tmp_path, lambda _: None)
    passed = pass_writes(
        [a_change("a.py", b"def (:\n"), a_change("b.py")], some_rules("any"), context
    )
    assert [change.path for change in passed.changes] == ["b.py"]
    assert passed.staged == ()
    assert passed.sast.is_ready()
