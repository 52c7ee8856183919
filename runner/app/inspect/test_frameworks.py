"""Detect the test frameworks of a repository, and the command that runs all tests."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.config.default_gates import Declared, find_declared_gates, is_for_tests
from runner.config.stack import MOST_BYTES, NO_TESTS, find_parts, read_stack
from runner.context.tree import Tree
from runner.languages.registry import code_row
from runner.model import GateSpec
from runner.process.environments import IN_REPOSITORY, MODULES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runner.config.stack import Stack

_LANGUAGES = frozenset({"python", "node", "go", "rust"})
_INSTALLED = frozenset({*IN_REPOSITORY, MODULES})
_NOT_OWN = _INSTALLED | {"vendor", "third_party", "example", "examples", "fixtures", "testdata"}
"""Folders whose tests belong to other projects, or to nobody's."""
_TESTS = frozenset({"test", "tests"})
"""Folders whose folders are samples."""
_LOOKED_INTO = 30
"""Test files that are read to detect their framework."""
_PYTEST = re.compile(rb"^[ \t]*(?:import|from)\s+pytest\b", re.MULTILINE)
_UNITTEST = re.compile(
    rb"^[ \t]*(?:import\s+unittest\b(?!\.mock)|from\s+unittest\S*\s+import\s+(?!mock\b))",
    re.MULTILINE,
)
"""An import of more than its mocks, which every framework uses."""
_DJANGO = re.compile(rb"^[ \t]*(?:import|from)\s+django\.test\b", re.MULTILINE)
_DJANGO_SETTINGS = ("settings.py", "test_settings.py")
_NODE_TEST = re.compile(rb"node:test")
_RUST_TEST = re.compile(rb"#\[(?:\w+::)?test\b")
_GO_USE = re.compile(rb'^[ \t]*(?:use[ \t]+)?"?(\.[\w./-]*)"?[ \t\r]*(?://.*)?$', re.MULTILINE)
_RUNNERS = ("vitest", "jest", "mocha", "ava")
_BY_FILE = frozenset({"pytest", "vitest", "jest", "mocha", "ava", "node --test"})
"""Frameworks whose command takes file paths."""
NO_COMMAND = "no known test command of the project runs single files"
"""Why an author cannot write tests."""
_BY_NAME = "names of the tests"
_NATIVE = re.compile(r"\bnode\b[^&|;]*\s--test\b(?!-)")


class TestFramework(Struct, frozen=True):
    """A test framework, and the command that runs all its tests."""

    __test__ = False

    name: str
    command: str
    why: str
    """Evidence for the framework."""
    files: int = 0


def find_test_frameworks(tree: Tree, stack: Stack) -> Iterator[TestFramework]:
    """Yield the test frameworks of a commit, found by manifests, else by imports."""
    tests: dict[str, list[str]] = {}
    for path in sorted(tree.files):
        row = None if _INSTALLED.intersection(path.split("/")) else code_row(path)
        if row and (pattern := row.language.test_file) and pattern.search(path):
            tests.setdefault(row.name, []).append(path)
    yield from _python_tests(tree, stack, tests.get("python", []))
    yield from _script_tests(tree, stack, tests.get("javascript", []))
    if tests.get("go") and (tree.is_file("go.mod") or tree.is_file("go.work")):
        yield TestFramework("go test", _name_go_command(tree), "files", len(tests["go"]))
    if tree.is_file("Cargo.toml"):
        count = len(tests.get("rust", ()))
        yield TestFramework("cargo test", _name_cargo_command(tree), "Cargo.toml", count)


class TreeManifests(Struct):
    """The manifests in a tree, for `read_stack`."""

    tree: Tree

    def has(self, name: str) -> bool:
        """Return whether the tree has a file of this name."""
        return self.tree.is_file(name)

    def text(self, name: str) -> tuple[str, str]:
        """Return a manifest's text, or a note on why it was not read; both empty if missing."""
        if not self.tree.is_file(name):
            return "", ""
        content = self.tree.read(name) or b""
        if len(content) > MOST_BYTES:
            return "", f"{name} was not read: it is larger than {MOST_BYTES} bytes"
        return content.decode("utf-8-sig", "replace"), ""

    def list_committed(self) -> Collection[str]:
        """Return all paths of the tree."""
        return self.tree.files


def find_all_gates(tree: Tree, stack: Stack) -> tuple[Declared, ...]:
    """Return the declared gates; if none runs tests, also a gate for the tests that exist.

    The tests of a folder below the root are gates, too, if only the folder has their manifest.
    """
    declared = find_declared_gates(stack)
    if stack.names and not any(map(is_for_tests, declared)):
        declared += tuple(_find_test_gates(tree, stack))
    return (*declared, *_find_part_gates(tree, stack))


def _find_part_gates(tree: Tree, stack: Stack) -> Iterator[Declared]:
    stacks = {"": stack}
    for folder in find_parts(tree.files):
        *above, name = folder.split("/")
        if not _NOT_OWN.isdisjoint((*above, name)) or not _TESTS.isdisjoint(above):
            continue
        around = [one for start, one in stacks.items() if folder.startswith(start)]
        inner = _open_folder(tree, f"{folder}/")
        stacks[f"{folder}/"] = part = read_stack(TreeManifests(inner))
        recipes = " ".join(text for one in around for _, text in (*one.commands, *one.recipes))
        is_named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", recipes)
        # Go's `./...` ends where another module begins.
        known = {language for one in around for language in one.names} - (
            set() if tree.is_file("go.work") else {"go"}
        )
        if is_named or _LANGUAGES.intersection(part.names) <= known:
            continue
        declared = [one for one in find_declared_gates(part) if is_for_tests(one)]
        for one in declared or _find_test_gates(inner, part):
            own = f"{one.gate.name}-{folder.replace('/', '-')}"
            yield replace(one, gate=replace(one.gate, name=own), place=folder)


def _open_folder(tree: Tree, start: str) -> Tree:
    inside = {
        one.removeprefix(start): two for one, two in tree.files.items() if one.startswith(start)
    }
    return Tree(lambda: inside, lambda path: tree.read(f"{start}{path}"))


def _find_test_gates(tree: Tree, stack: Stack) -> Iterator[Declared]:
    """Yield a gate for each framework, for a project that declares no test gate."""
    found = [one for one in find_test_frameworks(tree, stack) if _has_tests(one, tree, stack)]
    for number, one in enumerate(found):
        program = one.command.partition(" ")[0]
        module = one.name if one.name == "pytest" else ""
        folder = "node_modules" if program in ("npm", "npx") else ""
        name = one.name.replace(" ", "-") if number else "tests"
        yield Declared(GateSpec(name, one.command, origin=one.why), program, module, folder)


def _has_tests(framework: TestFramework, tree: Tree, stack: Stack) -> bool:
    """Return whether the files of a framework surely hold tests."""
    if framework.name == "cargo test":
        return _any(tree, [path for path in sorted(tree.files) if path.endswith(".rs")], _RUST_TEST)
    if framework.why == "files":
        return framework.files > 0
    return framework.why != _BY_NAME or "python" in stack.names


def _name_go_command(tree: Tree) -> str:
    """Return the test command of a module or workspace (go.dev/ref/mod, "go.work files")."""
    used = _GO_USE.findall(tree.read("go.work") or b"")
    return " ".join(["go test", *(f"{one.decode().rstrip('/')}/..." for one in used or [b"."])])


def _name_cargo_command(tree: Tree) -> str:
    """Return the test command; it names the workspace if cargo would test the root alone."""
    text = tree.read("Cargo.toml") or b""
    is_mixed = b"[workspace]" in text and b"[package]" in text and b"default-members" not in text
    return "cargo test --workspace" if is_mixed else "cargo test"


def find_by_file(tree: Tree, stack: Stack) -> TestFramework | None:
    """Return what runs single files of the tests; None where nothing is known to."""
    return next((one for one in find_test_frameworks(tree, stack) if one.name in _BY_FILE), None)


def _python_tests(tree: Tree, stack: Stack, files: list[str]) -> Iterator[TestFramework]:
    declared = "python:pytest" in dict(stack.commands) or "pytest" in stack.dependencies
    why, count = "imports of the tests", len(files)
    if declared or _any(tree, files, _PYTEST):
        why = (stack.pytest_place or "pyproject.toml") if declared else why
        yield TestFramework("pytest", "python -m pytest -q", why, count)
    elif _any(tree, files, _DJANGO) and (command := _name_django_command(tree, files)):
        yield TestFramework("django", command, why, count)
    elif files and _any(tree, files, _UNITTEST):
        yield TestFramework("unittest", _name_discovery(tree, files), why, count)
    elif files:
        yield TestFramework("pytest", "python -m pytest -q", _BY_NAME, count)


def _name_django_command(tree: Tree, files: list[str]) -> str:
    """Return the command of manage.py, else with the settings next to the tests; else empty."""
    if tree.is_file("manage.py"):
        return "python manage.py test"
    folders = dict.fromkeys(path.rpartition("/")[0] for path in files)
    named = (f"{folder}/{name}" for folder in folders for name in _DJANGO_SETTINGS)
    module = next((one.strip("/").removesuffix(".py") for one in named if tree.is_file(one)), "")
    return f"python -m django test --settings={module.replace('/', '.')}" if module else ""


def _name_discovery(tree: Tree, files: list[str]) -> str:
    """Return the command that finds most of the files: unittest enters packages only."""
    starts = Counter(_find_start(tree, path.split("/")[:-1]) for path in files)
    ((start, _),) = starts.most_common(1)
    usual = any(path.rpartition("/")[2].startswith("test") for path in files)
    where = f" -s {shlex.quote(f'./{start}')}" if start else ""
    return f"python -m unittest discover -q{where}" + ("" if usual else " -p '*_test.py'")


def _find_start(tree: Tree, folders: list[str]) -> str:
    """Return the folder below which every folder on the path to a file is a package."""
    above = ["/".join(folders[:end]) for end in range(len(folders), 0, -1)]
    return next((one for one in above if not tree.is_file(f"{one}/__init__.py")), "")


def _script_tests(tree: Tree, stack: Stack, files: list[str]) -> Iterator[TestFramework]:
    script = dict(stack.commands).get("npm:test", "")
    script = "" if NO_TESTS.fullmatch(script) else script
    named = next((one for one in _RUNNERS if one in stack.dependencies or one in script), "")
    native = bool(_NATIVE.search(script)) or (not named and _any(tree, files, _NODE_TEST))
    if named or native or script:
        name = named or ("node --test" if native else "npm test")
        command = "npm test --silent" if script else f"npx {named}" if named else "node --test"
        yield TestFramework(name, command, "package.json" if script else "files", len(files))


def _any(tree: Tree, files: list[str], pattern: re.Pattern[bytes]) -> bool:
    return any(pattern.search(tree.read(one) or b"") for one in files[:_LOOKED_INTO])
