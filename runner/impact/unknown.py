"""Changed files of which nobody here can say whom they reach."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.impact.change import Changed

_UNREAD_CODE = re.compile(
    r"\.(?:c|cc|cpp|cxx|h|hh|hpp|cs|java|kt|kts|scala|swift|m|mm|rb|php|pl|pm|lua|r|jl|ex|exs|erl"
    r"|hs|ml|clj|dart|zig|nim|sh|bash|zsh|fish|ps1|bat|cmake|proto|pyx|pxd|ipynb)\Z"
)


def is_unread_code(path: str) -> bool:
    """Whether a file is code in a language of which the imports are not read here."""
    return bool(_UNREAD_CODE.search(path))


def explain_undeclared(change: Changed) -> str:
    """Why it is in doubt whom a change reaches."""
    if is_unread_code(change.path):
        return f"nobody can see here what {change.path} is used by, and no task has it in Inputs"
    if change.is_deleted:
        return f"{change.path} is gone, and nothing that names it is known"
    return f"no task declares {change.path}, and no code names it"
