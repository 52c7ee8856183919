"""Scan one Python source with bandit in this process, bounded, ignoring `nosec`.

The one door to bandit; import nothing of it elsewhere. It is driven below its own manager,
which would count tokens for `nosec` and swallow our deadline.

On an older Python, string literals nested in f-strings (PEP 701) are replaced by empty tuples of
the same length: lines and columns stay.
"""

from __future__ import annotations

import ast
import io
import logging
import re
import sys
import threading
import time
import warnings
from configparser import ConfigParser
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from runner.lazy_module import lazy_module, name_package, put_off
from runner.model import digest_of
from runner.secrets.redact import redact
from runner.text.python_syntax import one_at_a_time
from runner.writes.parsers import compile_quietly, is_tangled, no_warnings
from runner.writes.sast_report import SastFinding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandit.core import config, meta_ast, metrics, node_visitor, test_set, utils

    from runner.model import Digest
else:
    config = lazy_module("bandit.core.config")
    meta_ast = lazy_module("bandit.core.meta_ast")
    metrics = lazy_module("bandit.core.metrics")
    node_visitor = lazy_module("bandit.core.node_visitor")
    test_set = lazy_module("bandit.core.test_set")
    utils = lazy_module("bandit.core.utils")

LARGEST = 512 << 10
_BYTES_A_TURN = 16 << 10
_PASSWORD_RULES = frozenset(("B105", "B106", "B107"))
_IMPORTING = threading.Lock()


class Unscanned(Exception):  # noqa: N818 - the word for what happened
    """A source that bandit could not or may not read; the message says why."""


def scan(content: bytes, path: str, *, seconds: float) -> tuple[SastFinding, ...]:
    """Run bandit on Python source. Raises Unscanned if it is too large or invalid.

    `seconds` bounds the walk over the tree, as `longest` says; parsing is bounded by size and
    `parse_limits`.
    """
    if len(content) > LARGEST:
        raise Unscanned(f"it is larger than {LARGEST >> 10} kB")
    if is_tangled(content):
        raise Unscanned("it is too complex to parse")
    try:
        return _findings(content, path, time.thread_time() + longest(content, seconds))
    except Unscanned:
        raise
    except (SyntaxError, ValueError) as error:
        raise Unscanned("it is not valid Python") from error
    except (RecursionError, MemoryError) as error:
        raise Unscanned("it is nested too deeply") from error
    except Exception as error:  # a foreign scanner's border: any failure is a note
        raise Unscanned(f"bandit failed ({type(error).__name__})") from error


def longest(content: bytes, seconds: float) -> float:
    """Return the processor seconds for one walk, which grow with the source's size.

    Ordinary code takes a third of it. A machine that is busy with something else changes nothing.
    """
    return seconds * (1 + len(content) / _BYTES_A_TURN)


def _findings(content: bytes, path: str, deadline: float) -> tuple[SastFinding, ...]:
    visitor = _visitor(content, path, deadline)
    # A prepared syntax tree passes through the `ast.parse` in there unchanged.
    with one_at_a_time():
        tree = _tree(content, path)
    visitor.process(tree)
    digest = digest_of(content)
    return tuple(_finding(one, path, digest) for one in visitor.tester.results)


def _tree(content: bytes, path: str) -> ast.Module:
    """Parse Python source, including syntax of newer versions (PEP 701)."""
    try:
        tree = compile_quietly(content, path, ast.PyCF_ONLY_AST)
    except SyntaxError:
        older = readable(content.decode()).encode()
        tree = compile_quietly(older, path, ast.PyCF_ONLY_AST)
    if not isinstance(tree, ast.Module):  # what `compile` returns for these flags
        raise TypeError(path)
    return tree


def _finding(found: Any, path: str, digest: Digest) -> SastFinding:
    rule = str(found.test_id)
    message = str(found.text)
    if rule in _PASSWORD_RULES:  # it quotes the password
        message = message.split(":", maxsplit=1)[0]
    return SastFinding(
        path=path,
        line=int(found.lineno or 0),
        column=int(found.col_offset or 0) + 1,
        rule=rule,
        severity=_rank(found.severity),
        confidence=_rank(found.confidence),
        message=redact(" ".join(message.split())),
        tool="bandit",
        digest=digest,
    )


def _rank(name: object) -> str:
    rank = str(name).lower()
    return rank if rank in {"low", "medium", "high"} else "low"


def _visitor(content: bytes, path: str, deadline: float) -> Any:
    visitor_class, tests = _bandit()

    counted = metrics.Metrics()
    counted.begin(path)
    visitor = visitor_class(
        path,
        io.BytesIO(content),
        meta_ast.BanditMetaAst(),
        tests,
        False,  # noqa: FBT003 - debug, in the order bandit has it
        {},
        counted,
    )
    visitor.deadline = deadline
    # Without `nosec` support, searching for it on every line of every node is useless.
    visitor.tester._get_nosecs_from_contexts = lambda *_, **__: None  # noqa: SLF001 - its only way
    return visitor


def _bandit() -> tuple[Any, Any]:
    """Return bandit's visitor and tests, loaded once."""
    with _IMPORTING:
        return _load_bandit()


@cache
def _load_bandit() -> tuple[Any, Any]:
    logging.getLogger("bandit").addHandler(logging.NullHandler())
    logging.getLogger("bandit").propagate = False
    format_before = warnings.formatwarning
    try:
        name_package("bandit", "core.constants", "core.issue", "core.test_properties")
        # Imports for its own settings and reports, which nothing here reads or shows.
        with no_warnings(), put_off("rich.progress", "yaml"), _without_plugins():
            return _make_bounded_visitor(), test_set.BanditTestSet(config.BanditConfig())
    finally:
        warnings.formatwarning = format_before  # bandit replaces it for the whole process


@contextmanager
def _without_plugins() -> Iterator[None]:
    """Hide plug-ins of other packages from bandit, so that only its own rules run.

    stevedore reads the entry points of every package; a rule of another one would run in this
    process unasked, and where we are installed beside a project, so could the project's own.
    """
    stand_in = ModuleType("stevedore")
    vars(stand_in)["extension"] = SimpleNamespace(ExtensionManager=_Extensions)
    true = sys.modules.get("stevedore")
    sys.modules["stevedore"] = stand_in
    try:
        yield
    finally:
        if true is None:
            del sys.modules["stevedore"]
        else:
            sys.modules["stevedore"] = true


class _Extensions(list[SimpleNamespace]):
    """In the place of stevedore's manager: what bandit registers of one kind; no report formats."""

    def __init__(self, namespace: str, **_asked: object) -> None:
        super().__init__()
        if namespace != "bandit.formatters":
            self.extend(
                SimpleNamespace(name=name, plugin=getattr(import_module(module), function))
                for name, module, function in _registered(namespace)
            )

    def names(self) -> list[str]:
        """Return the names as stevedore's manager does."""
        return [one.name for one in self]


def _registered(namespace: str) -> Iterator[tuple[str, str, str]]:
    """Name, module and function of each extension that bandit's own distribution registers."""
    found = find_spec("bandit")
    if found is None or found.origin is None:
        raise ImportError("bandit")
    texts = list(Path(found.origin).parents[1].glob("bandit-*.dist-info/entry_points.txt"))
    if len(texts) == 1:  # without `importlib.metadata`: it loads what reads mail and archives
        parser = ConfigParser(delimiters="=", interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign] # as it documents
        parser.read_string(texts[0].read_text())
        rows = dict(parser[namespace])
    else:
        points = import_module("importlib.metadata").distribution("bandit").entry_points
        rows = {one.name: one.value for one in points if one.group == namespace}
    for name, value in rows.items():
        module, _, function = value.partition(":")
        yield name, module.strip(), function.strip()


def _make_bounded_visitor() -> Any:
    class BoundedVisitor(node_visitor.BanditNodeVisitor):  # type: ignore[misc] # bandit has no types
        """bandit's visitor with a deadline, and linear in the strings of one literal."""

        deadline = float("inf")
        parent: object = None
        parent_lines: list[int]

        def pre_visit(self, node: ast.AST) -> bool:
            if time.thread_time() > self.deadline:
                raise Unscanned("it took too long")
            return bool(super().pre_visit(node))

        def visit(self, node: ast.AST) -> None:
            # Most kinds of node have no test; looking them up is half of bandit's time.
            kind = type(node).__name__
            if hasattr(self, f"visit_{kind}") or self.testset.get_tests(kind):
                super().visit(node)

        def update_scores(self, scores: object) -> None:
            """Keep no score: only the findings are read."""

        def visit_Str(self, node: ast.Constant) -> None:  # noqa: N802 - bandit's name
            _visit_literal(self, "str", "Str", node)

        def visit_Bytes(self, node: ast.Constant) -> None:  # noqa: N802 - bandit's name
            _visit_literal(self, "bytes", "Bytes", node)

    return BoundedVisitor


def _visit_literal(visitor: Any, kind: str, tests: str, node: Any) -> None:
    """Visit a literal as bandit does, but list its parent's lines once, not once for each.

    A dict of 4,000 strings took 4 s.
    """
    visitor.context[kind] = node.value
    parent = node._bandit_parent  # noqa: SLF001 - how bandit's visitors find it
    if isinstance(parent, ast.Expr):  # a docstring
        return
    if parent is not visitor.parent:
        visitor.parent, visitor.parent_lines = parent, utils.linerange(parent)
    visitor.context["linerange"] = visitor.parent_lines
    visitor.tester.run_tests(visitor.context, tests)


_STRING = re.compile(r"(?i)(?<![\w])(rf|fr|f|rb|br|b|u|r)?('''|\"\"\"|'|\")")


def readable(source: str) -> str:
    """Return the source without f-string syntax that older parsers reject, in linear time."""
    parts: list[str] = []
    at = 0
    while match := _next(source, at):
        start, body = match.start(), match.end()
        parts.append(source[at:body])
        quote = match[2]
        if source[start] == "#":
            at = body
            continue
        is_format = "f" in (match[1] or "").lower()
        text, at = _literal(source, body, quote, is_format=is_format)
        parts.append(text)
    parts.append(source[at:])
    return "".join(parts)


_TOKEN = re.compile(r"#[^\n]*|" + _STRING.pattern.replace("(?i)", ""), re.IGNORECASE)


def _next(source: str, at: int) -> re.Match[str] | None:
    return _TOKEN.search(source, at)


def _literal(source: str, at: int, quote: str, *, is_format: bool) -> tuple[str, int]:
    """Return the rest of a string literal from `at`, and its end."""
    parts: list[str] = []
    while at < len(source):
        if source.startswith(quote, at):
            return "".join(parts) + quote, at + len(quote)
        letter = source[at]
        if letter == "\\" or source[at : at + 2] in ("{{", "}}"):
            parts.append(source[at : at + 2])
            at += 2
        elif is_format and letter == "{":
            text, at = _field(source, at + 1)
            parts.append("{" + text)
        elif letter == "\n" and len(quote) == 1:
            return "".join(parts), at  # unfinished: the parser says so
        else:
            parts.append(letter)
            at += 1
    return "".join(parts), at


def _field(source: str, at: int) -> tuple[str, int]:
    """Return a replacement field with inner literals turned into tuples, and its end."""
    parts: list[str] = []
    depth = 0
    while at < len(source):
        match = _STRING.match(source, at)
        if match:
            is_format = "f" in (match[1] or "").lower()
            _, end = _literal(source, match.end(), match[2], is_format=is_format)
            parts.append("(" + " " * (end - at - 2) + ")")
            at = end
            continue
        letter = source[at]
        depth += letter in "([{"
        depth -= letter in ")]}"
        parts.append(letter)
        at += 1
        if depth < 0 or letter == "\n":
            break
    return "".join(parts), at
