"""Which commands of a draft somebody let run here before: those alone go on without a person.

Known is what stands in the repository's own plan, settings and manifests, word for word, and the
test programs that its analysis finds, called on plain paths.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.app.inspect.repository_analysis import analyse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.plan.document import Plan
    from runner.project import Project

_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:\[\]-]*")
"""No option, no quote, no expansion, nothing that a shell reads as more than a word."""
_HARMLESS = frozenset({"-q", "-v", "-x"})
_MODULE = "-m"


def find_unknown(project: Project, plan: Plan, draft: Plan) -> tuple[str, ...]:
    """Commands of `draft` that neither `plan` nor the repository at its commit has."""
    there = frozenset(_list_known(project, plan))
    programs = tuple(one.command.split() for one in analyse(project).test_frameworks)
    asked = (test.command for task in draft.tasks for test in task.test_contracts)
    return tuple(
        dict.fromkeys(one for one in asked if one not in there and not is_plain_test(one, programs))
    )


def _list_known(project: Project, plan: Plan) -> Iterator[str]:
    yield from (gate.command for gate in project.settings.gates)
    yield from (gate.command for gate in analyse(project).gates)
    for task in plan.tasks:
        yield from (test.command for test in task.test_contracts)
        yield from (gate.command for gate in task.gates)


def is_plain_test(command: str, programs: Sequence[Sequence[str]]) -> bool:
    """Whether a command is one of these test programs on plain paths below the repository."""
    words = command.split()
    if command != " ".join(words):
        return False
    for program in programs:
        if program and words[: len(program)] == list(program):
            rest = words[len(program) :]
            return all(one in _HARMLESS or _is_path(one) for one in rest)
    return False


def _is_path(word: str) -> bool:
    return _PATH.fullmatch(word) is not None and ".." not in word
