"""Functions that a task wrote and that no test was seen to run: a mock may stand in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.mutation.languages import mutants_of
from runner.gates.mutation.mutants import is_left_out
from runner.gates.mutation.written_again import functions_in
from runner.languages.registry import code_language
from runner.model import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.gates.base import GateContext

_MOST_NAMED = 5


def tell_unrun(
    check: str, bench: GateContext, path: str, own: frozenset[int], ran: frozenset[int]
) -> Iterator[Finding]:
    """Functions of the task that no test was seen to run: a mock may stand in their place."""
    content = bench.after(path)
    if content is None or is_left_out(path, content):
        return
    lines: dict[str, set[int]] = {}
    for mutant in mutants_of(path, content, own, own):
        lines.setdefault(mutant.function, set()).add(mutant.line)
    idle = {name: min(of) for name, of in lines.items() if not of & ran}
    idle = {name: line for name, line in idle.items() if _is_own(line, path, content, own)}
    if lines and not any(_is_alike(row.path, path) for row in bench.observed):
        idle = {}  # nobody measured this language here: nothing was seen, and nothing is told of it
        yield Finding(
            check=check,
            message=f"what tests run of {path} was not measured: what they notice is not known",
            path=path,
            severity=Severity.QUESTION,
            hint="have the measuring of lines end in time: its log says why it did not",
        )
    if idle:
        yield Finding(
            check=check,
            message=f"no test was seen to run {some_of(list(idle))}: whether one notices what "
            f"{'it does' if len(idle) == 1 else 'they do'} is not known",
            path=path,
            line=min(idle.values()),
            severity=Severity.QUESTION,
            hint="have a test run the code itself, with nothing in its place",
        )


def _is_alike(path: str, other: str) -> bool:
    """Whether two files are measured by the same means: of one language, whatever they end with."""
    language = code_language(path)
    return language is not None and language is code_language(other)


def _is_own(line: int, path: str, content: bytes, own: frozenset[int]) -> bool:
    """Whether the task wrote most of the function around a line; else it stood there untested."""
    spans = [range(one.line, one.last + 1) for one in functions_in(path, content)]
    around = min((one for one in spans if line in one), key=len, default=range(0))
    return 2 * len(own & frozenset(around)) >= len(around)


def some_of(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else shown
