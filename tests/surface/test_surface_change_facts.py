"""What a change does besides its task is found from both trees, and honest work is left alone."""

import sys
import time
import tomllib
from pathlib import Path

import pytest

from runner.gates.test_paths import is_test_path
from runner.lazy_module import lazy_module
from runner.model import Action, Change, Spec, Task
from runner.surface import declarations, facts_of, public_names

ROWS = tomllib.loads((Path(__file__).parent / "seeded_changes.toml").read_text())
SEEDED = {row["name"]: row for row in ROWS["seeded"]}
HONEST = {row["name"]: row for row in ROWS["honest"]}


def changed(row):
    """The files of a row's project, and the same files with its change."""
    before = ROWS["projects"][row["project"]]
    after = {**before, **row.get("files", {})}
    for path, old, new in row.get("edits", ()):
        assert old in after[path]
        after[path] = after[path].replace(old, new)
    return before, {path: text for path, text in after.items() if text != []}


def find(before, after, reads=None, **task):
    before, after = ({path: text.encode() for path, text in one.items()} for one in (before, after))
    return facts_of(
        Task(id="TASK-001", title="T", line=1, spec=Spec("w", "p"), **task),
        [
            Change(path, Action.MODIFY, 0o100644, None, None, after.get(path))
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        ],
        before.get,
        is_test=is_test_path,
        read_files=reads or after.items,
    )


@pytest.mark.parametrize("name", SEEDED)
def test_what_a_change_takes_from_others_is_one_fact(name):
    row = SEEDED[name]
    facts = find(*changed(row))
    said = [one.asks for one in facts if row["says"] in one.message]
    assert said == [row.get("asks", True)], facts
    assert sum(one.asks for one in facts) == sum(said), facts


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_is_asked_nothing(name):
    assert [one for one in find(*changed(HONEST[name])) if one.asks] == []


def test_what_the_plan_names_is_told_and_not_asked():
    before, after = changed(SEEDED["a default"])
    (fact,) = find(before, after, prose="Lower the rate of `tax`.")
    assert (fact.is_breaking, fact.is_named, fact.asks) == (True, True, False)
    (fact,) = find(before, after, prose="Lower the taxes.")
    assert fact.asks


def test_of_several_names_only_those_are_asked_that_the_plan_leaves_out():
    before, after = changed(SEEDED["a module's two functions"])
    facts = find(before, after, prose="Remove as_csv.")
    assert [(one.message, one.asks) for one in facts] == [
        ("removes public names: as_text", True),
        ("removes public names: as_csv", False),
    ]


def test_many_names_of_one_file_are_one_fact():
    names = [f"name_{number}" for number in range(21)]
    before = {
        "pyproject.toml": "[project]\nname = 'shop'\n",
        "shop/__init__.py": "",
        "shop/many.py": "".join(f"def {name}(): ...\n" for name in names),
    }
    (fact,) = find(before, before | {"shop/many.py": "x = 1\n"})
    assert fact.message.endswith("name_11, name_12 and 16 more")
    assert fact.detail.splitlines() == sorted(names)


APPLICATION = {"app.py": "def run(port=80):\n    pass\n", "main.py": "import app\napp.run()\n"}


@pytest.mark.parametrize(
    ("after", "asked"),
    [
        ({"app.py": "def start():\n    pass\n"}, ["removes public names: run"]),
        ({"app.py": "def start():\n    pass\n", "main.py": "import app\napp.start()\n"}, []),
    ],
    ids=["another file uses it", "nobody uses it"],
)
def test_of_an_application_only_what_another_file_uses_is_asked(after, asked):
    facts = find(APPLICATION, APPLICATION | after)
    assert [one.message for one in facts if one.asks] == asked


def test_other_files_are_read_only_where_something_breaks():
    read = []
    app = APPLICATION["app.py"]
    whole = APPLICATION | {"app.py": app.replace("pass", "return port") + "\nRATE = 1\n"}
    assert find(APPLICATION, whole, lambda: read.append("whole") or ()) == ()
    assert read == []
    broken = APPLICATION | {"app.py": app.replace("port=80", "port")}
    assert find(APPLICATION, broken, lambda: read.append("broken") or ()) == ()
    assert read == ["broken"]


@pytest.mark.parametrize(
    ("language", "path", "text"),
    [
        ("python", "shop/price.py", "def total(:\n"),
        ("go", "price.go", "package shop\nfunc Total( {\n"),
        ("rust", "src/price.rs", "pub fn total( {\n"),
        ("python", "pyproject.toml", "[tool.mypy\n"),
        ("python", "shop/price.py", "x = 1\n" * 1_000_000),
        ("javascript", "index.js", "var a=function(b){return b};" * 200_000),
        ("python", "shop/price.py", "x = " + "(" * 50_000 + ")" * 50_000),
        ("javascript", "index.js", "function parse( {\n"),
        ("typescript", "src/price.ts", "export const show = (((;\n"),
        ("javascript", "index.js", "x = " + "[" * 50_000),
    ],
    ids=[
        *("Python", "Go", "Rust", "TOML", "large", "minified", "deep"),
        *("JavaScript", "TypeScript", "deep JavaScript"),
    ],
)
def test_what_cannot_be_read_is_not_measured_and_takes_no_long_time(language, path, text):
    before = ROWS["projects"][language]
    began = time.monotonic()
    facts = find(before, before | {path: text})
    assert time.monotonic() - began < 10
    assert [(one.kind, one.asks) for one in facts] == [("not measured", False)]


def test_without_griffe_python_is_not_measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "griffe", None)
    monkeypatch.setattr(public_names, "griffe", lazy_module("griffe"))
    (fact,) = find(*changed(SEEDED["a default"]))
    assert (fact.message, fact.asks) == (
        "shop/_tax.py was not compared: griffe is not installed",
        False,
    )


def test_without_a_grammar_a_language_is_not_measured(monkeypatch):
    monkeypatch.setattr(declarations, "parse_file", lambda *_: None)
    (fact,) = find(*changed(SEEDED["a result of Go"]))
    assert (
        fact.message
        == "price.go was not compared: no tree-sitter grammar for this language is installed"
    )


def test_griffe_runs_nothing_of_the_project(tmp_path):
    before, after = changed(SEEDED["a default"])
    mark = tmp_path / "ran"
    after["shop/_tax.py"] += f"open({str(mark)!r}, 'w')\n"
    assert find(before, after)
    assert not mark.exists()


def test_each_overload_counts():
    text = "export function ms(a: string): number;\nexport function ms(a: number): string;\n"
    before = {"package.json": '{"name": "ms"}', "index.ts": text}
    (fact,) = find(before, before | {"index.ts": text.replace("): string", "): symbol")})
    assert "ms (returns number or symbol, was number or string)" in fact.message
