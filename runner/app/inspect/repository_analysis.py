"""Analyse a repository: stack, builds, tests, gates, packages, owners, imports, hot files.

Read from a commit, never from unsaved files, and nothing of it is run: the same commit gives the
same bytes. Whatever came with the clone is material: it is read within bounds, and redacted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from runner import effects
from runner.app.inspect.test_frameworks import (
    TreeManifests,
    find_all_gates,
    find_test_frameworks,
)
from runner.config.stack import read_stack
from runner.context.files import Neighbours, outlines_of
from runner.context.tree import Tree
from runner.impact.change import is_own_document
from runner.languages.registry import code_row, language_of
from runner.model import digest_of
from runner.plan.ownership import OwnershipMap
from runner.repo.git import text as git_text
from runner.repo.head import OWNERSHIP_MAP
from runner.repo.read import Repository
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.text.foreign_documents import parse_json, parse_toml
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.app.inspect.test_frameworks import TestFramework
    from runner.config.stack import Stack
    from runner.context.files import Outlines
    from runner.project import Project

_SHOWN = 8

FORMAT = 1
_KEPT = "analysis.json"
_MOST_FILES = 6_000
"""Source files whose imports are read."""
_MOST_EDGES = 20_000
_MOST_ROWS = 500
"""Rows of every other list."""
_MOST_COMMITS = 500
"""Commits whose changed files are read."""
_HOT = 20
_NAME = re.compile(r"^module\s+(\S+)", re.MULTILINE)

Row = TypeVar("Row")


class BuildSystem(Struct, frozen=True):
    """A manifest that says how something is built, and by what."""

    manifest: str
    tool: str


class KnownGate(Struct, frozen=True):
    """A command that has to pass, with the settings or the manifest that says so."""

    name: str
    command: str
    origin: str


class Package(Struct, frozen=True):
    """A folder with a manifest of its own, or an outermost importable one."""

    path: str
    name: str
    language: str
    files: int


class Owned(Struct, frozen=True):
    """A row of FILE_OWNERSHIP_MAP.md."""

    file: str
    tasks: tuple[str, ...]


class SourceFile(Struct, frozen=True):
    """A source file: how long it is, what it offers, and which files of the commit it imports."""

    path: str
    lines: int
    names: tuple[str, ...]
    imports: tuple[str, ...]


class HotFile(Struct, frozen=True):
    """A file that many of the last commits touched."""

    path: str
    commits: int


class Analysis(Struct, frozen=True):
    """All that is known of a commit without running anything."""

    commit: str
    tree: str
    files: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)
    stack: tuple[str, ...] = ()
    package_manager: str = ""
    dependencies: tuple[str, ...] = ()
    build_systems: tuple[BuildSystem, ...] = ()
    test_frameworks: tuple[TestFramework, ...] = ()
    gates: tuple[KnownGate, ...] = ()
    packages: tuple[Package, ...] = ()
    owners: tuple[Owned, ...] = ()
    sources: tuple[SourceFile, ...] = ()
    hot_files: tuple[HotFile, ...] = ()
    cut: tuple[str, ...] = ()
    """Lists that were too long to show in full, as text."""
    notes: tuple[str, ...] = ()

    @property
    def edges(self) -> int:
        """Number of imports from one file of the commit to another."""
        return sum(len(one.imports) for one in self.sources)

    @property
    def test_command(self) -> str:
        """Command that runs all tests with the first framework; empty if none was found."""
        return self.test_frameworks[0].command if self.test_frameworks else ""


def analyse(project: Project) -> Analysis:
    """Analyse the checked-out commit. Raises RunnerError without a repository."""
    with Repository.open(project.root) as repository:
        commit = repository.head().commit or ""
        tree = Tree.of(repository, commit, project.settings)
        with outlines_of(tree, project.cache) as outlines:
            return _Reading(tree, project, repository, commit, outlines).make()


def analysis_document(project: Project) -> str:
    """Return the analysis as a JSON document, from the cache if this commit is in it."""
    with Repository.open(project.root) as repository:
        commit = repository.head().commit or ""
    settings = project.settings
    rules = (settings.gates, settings.permission, settings.floor.permission, settings.read_allowed)
    key = digest_of(repr((FORMAT, commit, str(project.root), rules)).encode())
    kept = _load(project, key)
    if kept:
        return kept
    text = as_document(analyse(project))
    if commit:
        body = json.dumps({"key": key, "text": text, "digest": digest_of(text.encode())})
        try:
            effects.make_folder(project.cache)
            effects.write_file(project.cache / _KEPT, body.encode(), mode=0o600)
        except OSError:
            pass  # a cache that cannot be written is no failure
    return text


def as_document(found: Analysis) -> str:
    """Return the analysis as a JSON document, as `runner doctor --repository --json` prints."""
    names = [name for name in Analysis.__struct_fields__ if name != "notes"]
    content = {name: getattr(found, name) for name in names}
    return document("analysis", format=FORMAT, **content, notes=found.notes)


def _load(project: Project, key: str) -> str:
    try:
        kept = json.loads((project.cache / _KEPT).read_bytes())
        text: str = kept["text"]
        whole = kept["key"] == key and kept["digest"] == digest_of(text.encode())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    return text if whole else ""


class _Reading(TreeManifests, dict=True):
    """One reading of a commit; `cut` gathers what was left out."""

    project: Project
    repository: Repository
    commit: str
    outlines: Outlines
    cut: list[str] = field(default_factory=list)

    def make(self) -> Analysis:
        stack, files = read_stack(self), self.tree.files
        rows = [code_row(path) for path in files]
        languages = Counter(row.name for row in rows if row)
        return Analysis(
            commit=self.commit,
            tree=self.repository.tree_of(self.commit) if self.commit else "",
            files=len(files),
            languages=dict(sorted(languages.items())),
            stack=stack.names,
            package_manager=stack.package_manager,
            dependencies=self._first("dependencies", stack.dependencies),
            build_systems=tuple(self._builds()),
            test_frameworks=tuple(find_test_frameworks(self.tree, stack)),
            gates=self._first("gates", tuple(self._gates(stack))),
            packages=self._first("packages", tuple(self._packages())),
            owners=self._first("owners", tuple(self._owners())),
            sources=tuple(self._sources()),
            hot_files=tuple(self._hot()),
            cut=tuple(self.cut),
            notes=tuple(map(redact, stack.notes)) if self.commit else ("no commit yet",),
        )

    def _first(self, name: str, rows: Sequence[Row], most: int = 0) -> tuple[Row, ...]:
        most = most or _MOST_ROWS
        if len(rows) > most:
            self.cut.append(f"{name}: {most} of {len(rows)}")
        return tuple(rows[:most])

    def _builds(self) -> Iterator[BuildSystem]:
        for name, tool in (("package.json", ""), ("go.mod", "go"), ("Cargo.toml", "cargo")):
            if self.has(name):
                yield BuildSystem(name, tool or read_stack(self).package_manager or "npm")
        if self.has("pyproject.toml"):
            build = self._table("pyproject.toml").get("build-system")
            backend = build.get("build-backend") if isinstance(build, dict) else ""
            yield BuildSystem("pyproject.toml", redact(str(backend or "none declared")))
        for name, tool in (("setup.py", "setuptools"), ("Makefile", "make")):
            if self.has(name):
                yield BuildSystem(name, tool)

    def _table(self, name: str) -> Mapping[str, object]:
        try:
            return parse_toml(self.text(name)[0])
        except ValueError:
            return {}

    def _gates(self, stack: Stack) -> Iterator[KnownGate]:
        settings, sources = self.project.settings, self.project.loaded.sources
        known = [one for one in settings.gates if not one.origin]
        for one in known:
            yield KnownGate(one.name, redact(one.command), sources.get("gates", "settings"))
        for declared in () if known else find_all_gates(self.tree, stack):
            gate = declared.gate
            command = declared.from_root(gate.command).removeprefix("sh: ")
            yield KnownGate(gate.name, redact(command), gate.origin)

    # --- packages and owners ---

    def _packages(self) -> Iterator[Package]:
        readers: dict[str, tuple[str, Callable[[str], str]]] = {
            "pyproject.toml": ("python", lambda path: _at(self._table(path), "project")),
            "Cargo.toml": ("rust", lambda path: _at(self._table(path), "package")),
            "package.json": ("javascript", self._json_name),
            "go.mod": ("go", lambda path: "".join(_NAME.findall(self.text(path)[0])[:1])),
        }
        for path in sorted(self.tree.files):
            folder, _, name = path.rpartition("/")
            if name in readers:
                language, read = readers[name]
                title = redact(read(path)) or folder.rpartition("/")[2] or self.project.root.name
                yield Package(folder or ".", title, language, self._count(folder))
            elif name == "__init__.py" and folder and not self._in_package(folder):
                yield Package(folder, folder.rpartition("/")[2], "python", self._count(folder))

    def _json_name(self, path: str) -> str:
        try:
            table = parse_json(self.text(path)[0])
        except ValueError:
            return ""
        name = table.get("name") if isinstance(table, dict) else ""
        return name if isinstance(name, str) else ""

    def _in_package(self, folder: str) -> bool:
        above = folder.rpartition("/")[0]
        return bool(above) and self.tree.is_file(f"{above}/__init__.py")

    def _count(self, folder: str) -> int:
        return self._below[folder]

    @cached_property
    def _below(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for path in self.tree.files:
            parts = path.split("/")[:-1]
            found.update("/".join(parts[:at]) for at in range(len(parts) + 1))
        return found

    def _owners(self) -> Iterator[Owned]:
        data = self.tree.read(OWNERSHIP_MAP) or b""
        rows = OwnershipMap.read(data, OWNERSHIP_MAP, self.project.settings.build.id_prefixes).rows
        yield from (Owned(redact(file), tuple(tasks)) for file, tasks in rows)

    # --- imports and history ---

    def _sources(self) -> Iterator[SourceFile]:
        neighbours = Neighbours(self.tree, self.outlines)
        left = _MOST_EDGES
        paths = self._first("sources", sorted(self.outlines.by_path), _MOST_FILES)
        for path in paths:
            outline = self.outlines.by_path[path]
            found = neighbours.files_imported_by(path) if language_of(path) else ()
            left -= len(found)
            if left < 0:
                self.cut.append(f"imports: only {_MOST_EDGES}, up to {path}")
                return
            yield SourceFile(path, outline.lines, tuple(outline.names.split()), found)

    def _hot(self) -> Iterator[HotFile]:
        """Yield the files of the commit by the number of recent commits that changed them."""
        if not self.commit:
            return
        asked = ("log", "--no-renames", "--format=", "--name-only", "-z", "-n", str(_MOST_COMMITS))
        names = git_text(self.repository.git.run(*asked, self.commit, "--")).split("\0")
        inside = (
            self.repository.prefix.inside(path.lstrip("\n")) for path in names if path.strip()
        )
        counted = Counter(
            path for path in inside if self.tree.is_file(path) and not is_own_document(path)
        )
        most = sorted(counted.items(), key=lambda row: (-row[1], row[0]))[:_HOT]
        yield from (HotFile(path, count) for path, count in most if count > 1)


def _at(table: Mapping[str, object], name: str) -> str:
    part = table.get(name)
    value = part.get("name") if isinstance(part, dict) else ""
    return value if isinstance(value, str) else ""


def analysis_lines(found: Analysis) -> Iterator[str]:
    """Yield the analysis of a repository as lines of text."""
    counts = ", ".join(f"{name} {count}" for name, count in found.languages.items())
    yield f"{found.commit[:12] or 'no commit'}: {plural(found.files, 'file')}" + (
        f"; {counts}" if counts else ""
    )
    yield f"stack: {_listed([*found.stack, *found.dependencies])}"
    yield f"built by: {_listed([f'{one.tool} ({one.manifest})' for one in found.build_systems])}"
    tests = [f"{one.name}: {one.command} ({one.why})" for one in found.test_frameworks]
    yield f"tests: {_listed(tests)}"
    gates = [f"{one.name}: {one.command} ({one.origin})" for one in found.gates]
    yield f"gates: {_listed(gates)}"
    rows = [f"{one.name} in {one.path}, {plural(one.files, 'file')}" for one in found.packages]
    yield f"packages: {_listed(rows)}"
    owned = [f"{one.file} ({', '.join(one.tasks)})" for one in found.owners]
    yield f"owners: {_listed(owned)}"
    yield f"imports: {found.edges} between {plural(len(found.sources), 'source file')}"
    used: dict[str, int] = {}
    for one in found.sources:
        for path in one.imports:
            used[path] = used.get(path, 0) + 1
    most = sorted(used.items(), key=lambda row: (-row[1], row[0]))
    yield f"imported most: {_listed([f'{path} by {count}' for path, count in most])}"
    hot = [f"{one.path} in {plural(one.commits, 'commit')}" for one in found.hot_files]
    yield f"changed most: {_listed(hot)}"
    yield from (f"truncated: {one}" for one in found.cut)
    yield from (f"note: {one}" for one in found.notes)


def _listed(rows: Sequence[str]) -> str:
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return (", ".join(rows[:_SHOWN]) or "none") + more
