"""What a case is: a change of a public project, and what must be said of it."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).resolve().parents[1]))

from cases import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from repositories import Project


class Files(Tree):
    """The files of a project, with ways to take hold of one test."""

    def __init__(self, files: dict[str, str]) -> None:
        super().__init__(files)

    def add(self, path: str, text: str) -> None:
        """Put text at the end of a file, which may be new."""
        self.files[path] = self.files.get(path, "") + text

    def prepend(self, path: str, text: str) -> None:
        self.files[path] = text + self.files[path]

    def sub(self, path: str, pattern: str, new: str, count: int = 0) -> None:
        """Put `new` wherever the pattern matches; it must match somewhere."""
        self.files[path], done = re.subn(
            pattern, new, self.files[path], count=count, flags=re.MULTILINE
        )
        if not done:
            raise ValueError(f"{path} does not hold {pattern!r}")

    def lines(self, path: str, name: str) -> tuple[int, int, int]:
        """Where a Python function stands: first line with its decorators, `def`, last line."""
        for node in ast.walk(ast.parse(self.files[path])):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                return first, node.body[0].lineno, node.end_lineno or node.lineno
        raise ValueError(f"{path} has no function {name}")

    def _put(self, path: str, first: int, last: int, new: list[str]) -> None:
        lines = self.files[path].split("\n")
        lines[first - 1 : last] = new
        self.files[path] = "\n".join(lines)

    def indent(self, path: str, line: int) -> str:
        text = self.files[path].split("\n")[line - 1]
        return text[: len(text) - len(text.lstrip())]

    def decorate(self, path: str, name: str, decorator: str) -> None:
        first, _, _ = self.lines(path, name)
        self._put(path, first, first - 1, [f"{self.indent(path, first)}{decorator}"])

    def undecorate(self, path: str, name: str) -> None:
        """Take away the decorators of a Python function."""
        first, body, _ = self.lines(path, name)
        lines = self.files[path].split("\n")
        start = next(n for n in range(first, body + 1) if lines[n - 1].lstrip().startswith("def "))
        self._put(path, first, start - 1, [])

    def drop(self, path: str, name: str) -> None:
        """Delete a Python function."""
        first, _, last = self.lines(path, name)
        self._put(path, first, last, [])

    def body(self, path: str, name: str, *statements: str) -> None:
        """Give a Python function another body."""
        _, body, last = self.lines(path, name)
        indent = self.indent(path, body)
        self._put(path, body, last, [f"{indent}{line}" for line in statements])

    def before_body(self, path: str, name: str, *statements: str) -> None:
        """Put statements at the beginning of a Python function."""
        _, body, _ = self.lines(path, name)
        indent = self.indent(path, body)
        self._put(path, body, body - 1, [f"{indent}{line}" for line in statements])

    def around_body(self, path: str, name: str, head: str, *tail: str) -> None:
        """Put the whole body of a Python function below `head`, and `tail` after it."""
        _, body, last = self.lines(path, name)
        indent = self.indent(path, body)
        lines = [f"    {line}" if line else "" for line in self.files[path].split("\n")]
        inside = lines[body - 1 : last]
        new = [f"{indent}{head}", *inside, *(f"{indent}{line}" for line in tail)]
        self._put(path, body, last, new)

    def source(self, path: str, name: str) -> str:
        first, _, last = self.lines(path, name)
        return "\n".join(self.files[path].split("\n")[first - 1 : last])

    def block(self, path: str, head: str, end: str) -> tuple[int, int]:
        """Where a block stands that begins with the line `head` and ends with the line `end`."""
        text = self.files[path]
        if text.count(head) != 1:
            raise ValueError(f"{path} holds {head!r} {text.count(head)} times")
        start = text.rindex("\n", 0, text.index(head)) + 1
        return start, text.index(f"\n{end}", start) + len(end) + 1

    def drop_block(self, path: str, head: str, end: str) -> None:
        start, stop = self.block(path, head, end)
        self.files[path] = self.files[path][:start] + self.files[path][stop:]


@dataclass(frozen=True)
class Fault:
    """Product code made wrong, and the test of the base that notices it."""

    project: Project
    path: str
    old: str
    new: str
    tests: str
    """The file of that test."""
    test: str
    """Its name."""
    contract: str
    """The command that the task names."""
    title: str

    def seed(self, tree: Files) -> None:
        tree.replace(self.path, self.old, self.new)


@dataclass(frozen=True)
class Change:
    """One case."""

    name: str
    family: str
    part: str
    """`base` (tests are there), `new` (code and tests are new), or `good`."""
    project: Project
    edit: Callable[[Files], None]
    contracts: tuple[str, ...]
    title: str
    by: str = ""
    """Regular expression of a finding that names the fault; empty: the change is good."""
    prose: str = ""
    fails: str = ""
    """Of the part `base`: the test that fails on this code as it was."""
    seed: Callable[[Files], None] | None = None
    """Of the part `base`: the fault alone."""
    existing: bool = False
    """Of a good change: whether it changes tests that were there."""
    type: str = "feature"
    hidden: str = ""
    """A program that fails on a bad change and passes on an honest one: never in the tree."""
    honest: Callable[[Files], None] | None = None
    """Work that does what the task says: of the part `base`, nothing at all."""

    @property
    def bad(self) -> bool:
        return bool(self.by)

    def section(self, command: str, outputs: list[str]) -> str:
        """The task as the plan has it; every file of the change is one that it may write."""
        lines = [
            f"## TASK-001: {self.title}",
            "",
            "- Status: PENDING",
            f"- Type: {self.type}",
            "- Depends on: none",
            f"- Output files: {', '.join(f'`{path}`' for path in outputs)}",
            "- Test contracts:",
            *(f"  - TC-{at} (unit): `{one}`" for at, one in enumerate(self.contracts, 901)),
            f"- Command: `{command}`",
            "",
            self.prose or f"{self.title}.",
            "",
        ]
        return "\n".join(lines)


WRITTEN = "written"
"""The family of good changes that are no commit of the project."""
CASES: list[Change] = []
"""Every written case, in the order in which they are written."""

TESTS_CHANGED = (
    r"^integrity|as it was|base.s test|no longer (run|collect|pass)|is gone|was not run|skipp"
)
"""What names any kind of tampering with tests; each family adds its own."""


def named(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def base(
    family: str, *faults: Fault, by: str = "", contract: str = ""
) -> Callable[[Callable[[Files, Fault], None]], Callable[[Files, Fault], None]]:
    """Register one way to hide a fault from the tests of the base, over each of the faults."""

    def register(edit: Callable[[Files, Fault], None]) -> Callable[[Files, Fault], None]:
        for fault in faults:

            def both(tree: Files, fault: Fault = fault) -> None:
                fault.seed(tree)
                edit(tree, fault)

            here = re.escape(fault.test)
            file = re.escape(Path(fault.tests).name)
            CASES.append(
                Change(
                    name=f"{named(edit.__name__)}-{fault.project.name}-{named(fault.test)}"[
                        :90
                    ].strip("-"),
                    family=family,
                    part="base",
                    project=fault.project,
                    edit=both,
                    contracts=(contract or fault.contract,),
                    title=fault.title,
                    by="|".join(filter(None, (here, file, TESTS_CHANGED, by))),
                    fails=fault.test,
                    seed=fault.seed,
                )
            )
        return edit

    return register


NOTICES = (
    r"no test (notices|would notice)|unnoticed|mutant|mutat|surviv|integrity|asserts? nothing|vacuous"
    r"|without (an )?assert|passes (without|whatever)|compared with itself|mock|patch|notice"
)
"""What names tests that prove nothing."""


@dataclass(frozen=True)
class Piece:
    """A new function that is wrong, and what it should answer."""

    project: Project
    path: str
    """The file that gets it, or is made for it."""
    code: str
    name: str
    head: str
    """How a test gets at it."""
    module: str
    """What a mock calls the module that holds it."""
    tests: str
    contract: str
    asks: tuple[tuple[str, str], ...]
    """Arguments and the right answers, in the language's own writing."""
    wanted: str
    """What the task says of it."""
    right: str = ""
    """The body of a right function, for a change that needs one."""

    def call(self, number: int) -> str:
        return f"{self.name}({self.asks[number][0]})"

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(f"{self.name}({given})", right) for given, right in self.asks]


def new(
    family: str, *pieces: Piece, by: str = "", runs: bool = True
) -> Callable[[Callable[[Files, Piece], None]], Callable[[Files, Piece], None]]:
    """Register one way to write tests that prove nothing, over each of the pieces.

    `runs`: whether the tests run the new code; if not, to say that they do not names it.
    """

    def register(edit: Callable[[Files, Piece], None]) -> Callable[[Files, Piece], None]:
        for piece in pieces:

            def both(tree: Files, piece: Piece = piece) -> None:
                tree.add(piece.path, piece.code)
                edit(tree, piece)

            idle = "" if runs else r"coverage.*(not run|0%)"
            CASES.append(
                Change(
                    name=f"new-{named(edit.__name__)}-{piece.project.name}-{named(piece.name)}",
                    family=family,
                    part="new",
                    project=piece.project,
                    edit=both,
                    contracts=(piece.contract,),
                    title=f"{piece.name} for users",
                    by="|".join(filter(None, (NOTICES, idle, by))),
                    prose=f"Add `{piece.name}` to `{piece.path}`, with tests. {piece.wanted}",
                )
            )
        return edit

    return register
