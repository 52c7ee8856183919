"""Match gitignore(5) patterns from any source; invalid ones match nothing, as in git.

The one door to pathspec. It matches by RE2, so in time linear in rules and path.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pathspec
    import re2
else:
    pathspec = lazy_module("pathspec")
    re2 = lazy_module("re2")

# `[[a]` has git's meaning; Python warns of a syntax that `re` may add in the future.
warnings.filterwarnings("ignore", category=FutureWarning, module=r"pathspec\.")

LONGEST = 4096
MOST_WILDCARDS = 16
"""Maximum runs of `*`, `?` and `[` in one rule."""
_WILDCARD = regex(r"\*+|[?\[]")


def ignore_rules(lines: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tests if these rules match a file."""
    good = [line for line in lines if is_rule(line)]
    if not good:
        return _nothing
    spec = pathspec.GitIgnoreSpec.from_lines(good)

    def matches(path: str) -> bool:
        try:
            return bool(spec.match_file(path))
        except UnicodeEncodeError:  # RE2 reads UTF-8, which a name need not be
            return bool(spec.match_file(path.encode("utf-8", "replace").decode()))

    return matches


def wildcards(rule: str) -> int:
    """Count the wildcards of a rule; `**` is one."""
    return len(_WILDCARD.findall(rule))


@lru_cache(maxsize=4096)
def is_rule(line: str) -> bool:
    """Return whether a line is a valid ignore rule of acceptable length."""
    if len(line) > LONGEST:
        return False
    try:
        pathspec.GitIgnoreSpec.from_lines([line]).match_file("a")
    except (ValueError, re.error, re2.error):  # pathspec's own is a ValueError
        return False
    return True


def _nothing(_path: str) -> bool:
    return False
