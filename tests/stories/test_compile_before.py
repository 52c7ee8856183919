"""A project whose compiler fails for what nobody touched takes changes that add nothing to it."""

import shutil

import pytest
from workplace import a_task

BROKEN = 'package shop\n\nfunc Old() int {\n\treturn "one"\n}\n'
GOOD = "package shop\n\nconst Price = 1\n"
BAD = 'package shop\n\nconst Price int = "n"\n'


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")
@pytest.mark.parametrize(
    ("code", "strict", "status"),
    [(GOOD, "", "DONE"), (BAD, "", "BLOCKED"), (GOOD, "proof.strict = true\n", "BLOCKED")],
    ids=["beside it", "one more", "strict counts it"],
)
def test_old_errors_of_the_compiler_refuse_nothing(workplace, code, strict, status):
    workplace.write({"go.mod": "module shop\n\ngo 1.19\n", "old.go": BROKEN, "runner.toml": strict})
    workplace.commit()
    workplace.plan(
        a_task("TASK-001", "Price", blocks={"price.go": code}, tests=["grep -q Price price.go"])
    )
    said = workplace.run()
    assert workplace.statuses == {"TASK-001": status}, said
    if status == "BLOCKED":
        assert "compile failed" in said.out + said.err
    recorded = status == "DONE"  # a run that built nothing leaves its statuses uncommitted
    assert workplace.dirt == ([] if recorded else [" M TASK-GRAPH.md", "?? artifacts/"])


@pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")
def test_types_that_no_compiler_checked_are_noted_in_the_checkpoint(workplace):
    view = "export const view: string = 'one';\n"
    workplace.plan(
        a_task("TASK-001", blocks={"one.ts": view, "two.ts": view}, tests=["test -f one.ts"]),
        a_task("TASK-002", blocks={"b.js": "module.exports = 3;\n"}, tests=["test -f b.js"]),
    )
    assert workplace.run("-j", "1").code == 0
    checkpoint = workplace.read("artifacts/build/CHECKPOINT.md")
    first, second = checkpoint.split("--- Task")[1:3]
    note = "types not checked: no tsconfig.json includes this file (one.ts, two.ts)"
    assert f"Notes: {note}\n" in first
    assert "Notes: —\n" in second


@pytest.mark.parametrize(
    ("path", "wrong"),
    [("a.ts", "const a: number = ;\n"), ("a.rs", "fn f() { let x = ; }\n")],
)
def test_broken_syntax_does_not_land_where_no_compiler_is_installed(workplace, path, wrong):
    workplace.plan(a_task("TASK-001", blocks={path: wrong}, tests=[f"test -f {path}"]))
    assert workplace.run().code == 1
    assert workplace.statuses == {"TASK-001": "BLOCKED"}
    assert f"{path}:1" in workplace.runner("show", "1").out
