"""Examples in a plan's own words: numbers of numbers, and a status. Purely.

`2 of 3 are 67` and `returns 404 for a user that is not there` say what must come out as a call in
code does. No one can run them; that a test has the answer can be looked for.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.text.literals import Source

_NUMBER = r"\d+(?:\.\d+)?"
_OF_NUMBERS = regex(
    rf"(?<![\w.])`?{_NUMBER}`?%?\s+(?:out\s+of|of|plus|minus|times|over)\s+`?{_NUMBER}`?%?\s+"
    rf"(?:is|are|gives?|makes?|becomes?|rounds?\s+to)\s+`?(?P<wanted>{_NUMBER})`?(?![\w.]*\d)"
)
_ANSWER = regex(
    r"\b(?:returns?|gives?|answers?|responds?|status(?:\s+code)?)\s+(?:with\s+)?(?:an?\s+|the\s+)?"
    r"(?:HTTP\s+|status\s+|code\s+)*`?(?P<wanted>\d{3,}(?:\.\d+)?)`?\s+(?:for|if|when|where|on)\b"
)
_NOT = regex(
    r"\b(?:not|never|no longer|instead of|rather than|unlike|about|roughly|around|nearly|today"
    r"|current(?:ly)?|used to|bug|wrong(?:ly)?|before|e\.g|times|seconds?|ms)\b",
    re.IGNORECASE,
)
"""Words of a sentence that is no example, or one of how things are today."""
_SENTENCE = regex(r"(?<=[.;!?])\s+|\n\s*\n|\n\s*[-*|]")
_END = 30
"""Letters behind an example that are shown."""


class PlainExample(NamedTuple):
    """What must come out, in the words of the plan."""

    shown: str
    wanted: str


def plain_examples(text: str) -> Iterator[PlainExample]:
    """Each example of a text whose answer is a number."""
    for part in _SENTENCE.split(text):
        sentence = " ".join(part.split())
        if _NOT.search(sentence):
            continue
        for match in _OF_NUMBERS.finditer(sentence):
            yield PlainExample(match[0].replace("`", ""), match["wanted"])
        for match in _ANSWER.finditer(sentence):
            behind = sentence[match.end() : match.end() + _END].rpartition(" ")[0]
            yield PlainExample(f"{match[0]}{behind}".replace("`", ""), match["wanted"])


def is_in(example: PlainExample, tests: Sequence[Source]) -> bool:
    """Whether a test has the answer: as a number, in a text, or as the name of a status."""
    number = re.compile(rf"(?<![\d.]){re.escape(example.wanted)}(?:\.0+)?(?![\d.]*\d)")
    names = _status_names(example.wanted)
    for test in tests:
        if any(number.search(one.said) for one in test.tokens if one.kind in ("number", "text")):
            return True
        if any(_plain(one.said).endswith(names) for one in test.tokens if names):
            return True
    return False


def _status_names(wanted: str) -> tuple[str, ...]:
    try:
        return (_plain(HTTPStatus(int(wanted)).phrase),)
    except ValueError:
        return ()


def _plain(word: str) -> str:
    return re.sub(r"[\W_]+", "", word).lower()
