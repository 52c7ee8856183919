"""The nodes of a shell line, and the walks over them.

Shell Command Language of POSIX.1-2017: redirections and comments are no nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Word:
    """One word as it stands, without its quotes, and the commands that are substituted in it."""

    text: str
    value: str
    scripts: tuple[Script, ...] = ()
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    """A command with its assignments; redirections belong to its text alone."""

    assignments: tuple[Word, ...]
    words: tuple[Word, ...]
    start: int
    end: int
    text: str

    @property
    def values(self) -> tuple[str, ...]:
        """Its words without quotes."""
        return tuple(word.value for word in self.words)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; a `!` before them turns what they say around."""

    parts: tuple[Node, ...]
    negated: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines joined by `&&` and `||`; the first has no operator."""

    parts: tuple[tuple[str, Pipeline], ...]
    ended: str = ""
    """What stands behind it: `;`, `&`, a line's end, or nothing."""


@dataclass(frozen=True, slots=True)
class Script:
    """Lists one after another."""

    items: tuple[AndOr, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`( … )` or `{ …; }`."""

    body: Script
    subshell: bool


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with what follows them, and the rest."""

    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script | None


@dataclass(frozen=True, slots=True)
class Loop:
    """`while`, `until` or `for`, which has a variable instead of a condition."""

    word: str
    condition: Script | None
    body: Script
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """The bodies of a `case`, of which one or none runs."""

    bodies: tuple[Script, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is defined, not yet run."""

    name: str
    body: Node


Node: TypeAlias = "Simple | Group | If | Loop | Case | Function"


def simples(node: Script | Node) -> Iterator[Simple]:
    """Every simple command in the order of the text; those of substitutions come before it."""
    return (one for one in everything_in(node) if isinstance(one, Simple))


def pipelines(node: Script | Node) -> Iterator[Pipeline]:
    """Every pipeline, the outer before the inner."""
    for one in everything_in(node):
        if isinstance(one, Script):
            yield from (pipeline for item in one.items for _, pipeline in item.parts)


def everything_in(node: Script | Node) -> Iterator[Script | Node]:
    """A node and all below it; a command stands behind what is substituted in it."""
    if not isinstance(node, Simple):
        yield node
    for one in _below(node):
        yield from everything_in(one)
    if isinstance(node, Simple):
        yield node


def _below(node: Script | Node) -> tuple[Script | Node, ...]:
    match node:
        case Script():
            every = (pipeline for item in node.items for _, pipeline in item.parts)
            return tuple(part for pipeline in every for part in pipeline.parts)
        case Simple():
            return tuple(one for word in (*node.assignments, *node.words) for one in word.scripts)
        case Group() | Function():
            return (node.body,)
        case If():
            rest = (node.otherwise,) if node.otherwise else ()
            return (*(one for pair in node.branches for one in pair), *rest)
        case Loop():
            return (node.condition, node.body) if node.condition else (node.body,)
        case Case():
            return node.bodies
