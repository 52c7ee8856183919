"""Compile regular expressions when they are first used.

A start loads hundreds of modules that know hundreds of patterns, and looks for few of them:
compiling all of them was a seventh of a short run's own time. `regex` says the pattern at the top
of a file as `re.compile` does, and to type checkers it is `re.compile` itself. What is no pattern
fails only at the first use, so a test compiles every one that the package has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as regex
else:

    def regex(expression: str | bytes, flags: int = 0) -> LazyPattern:
        """Return a pattern that is compiled on first use."""
        return LazyPattern(expression, flags)


__all__ = ["LazyPattern", "regex"]


class LazyPattern:
    """Stands for a pattern that may not be compiled yet; give it to no function of `re`."""

    def __init__(self, expression: str | bytes, flags: int) -> None:
        self.pattern = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes that the instance lacks: later lookups are normal. Two threads
        # may both compile it and store the same methods.
        if name.startswith("__"):  # `copy` and `pickle` ask for what a pattern does not have
            raise AttributeError(name)
        true: Any = re.compile(self.pattern, self._flags)
        for each in dir(true):
            if not each.startswith("__"):
                self.__dict__[each] = getattr(true, each)
        return getattr(true, name)

    def __reduce__(self) -> tuple[object, ...]:
        return LazyPattern, (self.pattern, self._flags)

    def __repr__(self) -> str:
        return f"<lazy pattern {self.pattern!r}>"
