"""Blocks ```` ```python examples ```` of a task's section: code of the plan that its proof runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from runner.model import Task

_BLOCK = regex(
    r"^(?P<mark> {0,3}(?P<fence>`{3,}|~{3,}))[ \t]*python[ \t]+examples[ \t]*\n(?P<text>.*?)"
    r"^ {0,3}(?P=fence)",
    re.DOTALL | re.MULTILINE,
)


def find_examples(task: Task) -> str:
    """Return the text of a task's blocks of examples, one after the other; empty without one."""
    if "examples" not in task.prose:
        return ""
    return "\n".join(found["text"] for found in _BLOCK.finditer(task.prose))
