"""A project whose compiler fails for what nobody touched takes changes that add nothing to it."""

import shutil

import pytest
from built import copy
from workplace import a_task

BROKEN = 'package shop\n\nfunc Old() int {\n\treturn "one"\n}\n'
GOOD = "package shop\n\nconst Price = 1\n"
BAD = 'package shop\n\nconst Cost int = "n"\n'


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")
def test_old_errors_of_the_compiler_refuse_nothing_but_with_strict(workplace):
    workplace.write({"go.mod": "module shop\n\ngo 1.19\n", "old.go": BROKEN})
    good = a_task("TASK-001", blocks={"price.go": GOOD}, tests=["grep -q Price price.go"])
    bad = a_task(
        "TASK-002", needs=["TASK-001"], blocks={"cost.go": BAD}, tests=["grep -q Cost cost.go"]
    )
    workplace.plan(good, bad)
    strict = copy(workplace.root, workplace.root.with_name("strict"), workplace.home)
    said = workplace.run()
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "BLOCKED"}, said
    assert "compile failed" in said.said
    assert workplace.dirt == []
    strict.commit({"runner.toml": "proof.strict = true\n"})
    said = strict.run()
    assert strict.statuses == {"TASK-001": "BLOCKED", "TASK-002": "PENDING"}, said
    assert "compile failed" in said.said
    # A run that built nothing leaves its statuses uncommitted.
    assert strict.dirt == [" M TASK-GRAPH.md", "?? artifacts/"]


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


def test_broken_syntax_does_not_land_where_no_compiler_is_installed(workplace):
    wrong = {"a.ts": "const a: number = ;\n", "a.rs": "fn f() { let x = ; }\n"}
    workplace.plan(
        *(
            a_task(f"TASK-00{n}", blocks={path: text}, tests=[f"test -f {path}"])
            for n, (path, text) in enumerate(wrong.items(), 1)
        )
    )
    assert workplace.run().code == 1
    assert set(workplace.statuses.values()) == {"BLOCKED"}
    for number, path in enumerate(wrong, 1):
        assert f"{path}:1" in workplace.runner("show", f"{number}").out
