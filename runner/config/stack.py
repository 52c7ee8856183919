"""Detect a repository's stack and required tools from its manifests.

Only reads, bounded, and follows no link: a manifest may come with any clone.
"""

from __future__ import annotations

import os
import re
import stat
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.text.display import display
from runner.text.foreign_documents import parse_json, parse_toml

if TYPE_CHECKING:
    import configparser
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from runner.languages import registry
else:
    configparser = lazy_module("configparser")
    registry = lazy_module("runner.languages.registry")


MOST_BYTES = 1 << 20
"""Maximum size of one manifest, in bytes."""
_MOST_COMMANDS = 100
_MOST_PACKAGES = 50
"""Manifests of packages that are read."""
NO_TESTS = regex(r"echo .*no test specified.* exit 1\s*")
"""The test script that `npm init` writes for a package without tests."""
_PYTEST = ("python:pytest", "python -m pytest -q")


class Stack(Struct, frozen=True):
    """A repository's stack, as declared; empty where nothing is declared."""

    names: tuple[str, ...] = ()
    """Names: `python`, `node`, `typescript`, `go`, `rust`, `make`, in this order."""
    package_manager: str = ""
    """Of the first name: `uv`, `poetry`, `pip`, `npm`, `pnpm`, `yarn`, `bun`, `go` or `cargo`."""
    tools: tuple[str, ...] = ()
    """Programs that its commands need."""
    commands: tuple[tuple[str, str], ...] = ()
    """Commands the manifests declare, by name (`npm:test`, `make:lint`, `python:ruff`)."""
    installs: tuple[str, ...] = ()
    """Folders that these commands need and an installation creates: `node_modules`."""
    dependencies: tuple[str, ...] = ()
    """Names of direct dependencies, lower case and sorted; used to match patterns."""
    recipes: tuple[tuple[str, str], ...] = ()
    """Recipe of each Makefile target as written, including its prerequisites' lines."""
    tests_packages: bool = False
    """Whether packages of a JavaScript workspace have a test script, and its root has none."""
    pytest_place: str = ""
    """File that names pytest if pyproject.toml does not."""
    notes: tuple[str, ...] = ()
    """Unreadable manifests, with the reason."""

    @property
    def words(self) -> frozenset[str]:
        """Everything a pattern's Stack column can name."""
        return frozenset((*self.names, *self.dependencies))


class Manifests(Protocol):
    """Files by name, of a folder or of a commit."""

    def has(self, name: str) -> bool:
        """Return whether a regular file of this name exists."""

    def text(self, name: str) -> tuple[str, str]:
        """Return a manifest's text, or a note on why it was not read; both empty if missing."""

    def list_committed(self) -> Collection[str]:
        """Return the paths of the commit; empty if it is unknown."""


def detect_stack(root: Path, committed: Callable[[], Collection[str]] = tuple) -> Stack:
    """Detect the stack that the manifests in `root` declare; never raises for their content.

    Without the paths of the commit, pytest is looked for in pyproject.toml alone.
    """
    return read_stack(_Folder(root, committed))


def read_stack(root: Manifests) -> Stack:
    """Detect the stack from manifests of a folder or a commit."""
    found = [reader(root) for reader in _READERS]
    commands = tuple(pair for one in found for pair in one.commands)[:_MOST_COMMANDS]
    place = ""
    if _PYTEST not in commands:
        place = _find_pytest_place(root.list_committed(), lambda name: root.text(name)[0])
    return Stack(
        names=tuple(name for one in found for name in one.names),
        package_manager=next((one.package_manager for one in found if one.package_manager), ""),
        tools=tuple(dict.fromkeys(tool for one in found for tool in one.tools)),
        commands=(*commands, _PYTEST) if place else commands,
        installs=tuple(folder for one in found for folder in one.installs),
        dependencies=tuple(sorted({name for one in found for name in one.dependencies})),
        recipes=tuple(pair for one in found for pair in one.recipes)[:_MOST_COMMANDS],
        tests_packages=any(one.tests_packages for one in found),
        pytest_place=place,
        notes=tuple(note for one in found for note in one.notes if note),
    )


def may_have_parts(root: Path) -> bool:
    """Return whether file names below `root` may be of a part or mention pytest."""
    patterns = [_PART, *(pattern for pattern, _ in _PYTEST_PLACES)]
    for folder, inner, files in os.walk(root):
        start = "" if folder == str(root) else f"{folder[len(str(root)) + 1 :]}/"
        if any(one.fullmatch(start + name) for name in files for one in patterns):
            return True
        inner[:] = [one for one in inner if start.count("/") < _DEEPEST and _OWN.match(one)]
    return (root / "package.json").exists()


def find_parts(paths: Iterable[str]) -> list[str]:
    """Return the folders below the root with a manifest, the nearest first, within bounds."""
    parts = {path.rpartition("/")[0] for path in paths if _PART.fullmatch(path)}
    return sorted(parts, key=lambda path: (path.count("/"), path))[:_MOST_PARTS]


def _python(root: Manifests) -> Stack:
    if not any(root.has(name) for name in _PYTHON_FILES):
        return Stack()
    table, note = _toml(root, "pyproject.toml")
    declared = _texts(_at(table, "project", "dependencies"))
    poetry = _at(table, "tool", "poetry", "dependencies")
    names = [*declared, *(poetry if isinstance(poetry, dict) else ())]
    manager = _first_existing(root, (("uv.lock", "uv"), ("poetry.lock", "poetry"))) or "pip"
    return Stack(
        names=("python",),
        package_manager=manager,
        tools=("python3", *((manager,) if manager != "pip" else ())),
        commands=tuple(_python_tools(table)),
        dependencies=tuple(filter(None, map(_distribution, names))),
        notes=(note,),
    )


def _python_tools(table: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the commands for the tools configured in pyproject.toml."""
    if _at(table, "tool", "ruff") is not None:
        yield "python:ruff", "ruff check ."
    if _at(table, "tool", "mypy") is not None:
        named = any(_at(table, "tool", "mypy", key) for key in ("files", "packages", "modules"))
        yield "python:mypy", "mypy" if named else "mypy ."
    if _at(table, "tool", "pytest") is not None or "pytest" in _groups(table):
        yield _PYTEST


def _groups(table: dict[str, object]) -> set[str]:
    """Return the requirements in groups and extras of pyproject.toml (PEP 735, PEP 621)."""
    named = (_at(table, "dependency-groups"), _at(table, "project", "optional-dependencies"))
    groups = [group for one in named if isinstance(one, dict) for group in one.values()]
    return {_distribution(text) for group in groups for text in _texts(group)}


_PYTHON_FILES = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_MANIFESTS = (*_PYTHON_FILES, "package.json", "go.mod", "go.work", "Cargo.toml")
"""Files that declare a language."""
_DEEPEST = 3
_PART = regex(rf"(?:\w[\w.-]*/){{1,{_DEEPEST}}}(?:{'|'.join(map(re.escape, _MANIFESTS))})")
_OWN = regex(r"(?!node_modules\Z)\w[\w.-]*\Z")
_MOST_PARTS = 50
_NODE_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
)


def _node(root: Manifests) -> Stack:
    if not root.has("package.json"):
        return Stack()
    table, note = _json(root, "package.json")
    declared = str(table.get("packageManager", "")).partition("@")[0]
    known = declared if declared in ("npm", "pnpm", "yarn", "bun") else ""
    manager = known or _first_existing(root, _NODE_LOCKS) or "npm"
    dependencies = [*_keys(table, "dependencies"), *_keys(table, "devDependencies")]
    return Stack(
        names=("node",),
        package_manager=manager,
        tools=tuple(dict.fromkeys(("node", manager))),
        commands=tuple((f"npm:{name}", text) for name, text in _pairs(table, "scripts")),
        installs=("node_modules",) if dependencies else (),
        dependencies=tuple(name.lower() for name in dependencies),
        tests_packages=_tests_packages(root, table),
        notes=(note,),
    )


def has_tests(manifest: dict[str, object]) -> bool:
    """Return whether a package.json has a test script other than the one of `npm init`."""
    text = _at(manifest, "scripts", "test")
    return isinstance(text, str) and bool(text) and not NO_TESTS.fullmatch(text)


def _tests_packages(root: Manifests, table: dict[str, object]) -> bool:
    """Return whether packages of a workspace have a test script, and its root has none."""
    is_workspace = bool(table.get("workspaces")) or root.has("pnpm-workspace.yaml")
    if not is_workspace or has_tests(table):
        return False
    manifests = [path for path in sorted(root.list_committed()) if path.endswith("/package.json")]
    own = (path for path in manifests if "node_modules" not in path.split("/"))
    return any(has_tests(_json(root, path)[0]) for path in islice(own, _MOST_PACKAGES))


def _go(root: Manifests) -> Stack:
    if not (root.has("go.mod") or root.has("go.work")):
        return Stack()
    vet = (("go:vet", "go vet ./..."),) if root.has("go.mod") else ()
    return Stack(names=("go",), package_manager="go", tools=("go",), commands=vet)


def _rust(root: Manifests) -> Stack:
    if not root.has("Cargo.toml"):
        return Stack()
    table, note = _toml(root, "Cargo.toml")
    return Stack(
        names=("rust",),
        package_manager="cargo",
        tools=("cargo",),
        commands=(("cargo:clippy", "cargo clippy"),),
        dependencies=tuple(name.lower() for name in _keys(table, "dependencies")),
        notes=(note,),
    )


def _make(root: Manifests) -> Stack:
    text, note = root.text("Makefile")
    if not text:
        return Stack(notes=(note,))
    # `name :=` and `name ::=` assign a variable (GNU make, "The Two Flavors of Variables").
    targets = re.findall(r"^([A-Za-z0-9][A-Za-z0-9_-]*)[ \t]*::?(?!=)", text, re.MULTILINE)
    commands = tuple((f"make:{name}", f"make {name}") for name in dict.fromkeys(targets))
    recipes = tuple(_recipes(text, frozenset(targets)).items())
    return Stack(
        names=("make",), tools=("make",), commands=commands, recipes=recipes, notes=(note,)
    )


def _pre_commit(root: Manifests) -> Stack:
    if not root.has(".pre-commit-config.yaml"):
        return Stack()
    return Stack(commands=(("pre-commit:run", "pre-commit run --files {files}"),))


def _typescript(root: Manifests) -> Stack:
    return Stack(names=("typescript",)) if root.has("tsconfig.json") else Stack()


_READERS = (_python, _node, _typescript, _go, _rust, _make, _pre_commit)


def _recipes(text: str, targets: frozenset[str]) -> dict[str, str]:
    """Return the recipe of each make target, including its direct prerequisites' recipes."""
    own: dict[str, str] = {}
    needs: dict[str, list[str]] = {}
    name = ""
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("\t"):
            own[name] = f"{own.get(name, '')}{line.strip()}\n"
            continue
        head, colon, rest = line.partition(":")
        if colon and head.strip() in targets and not rest.startswith("="):
            name = head.strip()
            before, _, recipe = rest.lstrip(":").partition(";")
            needs.setdefault(name, []).extend(before.split())
            own[name] = f"{own.get(name, '')}{recipe.strip()}\n"
        elif line.strip() and not line.startswith("#"):
            name = ""
    return {
        target: "".join(own.get(one, "") for one in (target, *needs.get(target, ())))
        for target in sorted(targets)
    }


def _toml(root: Manifests, name: str) -> tuple[dict[str, object], str]:
    return _read_document(root, name, parse_toml, "TOML")


def _json(root: Manifests, name: str) -> tuple[dict[str, object], str]:
    return _read_document(root, name, parse_json, "JSON")


def _read_document(
    root: Manifests, name: str, parse: Callable[[str], object], kind: str
) -> tuple[dict[str, object], str]:
    """Parse a manifest; return an empty table and a note if that fails."""
    text, note = root.text(name)
    try:
        document = parse(text) if text else {}
    except ValueError as error:
        return {}, f"{name} is not {kind}: {display(str(error))[:200]}"
    return (document, note) if isinstance(document, dict) else ({}, f"{name} is not a JSON object")


class _Folder(Struct, frozen=True):
    """The manifests of a folder, as they are now; no link is followed."""

    root: Path
    commit_paths: Callable[[], Collection[str]]

    def list_committed(self) -> Collection[str]:
        return self.commit_paths()

    def has(self, name: str) -> bool:
        try:
            return stat.S_ISREG((self.root / name).lstat().st_mode)
        except OSError:
            return False

    def text(self, name: str) -> tuple[str, str]:
        try:
            descriptor = os.open(
                self.root / name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            )
        except FileNotFoundError:
            return "", ""
        except OSError as error:
            return "", f"{name} was not read: {error.strerror}"
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return "", f"{name} was not read: it is not a regular file"
            if found.st_size > MOST_BYTES:
                return "", f"{name} was not read: it is larger than {MOST_BYTES} bytes"
            return file.read(MOST_BYTES).decode("utf-8-sig", "replace"), ""


def _first_existing(root: Manifests, files: tuple[tuple[str, str], ...]) -> str:
    return next((manager for file, manager in files if root.has(file)), "")


def _at(table: object, *path: str) -> object:
    for name in path:
        table = table.get(name) if isinstance(table, dict) else None
    return table


def _texts(value: object) -> tuple[str, ...]:
    entries = value if isinstance(value, list) else ()
    return tuple(entry for entry in entries if isinstance(entry, str))


def _keys(table: dict[str, object], name: str) -> tuple[str, ...]:
    value = table.get(name)
    return tuple(map(str, value)) if isinstance(value, dict) else ()


def _pairs(table: dict[str, object], name: str) -> Iterator[tuple[str, str]]:
    value = table.get(name)
    for key, text in value.items() if isinstance(value, dict) else ():
        if isinstance(text, str):
            yield str(key), text


def _distribution(requirement: str) -> str:
    """Return the distribution name of a requirement (PEP 508) in lower case."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    return match[1].lower() if match else ""


_MOST_FILES = 50
"""Maximum number of files that may name pytest."""
_COMMENT = regex(r"(?m)(?:^|(?<=\s))#.*$")
_PYTEST_WORD = regex(r"(?<![\w./@=-])pytest(?![\w./-])")
_PYTEST_SECTIONS = frozenset({"pytest", "tool:pytest"})
"""Sections that configure pytest itself."""
_TOX_OPTIONS = frozenset({"deps", "commands"})
"""Options of a tox environment that hold requirements or commands."""


def _find_pytest_place(paths: Iterable[str], read: Callable[[str], str]) -> str:
    """Return the first file that names pytest; empty if none does or there are no tests."""
    listed = sorted(paths)
    if not any(map(_is_test, listed)):
        return ""
    rows = (
        (path, find)
        for pattern, find in _PYTEST_PLACES
        for path in listed
        if pattern.fullmatch(path)
    )
    for _, (path, find) in zip(range(_MOST_FILES), rows, strict=False):
        text = read(path)
        if any(_PYTEST_WORD.search(_COMMENT.sub("", one)) for one in find(text)):
            return path
    return ""


def _is_test(path: str) -> bool:
    row = registry.code_row(path)
    pattern = row.language.test_file if row and row.name == "python" else None
    return bool(pattern and pattern.search(path))


def _read_ini(text: str) -> Iterator[str]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except (ValueError, configparser.Error):
        return
    for section in parser.sections():
        if section in _PYTEST_SECTIONS:
            yield "pytest"
        for option, value in parser.items(section):
            if option in _TOX_OPTIONS:
                yield value or ""


def _read_toml(text: str) -> Iterator[str]:
    try:
        table = parse_toml(text)
    except ValueError:
        return
    environments = table.get("env")
    named = environments.values() if isinstance(environments, dict) else ()
    for one in (table.get("env_run_base"), *named):
        for option in _TOX_OPTIONS if isinstance(one, dict) else ():
            yield from _list_texts(one.get(option))


def _list_texts(value: object) -> Iterator[str]:
    """Yield the texts in a list and in its nested lists."""
    for one in value if isinstance(value, list) else ():
        for text in one if isinstance(one, list) else (one,):
            if isinstance(text, str):
                yield text


_PYTEST_PLACES = (
    # path and the part of it that can name pytest
    (regex(r"[^/]*requirements[^/]*\.txt|requirements/[^/]+\.txt"), lambda text: (text,)),
    (regex(r"tox\.ini|setup\.cfg|pytest\.ini"), _read_ini),
    (regex(r"tox\.toml"), _read_toml),
)
