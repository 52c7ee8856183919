"""The nodes of a shell line, and the walks over them.

Shell Command Language of POSIX.1-2017: comments are no nodes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
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


class HereDocument:
    """What a command reads in place of a file; its text is known once its line has ended."""

    __slots__ = ("expands", "read", "scripts", "text")

    def __init__(self, text: str = "", *, expands: bool = True) -> None:
        self.text = text
        self.expands = expands
        """Whether the shell puts in what is substituted, as it does where no part of the word
        that ends it is quoted."""
        self.scripts: tuple[Script, ...] = ()
        self.read = text
        """What a command gets of it: where something is substituted, nobody knows what."""


@dataclass(frozen=True, slots=True)
class Simple:
    """A command with its assignments; of redirections what is substituted in them is kept."""

    assignments: tuple[Word, ...]
    words: tuple[Word, ...]
    start: int
    end: int
    text: str
    redirected: tuple[Word, ...] = ()
    """Where redirections lead to, as far as something is substituted there."""
    documents: tuple[HereDocument, ...] = ()

    @property
    def substituted(self) -> tuple[Script, ...]:
        """What runs before the command itself does."""
        words = (*self.assignments, *self.words, *self.redirected)
        read = (one for document in self.documents for one in document.scripts)
        return (*(one for word in words for one in word.scripts), *read)

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
    words: tuple[Word, ...] = ()
    """What a `for` goes through."""

    @property
    def substituted(self) -> tuple[Script, ...]:
        """What runs before the loop begins."""
        return tuple(one for word in self.words for one in word.scripts)


@dataclass(frozen=True, slots=True)
class Case:
    """The bodies of a `case`, of which one or none runs."""

    bodies: tuple[Script, ...]
    subject: Word | None = None
    patterns: tuple[tuple[str, ...], ...] = ()
    """Of each body those that lead to it."""

    @property
    def substituted(self) -> tuple[Script, ...]:
        """What runs before a body is chosen."""
        return self.subject.scripts if self.subject else ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is defined, not yet run."""

    name: str
    body: Node


Node: TypeAlias = "Simple | Group | If | Loop | Case | Function"


def split_redirections(
    led: list[Word | HereDocument],
) -> tuple[tuple[Word, ...], tuple[HereDocument, ...]]:
    """Of where redirections lead to what is substituted, and here documents."""
    words = tuple(one for one in led if isinstance(one, Word) and one.scripts)
    return words, tuple(one for one in led if isinstance(one, HereDocument))


_PRINTS = frozenset({"echo", "printf"})


def feed(parts: list[Node]) -> tuple[Node, ...]:
    """The commands of a pipe, each with what the one before it is known to print.

    `echo 'make test' | sh` is `sh` with a here document.
    """
    found = parts[:1]
    for before, part in pairwise(parts):
        printed = _printed(before) if isinstance(before, Simple) else ()
        if printed and isinstance(part, Simple) and not part.documents:
            found.append(replace(part, documents=printed))
        else:
            found.append(part)
    return tuple(found)


def _printed(command: Simple) -> tuple[HereDocument, ...]:
    name, *words = command.values or ("",)
    if name == "cat" and not [one for one in words if one != "-"]:
        # The text is known later: it is the same document.
        return command.documents
    if name not in _PRINTS:
        return ()
    text = " ".join(one for one in words if not one.startswith("-"))
    # As printf does, and echo of many shells (POSIX.1-2017, echo and printf).
    return (HereDocument(text.replace("\\n", "\n"), expands=False),)


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
            return node.substituted
        case Group() | Function():
            return (node.body,)
        case If():
            rest = (node.otherwise,) if node.otherwise else ()
            return (*(one for pair in node.branches for one in pair), *rest)
        case Loop():
            asked = (node.condition,) if node.condition else ()
            return (*node.substituted, *asked, node.body)
        case Case():
            return (*node.substituted, *node.bodies)
