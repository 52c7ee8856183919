"""Format affected tasks as lines for people, and as GitHub annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.report.annotations import format_command
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.impact.answer import Affected, Impacted

_SHOWN = 5
"""Reasons of one task shown on a terminal."""


def format_affected(one: Affected) -> Iterator[str]:
    """Yield a task with its test contracts, followed by its reasons."""
    single = dict(one.tests)
    names = [_with_tests(name, single.get(name, ())) for name in one.contracts]
    yield f"{display(one.task)}  {display(', '.join(names) or 'no test contract')}"
    for why in one.reasons[:_SHOWN]:
        yield f"  {why.kind:<9}  {display(why.place)}  {display(why.text)}"
    if len(one.reasons) > _SHOWN:
        yield f"  and {len(one.reasons) - _SHOWN} more reasons (--json shows them)"


def _with_tests(name: str, tests: tuple[str, ...]) -> str:
    return f"{name} ({plural(len(tests), 'test')})" if tests else name


def workflow_commands(answer: Impacted) -> Iterator[str]:
    """Yield a workflow command for each reason and doubt at its changed line."""
    for one in answer.affected:
        names = ", ".join(one.contracts)
        for why in one.reasons:
            title = f"{one.task} may be affected" + (f" ({names})" if names else "")
            yield format_command("notice", why.text, title, why.path, why.line)
    for doubt in answer.doubts:
        yield format_command("warning", doubt.text, "not decided", doubt.path, doubt.line)
