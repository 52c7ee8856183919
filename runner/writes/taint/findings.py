"""What the walk found as findings, and what it says of bandit's: told better, or of no harm.

The walk over one module: every function from its top, branch by branch, with what is known.

It is a small interpreter over abstract values (`values`): constants are folded, containers keep
what lies under which key, branches that cannot be taken are not, a check that leaves the function
clears what it checked. Loops run twice. What it cannot follow is unknown, and never reported.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.writes.sast_report import Issue
from runner.writes.taint import calls
from runner.writes.taint.abstract_values import (
    Box,
    Report,
    Taint,
    Unknown,
    Value,
    apply_operator,
    is_exact,
    is_same,
    item_of,
    join_values,
    matches,
    truth,
)
from runner.writes.taint.expressions import Expressions, TooLong
from runner.writes.taint.request_handlers import find_imported_names, parameters, route_of, serves
from runner.writes.taint.rules import BANDIT, SAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.writes.taint.abstract_values import Place

TOOL = "taint"
_WITHOUT_SOURCE = frozenset(("weakhash", "weakrand", "securecookie"))


def rank_issues(
    tree: ast.Module, found: Sequence[Issue], tick: Callable[[], None]
) -> tuple[Issue, ...]:
    """What bandit found and what the walk found, together.

    Where both speak of one line, the walk's stands, since it says from where the value came. Where
    constants alone reach a sink, bandit's is left out; where checked values do, it is kept as low.
    """
    try:
        report = walk(tree, tick)
    except (TooLong, RecursionError):  # what was found so far would look like all
        return tuple(found)
    own = [_issue(place) for _, place in sorted(report.found.items(), key=_line)]
    return (*(kept for one in found if (kept := _keep_issue(one, report)) is not None), *own)


def _line(item: tuple[tuple[str, int], Place]) -> tuple[int, str]:
    (kind, line), _ = item
    return line, kind


def _keep_issue(issue: Issue, report: Report) -> Issue | None:
    """One of bandit's findings as it is told; None where the walk's own says it better."""
    kind = BANDIT.get(issue.rule, "")
    place = kind, issue.line
    if place in report.found:
        return None
    if place in report.checked:
        message = f"{issue.message} (what comes here was checked or disarmed)"
        return replace(issue, severity="low", confidence="low", message=message)
    return None if place in report.constant else issue


def _issue(place: Place) -> Issue:
    weakness, words, severity = SAYS[place.kind]
    return Issue(
        rule=f"{TOOL}-{place.kind}",
        line=place.line,
        column=place.column,
        severity="low" if place.weak else severity,
        confidence="medium" if place.kind in _WITHOUT_SOURCE else "high",
        message=f"{weakness}: {words} {place.source}"
        if place.kind not in _WITHOUT_SOURCE
        else f"{weakness}: {words} ({place.source})",
        tool=TOOL,
    )


# --- walk -----------------------------------------------------------------------------


_CHECKS = frozenset(
    (
        "startswith",
        "endswith",
        "match",
        "fullmatch",
        "isalnum",
        "isdigit",
        "isalpha",
        "isdecimal",
        "isidentifier",
        "is_relative_to",
    )
)
"""Methods by which a program looks whether a text is one that it allows."""


def _asks(called: ast.expr) -> bool:
    """Whether a function's name says that it looks whether a value may be used."""
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return any(word in name.lower() for word in ("allowed", "is_safe", "is_valid", "is_local"))


def walk(tree: ast.Module, tick: Callable[[], None]) -> Report:
    """Walk a module; `tick` is called often and may raise to end it."""
    report = Report()
    names = find_imported_names(tree)
    top = Walk(report, names, tick, {})
    top.block(tree.body)
    return report


class Walk(Expressions):
    """One function, or the module's own statements, from top to bottom."""

    ended = False
    """Whether what was run last leaves its block."""

    # --- statements -------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Run statements until one leaves the block."""
        for statement in body:
            if self.ended:
                return
            self.step()
            run = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if run is None:
                for part in ast.iter_child_nodes(statement):
                    if isinstance(part, ast.expr):
                        self.value(part)
            else:
                run(statement)

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        inner = Walk(self.report, self.names, self.tick, self.values, route=route_of(node, self))
        inner.names = {**self.names, **find_imported_names(node)}
        arguments = node.args
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            inner.values[one.arg] = Unknown()
            inner.names.pop(one.arg, None)
            if one.arg == "request" and serves(self.names):
                inner.names["request"] = "django.request"
                inner.values.pop("request")
        for name, value in parameters(node, inner):
            inner.values[name] = value
        try:
            inner.block(node.body)
        except TooLong:
            return

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef) -> None:
        self.block([one for one in node.body if not isinstance(one, ast.Return)])

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            value = self.value(node.value)
            if self.route is not None:
                calls.show(self, node, value)
        self.ended = True

    def _raise(self, node: ast.Raise) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self.value(part)
        self.ended = True

    def _continue(self, _node: ast.Continue) -> None:
        self.ended = True

    _break = _continue

    def _assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        old = self.value(node.target) if isinstance(node.target, ast.Name) else Unknown()
        new = self.value(node.value)
        if isinstance(old, Box) and isinstance(new, Box):
            old.rest = join_values([old.rest, new.any()])
            old.exact = False
            return
        self.bind(node.target, apply_operator(node.op, old, new))

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.values.pop(target.id, None)

    def _if(self, node: ast.If) -> None:
        test = self.value(node.test)
        if is_exact(test):
            self.block(node.body if truth(test) else node.orelse)
            return
        origins = self._find_checked(node.test)
        self._branches([node.body, node.orelse], origins)

    def _branches(self, bodies: Sequence[Sequence[ast.stmt]], origins: set[int]) -> None:
        """Run each on what is known now, then know what all have in common.

        Where one of them leaves the function, what its test looked at was checked for the rest.
        """
        before, ends = self._copy_state(), []
        for body in bodies:
            self._restore(before)
            # the branch of a check that allows is itself behind the check
            self.checked = (
                self.checked | origins
                if len(bodies) > 1 and body is bodies[0]
                else set(self.checked)
            )
            self.block(body)
            ends.append((self._copy_state(), self.ended))
        staying = [kept for kept, ended in ends if not ended]
        leaves = any(ended for _, ended in ends)
        self.ended = not staying
        if staying:
            self._merge(staying)
            self.checked = set(before[1]) | (origins if leaves else set())
            self.checked |= origins & self._replaced(before[0], staying)

    def _replaced(
        self, before: dict[str, Value], staying: Sequence[tuple[dict[str, Value], set[int]]]
    ) -> set[int]:
        """Origins of names that a branch has given something harmless instead."""
        return {
            value.origin
            for name, value in before.items()
            for values, _ in staying
            if isinstance(value, Taint) and not isinstance(values.get(name), Taint | Box)
        }

    def _find_checked(self, test: ast.expr) -> set[int]:
        """Origins of what a test compares, looks into, or asks about its beginning."""
        found: set[int] = set()
        for part in ast.walk(test):
            if isinstance(part, ast.Compare) and not any(
                isinstance(one, ast.Is | ast.IsNot) for one in part.ops
            ):
                sides = [part.left, *part.comparators]
            elif isinstance(part, ast.Call):
                called = part.func
                if isinstance(called, ast.Attribute) and called.attr in _CHECKS:
                    sides = [called.value, *part.args]
                elif _asks(called):
                    sides = part.args
                else:
                    continue
            else:
                continue
            found |= {origin for side in sides for origin in self._origins_in(side)}
        return found

    def _origins_in(self, node: ast.expr) -> set[int]:
        found = set()
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                value = self.values.get(part.id)
                value = value.any() if isinstance(value, Box) else value
                if isinstance(value, Taint):
                    found.add(value.origin)
        return found

    def _copy_state(self) -> tuple[dict[str, Value], set[int]]:
        copied = {
            name: value.copy() if isinstance(value, Box) else value
            for name, value in self.values.items()
        }
        return copied, set(self.checked)

    def _restore(self, kept: tuple[dict[str, Value], set[int]]) -> None:
        self.values = {
            name: value.copy() if isinstance(value, Box) else value
            for name, value in kept[0].items()
        }
        self.checked = set(kept[1])
        self.ended = False

    def _merge(self, ends: Sequence[tuple[dict[str, Value], set[int]]]) -> None:
        if len(ends) == 1:
            self.values = ends[0][0]
            return
        names = {name for values, _ in ends for name in values}
        merged: dict[str, Value] = {}
        for name in names:
            all_of = [values[name] for values, _ in ends if name in values]
            same = all(is_same(one, all_of[0]) for one in all_of)
            merged[name] = all_of[0] if same else join_values(all_of)
        self.values = merged

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        over = self.value(node.iter)
        item = item_of(over)
        for _ in range(2):
            before = self._copy_state()
            self.bind(node.target, item)
            self.block(node.body)
            after = self._copy_state()
            self.ended = False
            self._merge([before, after])
        self.block(node.orelse)

    _asyncfor = _for

    def _while(self, node: ast.While) -> None:
        for _ in range(2):
            test = self.value(node.test)
            if is_exact(test) and not truth(test):
                break
            before = self._copy_state()
            self.block(node.body)
            after = self._copy_state()
            self.ended = False
            self._merge([before, after])

    def _try(self, node: ast.Try) -> None:
        before = self._copy_state()
        self.block(node.body)
        if not self.ended:
            self.block(node.orelse)
        ends = [(self._copy_state(), self.ended)]
        for handler in node.handlers:
            self._restore(before)
            self._merge([before, ends[0][0]])
            if handler.name:
                self.values[handler.name] = Unknown()
            self.block(handler.body)
            ends.append((self._copy_state(), self.ended))
        staying = [kept for kept, ended in ends if not ended]
        self.ended = False
        if staying:
            self._merge(staying)
            self.checked = staying[0][1]
        self.block(node.finalbody)
        self.ended = self.ended or not staying

    _trystar = _try

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.block(node.body)

    _asyncwith = _with

    def _match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        if is_exact(subject):
            for case in node.cases:
                if case.guard is None and matches(case.pattern, subject.value):  # type: ignore[union-attr]
                    self.block(case.body)
                    return
        self._branches([case.body for case in node.cases], set())
