"""Default gates for a project without configured ones, from what its repository declares."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.config.stack import NO_TESTS
from runner.lazy_pattern import regex
from runner.model import GateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from runner.config.settings import Loaded, Settings
    from runner.config.stack import Stack
    from runner.model import Task

_SCRIPTS = (("lint", "lint"), ("typecheck", "types"), ("test", "tests"), ("build", "build"))
"""Scripts of package.json that become gates, with the gates' names."""
_TARGETS = (("lint", "lint"), ("check", "check"), ("test", "tests"))
_TOOLS = (
    # command of the stack, gate, program, manifest
    ("python:ruff", "lint", "ruff", "pyproject.toml"),
    ("python:mypy", "types", "mypy", "pyproject.toml"),
    ("python:pytest", "tests", "python", "pyproject.toml"),
    ("go:vet", "lint", "go", "go.mod"),
    ("cargo:clippy", "lint", "cargo-clippy", "Cargo.toml"),
    ("pre-commit:run", "pre-commit", "pre-commit", ".pre-commit-config.yaml"),
)
_WORDS = {"go:vet": r"go\s+vet", "cargo:clippy": r"cargo\s+clippy"}
"""How a recipe calls such a tool, which compiles first, if not by its program name."""
_COMPILED_WITHIN = 300.0
_RUN = {
    "npm": "npm run --silent",
    "pnpm": "pnpm --silent run",
    "yarn": "yarn run --silent",
    "bun": "bun run --silent",
}
_CALL = regex(r"(?:npm|pnpm|yarn|bun)(?: -s| --silent)* run(?: -s| --silent)* ([\w:.-]+)")
_WRITES_NOTHING = regex(r" --noEmit\b(?! false)")
_HOOKED = frozenset({"npm", "bun"})
"""Package managers that run `pretest` and `posttest` with `test`."""
_SWALLOWS = regex(r"[;|\n]|(?<!&)&(?!&)")


class Declared(Struct, frozen=True):
    """A gate that a manifest declares, and what must be there for it to run."""

    gate: GateSpec
    program: str
    """Program that must be on PATH."""
    module: str = ""
    """Module that this Python must be able to import."""
    folder: str = ""
    """Project folder that an installation must have created."""
    type: str = ""
    """The only task type it applies to; empty for all."""
    runs: str = ""
    """Pattern that recognises a recipe running the same command."""
    place: str = ""
    """Folder in which it runs; empty for the root."""

    def from_root(self, command: str) -> str:
        """Return a command of this gate as the root runs it."""
        return f"sh: cd {shlex.quote(self.place)} && {command}" if self.place else command


def find_declared_gates(stack: Stack) -> tuple[Declared, ...]:
    """Return the gates that the manifests declare, without duplicates, in run order.

    What a Makefile's `lint` visibly runs is not run a second time beside it; any other second
    gate of a name goes by the name of its program.
    """
    found: dict[str, Declared] = {}
    recipes = dict(stack.recipes)
    made = {name: recipes.get(target, "") for target, name in _TARGETS}
    agents = (
        *_script(stack, "agent:check", "check"),
        *_script(stack, "agent:visual", "visual", "ui"),
    )
    for one in (*agents, *_scripts(stack), *_targets(stack), *_tools(stack)):
        if one.program != "make" and one.runs and re.search(one.runs, made.get(one.gate.name, "")):
            continue
        first = found.setdefault(one.gate.name, one)
        if first is not one:
            program = one.module or one.program
            other = f"make-{one.gate.name}" if program == "make" else program
            found.setdefault(other, replace(one, gate=replace(one.gate, name=other)))
    return tuple(found.values())


def _scripts(stack: Stack) -> Iterator[Declared]:
    """Yield the package scripts that are gates; none if there is an `agent:check` script."""
    scripts = {name.removeprefix("npm:"): text for name, text in stack.commands if "npm:" in name}
    if scripts.get("agent:check"):
        return
    named = [(script, name) for script, name in _SCRIPTS if scripts.get(script)]
    hooks = not _HOOKED.isdisjoint(stack.tools)
    for script, name in list(named):
        others = [other for other, _ in named if other != script]
        if any(_runs_whole(scripts, other, script, hooks=hooks) for other in others):
            named.remove((script, name))
    for script, name in named:
        yield from _script(stack, script, name)
    yield from _packages(stack)


def _runs_whole(scripts: Mapping[str, str], other: str, script: str, *, hooks: bool) -> bool:
    """Return whether one script runs all of another and fails if it fails.

    A compiler that writes nothing looks at what it compiles when it writes, too.
    """
    steps = set(_steps(scripts, other, {other}, hooks=hooks))
    whole = tuple(_steps(scripts, script, {script}, hooks=hooks))
    return bool(whole) and all({one, _WRITES_NOTHING.sub("", one)} & steps for one in whole)


def _steps(
    scripts: Mapping[str, str], script: str, seen: set[str], *, hooks: bool
) -> Iterator[str]:
    """Yield the commands that a script runs in sequence, including called scripts.

    Each script is followed once, so that scripts that call each other in rings end.
    """
    names = (f"pre{script}", script, f"post{script}") if hooks else (script,)
    for text in (scripts.get(name, "") for name in names):
        for step in () if _SWALLOWS.search(text) else text.split("&&"):
            called = _CALL.fullmatch(step.strip())
            name = called[1] if called else ""
            if name in scripts:
                if name not in seen:
                    seen.add(name)
                    yield from _steps(scripts, name, seen, hooks=hooks)
            elif step.strip():
                yield " ".join(step.split())


def _script(stack: Stack, script: str, name: str, kind: str = "") -> Iterator[Declared]:
    text = dict(stack.commands).get(f"npm:{script}")
    if text and not NO_TESTS.fullmatch(text):
        manager = next(tool for tool in stack.tools if tool in _RUN)
        folder = "node_modules" if "node_modules" in stack.installs else ""
        gate = GateSpec(name, f"{_RUN[manager]} {script}", origin="package.json")
        yield Declared(gate, manager, folder=folder, type=kind, runs=_runs_script(script, text))


def _packages(stack: Stack) -> Iterator[Declared]:
    """Yield the tests of all packages of a workspace; npm runs scripts of any workspace but pnpm's.

    docs.npmjs.com, "npm run" (workspaces, if-present); pnpm.io, "pnpm -r".
    """
    if stack.tests_packages:
        is_pnpm = "pnpm" in stack.tools
        all_packages = "npm run --silent --workspaces --if-present test"
        command = "pnpm --silent -r run test" if is_pnpm else all_packages
        gate = GateSpec("tests", command, origin="package.json")
        yield Declared(gate, "pnpm" if is_pnpm else "npm", folder="".join(stack.installs))


def _runs_script(script: str, text: str) -> str:
    """Return a pattern that matches a recipe running a script by its name or its text."""
    by_name = rf"\b(?:{'|'.join(_RUN)})\b[^\n;&|]*\s{re.escape(script)}(?![\w:-])"
    return rf"{by_name}|{re.escape(text)}(?![\w-])"


def _targets(stack: Stack) -> Iterator[Declared]:
    commands = dict(stack.commands)
    for target, name in _TARGETS:
        command = commands.get(f"make:{target}")
        if command:
            yield Declared(GateSpec(name, command, origin="Makefile"), "make")


def _tools(stack: Stack) -> Iterator[Declared]:
    commands = dict(stack.commands)
    for declared, name, program, manifest in _TOOLS:
        command = commands.get(declared)
        if command:
            module = "pytest" if declared == "python:pytest" else ""
            words = module or _WORDS.get(declared, program)
            runs = rf"(?<![\w-]){words}(?![\w-])"
            origin = (module and stack.pytest_place) or manifest
            seconds = _COMPILED_WITHIN if declared in _WORDS else 0.0
            gate = GateSpec(name, command, origin=origin, seconds=seconds)
            yield Declared(gate, program, module, runs=runs)


def is_for_tests(declared: Declared) -> bool:
    """Return whether a gate runs the project's tests, or all of its checks."""
    return declared.gate.name in ("tests", "check")


def needs_defaults(settings: Settings) -> bool:
    """Return whether default gates are enabled and no gates are configured."""
    return settings.proof.default_gates and not (settings.gates or settings.gates_by_type)


def with_default_gates(
    loaded: Loaded, declared: Iterable[Declared], equipped: Callable[[Declared], tuple[str, str]]
) -> Loaded:
    """Return the settings with each gate whose tools exist, and a note for each other gate.

    `equipped` gives the command as it can be run here, and what is missing for it in words.
    """
    if not needs_defaults(loaded.settings):
        return loaded
    ready: list[Declared] = []
    notes = list(loaded.notes)
    for one in declared:
        command, missing = equipped(one)
        if missing:
            notes.append(f"default gate {one.gate.name} is not run: {missing}")
        else:
            ready.append(replace(one, gate=replace(one.gate, command=command)))
    return _with(loaded, ready, notes)


def _with(loaded: Loaded, ready: list[Declared], notes: list[str]) -> Loaded:
    everywhere = [one for one in ready if not one.type]
    typed = [one for one in ready if one.type]
    types = dict.fromkeys(one.type for one in typed)
    settings = replace(
        loaded.settings,
        gates=tuple(one.gate for one in everywhere),
        gates_by_type=tuple(
            (name, tuple(one.gate for one in typed if one.type == name)) for name in types
        ),
    )
    by_name = {"gates": everywhere, "gates_by_type": typed}
    sources = {
        name: ", ".join(dict.fromkeys(one.gate.origin for one in some))
        + f" (default gate{'' if len(some) == 1 else 's'})"
        for name, some in by_name.items()
        if some
    }
    return replace(
        loaded,
        settings=settings,
        sources={**loaded.sources, **sources},
        notes=tuple(dict.fromkeys(notes)),
    )


_NOTHING_THERE = (
    # what the command is, its exit code, and all it printed
    # 5 is pytest's own word for tests that it did not find (its documentation, Exit codes).
    (r".*python -m pytest -q", 5, r""),
    (r"(?:.*/)?mypy\b.*", 2, r"There are no \.py\[i\] files in directory '[^'\n]*'"),
    (
        r"go vet \./\.\.\.",
        1,
        r'(?:go: warning: "\./\.\.\." matched no packages\n)?no packages to vet',
    ),
    (r"cargo clippy", 101, r"error: failed to parse manifest[^\0]*no targets specified[^\0]*"),
)


def nothing_to_check(
    task: Task, settings: Settings, gate: str, command: str, code: int, output: str
) -> bool:
    """Return whether a default gate failed only because it has nothing to check yet.

    `output` is all it printed. True of gates that the repository declares, never of one that
    somebody configured: who asks for pytest wants tests to be there.
    """
    return any(
        known == code
        and re.fullmatch(pattern, command)
        and (not message or re.fullmatch(message, output.strip()))
        for pattern, known, message in _NOTHING_THERE
    ) and is_declared(task, settings, gate, command)


def is_declared(task: Task, settings: Settings, gate: str, command: str) -> bool:
    """Return whether a gate comes from the repository's declarations, not from settings."""
    return any(
        one.origin and f"gate:{one.name}" == gate and one.command.removeprefix("sh: ") == command
        for one in settings.gates_for(task.type)
    )
