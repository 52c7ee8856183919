"""A language is one folder and one line: who reads files knows it then; none names its suffix."""

import ast
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from house import nodes

import runner.languages
from runner.context.files import Neighbours, outlines_of
from runner.context.gather import file_index
from runner.context.tree import Tree
from runner.gates.integrity import findings
from runner.impact.reach import Entry, References, find_exports
from runner.impact.store import ImpactStore
from runner.languages import registry
from runner.model import Action, Change, Spec, Task, digest_of
from runner.writes.project_compile import project_jobs
from runner.writes.suppressions import marker_findings

PRODUCT = Path(runner.__file__).parent

TOY = """
import re
from runner.languages.base import (
    SKIP, Compiler, Language, Marker, NamedTest, OutlinePatterns,
)

def imports_of(path, content):
    return frozenset(f"toy:{name}" for name in re.findall(r"^take (\\w+)", content.decode(), re.M))

def keys_of(path):
    return (f"toy:{path.rpartition('/')[2].partition('.')[0]}",)

def exports_of(path, content):
    return re.findall(r"^give (\\w+)", content.decode(), re.M)

def find_tests(path, source):
    found = re.findall(r"^test (\\w+):([^\\n]*)", source, re.M)
    return tuple(NamedTest(name, 1, body, "wants" in body) for name, body in found)

LANGUAGE = Language(
    title="Toy",
    imports_of=imports_of,
    keys_of=keys_of,
    exports_of=exports_of,
    outline=OutlinePatterns(offers=r"^give (\\w+)", imports=r"^take (\\w+)"),
    test_file=re.compile(r"_check\\.toy\\Z"),
    find_tests=find_tests,
    compiler=Compiler("toyc", "toy.project", (".toy",), "toyc ."),
    markers=(Marker("hush", r"~_hush\\b", SKIP),),
)
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A language that a folder and a line make known."""
    folder = tmp_path / "languages" / "toy"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(TOY)
    monkeypatch.setattr(
        runner.languages, "__path__", [*runner.languages.__path__, str(folder.parent)]
    )
    row = registry.LanguageRow("toy", (".toy",), ("toy.project",))
    monkeypatch.setattr(registry, "LANGUAGES", (*registry.LANGUAGES, row))
    yield
    sys.modules.pop("runner.languages.toy", None)


FILES = {
    "src/shop.toy": b"give price\n",
    "src/till.toy": b"take shop\ngive total\n",
    "src/till_check.toy": b"take till\ntest adds: wants three wants four\n",
}


def change_of(path, old, new):
    return Change(
        path=path,
        action=Action.MODIFY,
        mode=0o100644,
        before=digest_of(old),
        after=digest_of(new),
        content=new,
    )


@pytest.mark.usefixtures("toy")
def test_impact_follows_the_imports_of_a_language_that_one_line_made_known():
    references = References(ImpactStore(None))
    references.learn((Entry(path, path) for path in FILES), FILES.get, "tree")
    assert [*references.importers("src/shop.toy")] == ["src/till.toy"]
    assert [*references.importers("src/till.toy")] == ["src/till_check.toy"]
    assert find_exports("src/till.toy", FILES["src/till.toy"]) == ("total",)


@pytest.mark.usefixtures("toy")
def test_integrity_reads_the_tests_and_assertions_of_a_language_that_one_line_made_known():
    def said(old, new):
        found = findings(
            [change_of("src/till_check.toy", old, new)],
            {"src/till_check.toy": old}.get,
            Task("TASK-001", "", 1, Spec("", "")),
            reviewed=False,
        )
        return [one.message for one in found]

    old = FILES["src/till_check.toy"]
    assert said(old, old) == []
    assert said(old, b"take till\n") == ["the test adds was removed (formerly line 1)"]
    assert said(b"", b"test idle: nothing\n") == ["idle asserts nothing"]


@pytest.mark.usefixtures("toy")
def test_a_brief_outlines_a_language_that_one_line_made_known():
    names = {path: hashlib.sha1(content).hexdigest() for path, content in FILES.items()}
    tree = Tree(lambda: names, FILES.get)
    with outlines_of(tree, None) as outlines:
        lines = file_index(outlines.by_path, Task("TASK-001", "Till", 1, Spec("", "")))
        assert "src/till.toy | total | 2" in lines
        assert Neighbours(tree, outlines).importers("src/shop.toy") == ("src/till.toy",)


@pytest.mark.usefixtures("toy")
def test_the_pipeline_knows_compiler_and_markers_of_a_language_that_one_line_made_known(tmp_path):
    from runner.writes import suppressions

    suppressions._shapes.cache_clear()
    try:
        (tmp_path / "toy.project").write_text("")
        (job,) = project_jobs(tmp_path, ["src/till.toy"])
        assert (job.tool, job.line) == ("toyc", "toyc .")
        (found,) = marker_findings(change_of("a.toy", b"", b"give x ~ hush\n"), b"")
        assert "skips a test" in found.message
    finally:
        suppressions._shapes.cache_clear()


def test_who_asks_for_one_language_imports_no_other():
    code = (
        "import sys\n"
        "from runner.languages import registry\n"
        "seen = lambda: sorted(m for m in sys.modules if m.startswith('runner.languages.'))\n"
        "before = seen()\n"
        "registry.language_of('a.go').keys_of('a.go')\n"
        "print(before, [m for m in seen() if m not in before])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == str(["runner.languages.registry"]) + " " + str(
        [
            "runner.languages.base",
            "runner.languages.c_like_lexer",
            "runner.languages.go",
            "runner.languages.go.names",
        ]
    )


SOURCES = {"python": "x = 1\n", "javascript": "x = 1\n", "go": "package x\n", "rust": "fn x() {}\n"}


@pytest.mark.parametrize("row", registry.LANGUAGES, ids=lambda row: row.name)
def test_every_reader_that_a_language_names_is_there(row):
    language, text = row.language, SOURCES[row.name]
    path, content = f"src/a{row.code[0]}", text.encode()
    assert isinstance(language.imports_of(path, content), frozenset)
    assert language.keys_of(path)
    for manifest in row.manifests:
        assert isinstance(language.imports_of(manifest, b"{}"), frozenset)
    assert language.names_of is None or not language.names_of("x", b"")
    assert language.exports_of is None or language.exports_of(path, content) is not None
    assert language.find_tests is None or language.find_tests(path, text) == ()
    assert language.inner_tests is None or language.inner_tests.places(text) == []
    assert language.started_keys is None or language.started_keys(path)
    assert language.root_of is None or language.root_of("src/a/b.py", "a.b") == "src"
    assert language.test_command is None or path in (
        language.test_command((path,), b"node:test", "") + path
    )


# --- nobody else names a suffix -----------------------------------------------------------

MAY_NAME = {
    "surface/dependencies.py": "dependencies, which each manifest declares in its own format",
    "surface/declarations.py": "the languages of which a public surface is read",
    "app/write/hold_out.py": "held-out tests are of Python",
    "held_out/author.py": "held-out tests are of Python",
    "surface/__init__.py": "the languages of which a public surface is read",
    "surface/change_facts.py": "the languages of which a public surface is read",
    "surface/public_names.py": "the languages of which a public surface is read",
    "app/gate/test_suite.py": "what `npm test` of a package runs",
    "app/inspect/repository_analysis.py": "which manifests a repository has, and who reads them",
    "app/inspect/test_frameworks.py": "what the tests of each language are called and run by",
    "app/inspect/missing_references.py": "where a module that a plan names may stand",
    "config/stack.py": "what a repository declares: each manifest in its own format",
    "config/default_gates.py": "the gates that manifests declare",
    "process/other_trees.py": "folders outside that manifests link to: a border of the sandbox",
    "plan/task_types.py": "globs of a task type, which people read and change",
    "gates/base_tests/rerun.py": "modules as a command of unittest spells them",
    "gates/base_tests/test_support.py": "settings of test tools that name what is loaded first",
    "gates/commands.py": "what a manifest says to the tools that a gate runs",
    "gates/test_paths.py": "settings of test tools that name what is loaded first",
    "gates/mutation/red_first.py": "ids of tests are known of pytest",
    "gates/touched_files.py": "a compiled copy of a module is read in its place",
    "run/proof/held_out.py": "held-out tests are of Python",
    "gates/script_targets.py": "scripts of package.json that a check runs",
    "gates/coverage/v8.py": "what Node runs as it stands, and what it only strips of types",
    "gates/coverage/measurements.py": "Go's profile names packages: their folders stand in go.mod",
    "contracts/contract_context.py": "a script of our own, put beside the code",
    "contracts/touched_contracts.py": "where the module of a model may stand",
    "gates/sitecustomize_hook.py": "runs in foreign Pythons, where nothing of ours is importable",
    "gates/junit.py": "modules as JUnit reports of Python spell them",
    "impact/targets.py": "what Python and Node try when a command names a file without its ending",
    "impact/reach.py": "tests that offer nothing: fewer than are found, so that more is built",
    "run/regressions/trace.py": "executions are seen of Python alone: its changes are followed",
    "writes/project_compile.py": "files of Rust that belong to no project: no compiler parses them",
    "writes/scanners.py": "the files beside which gosec and cargo-audit work",
}
"""Who may name a suffix or a manifest all the same, and why."""


def constants(file):
    """The texts in a module's code that are a suffix or a manifest of a known language."""
    rows = registry.LANGUAGES
    words = {word for row in rows for word in (*row.code, *row.also, *row.manifests)}
    words |= {"tsconfig.json", "_test.go", "_test.py"}
    return {node.value for node in nodes(file) if isinstance(node, ast.Constant)} & words


@pytest.mark.no_cover
def test_no_other_room_names_a_language_s_suffix():
    named = {
        place
        for file in PRODUCT.rglob("*.py")
        if not (place := file.relative_to(PRODUCT).as_posix()).startswith("languages/")
        and constants(file)
    }
    assert sorted(named) == sorted(MAY_NAME)
