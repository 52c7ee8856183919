"""What a script asks of an exit that it kept: `[ $rc != 0 ]`, `(( failed ))`, `$ok`, `case $?`.

A word is all the texts that it may be: of an exit that is only known not to be 0, every number from
1 to 255. So nothing is said of a question that some of them would answer otherwise.
"""

from __future__ import annotations

import operator
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.plan.shell.states import Said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runner.plan.shell.shell_nodes import Word
    from runner.plan.shell.states import State

Texts = tuple[str, ...]

FLAG = regex(r"[1-9]\d{0,2}|true|yes|failed")
"""What a script keeps of a failure, to end with it later."""
_CLEARED = regex(r"0|false|no|")
"""What it keeps of it where it began with success: `ok=true; cmd || ok=false`."""
_UNLIKE_0 = "?"
"""Behind `name=` in what is told: some number that is not 0."""
_FAILURES = tuple(map(str, range(1, 256)))
_USUAL = ("1", "2", "3", "4", "5", "6", "101", "126", "127", "130", "137", "143")
_MOST = 4 * len(_FAILURES)
_REFERENCE = regex(
    r"\$\{(?P<braced>\?|[A-Za-z_]\w*)(?:\[(?P<at>\d+)\])?(?::?[-=?][^{}]*)?\}"
    r"|\$(?P<plain>\?|[A-Za-z_]\w*)|\$\(\((?P<sum>.*?)\)\)"
)
_COUNTS = regex(
    r"(?:\(\(|let\s+[\"']?)?\s*(\w+)\s*(?:\+\+|[+|]=\s*(\$?[\w?]+)"
    r"|=\s*(?:\$\(\()?\s*\$?\{?\1\}?\s*[+|]\s*(\$?[\w?]+))\s*(?:\)\))?[\"']?"
)
"""`((failed++))`, `failed=$((failed + 1))`, `rc=$((rc | $?))`: nobody counts failures from -1."""
_TOKEN = regex(
    r"\s*(?:(\d+)|\$?\{?([A-Za-z_]\w*)(?:\[(\d+)\])?\}?|\$\{?(\?)\}?"
    r"|(\|\||&&|[=!<>]=|[-+*|&<>!()?:]))"
)
_BINARY: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: bool(a or b)},
    {"&&": lambda a, b: bool(a and b)},
    {"|": operator.or_},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul},
)
"""From what binds least (C, as POSIX.1-2017, 2.6.4 Arithmetic Expansion, has it)."""
_TEXTS = {"=": operator.eq, "==": operator.eq, "!=": operator.ne}
_NUMBERS = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-gt": operator.gt,
    "-ge": operator.ge,
    "-lt": operator.lt,
    "-le": operator.le,
}
_SAID = {True: Said.OK, False: Said.FAILED, None: Said.EITHER}
_CLOSES = frozenset({"]", "]]"})
_MOST_DIGITS = 18


def judge_exit(texts: Texts | None) -> Said:
    """How a shell ends that is told to `exit` with one of these."""
    numbers = {_code(one) for one in texts or ("",)}
    if None in numbers or (0 in numbers and len(numbers) > 1):
        return Said.EITHER
    return Said.OK if 0 in numbers else Said.FAILED


def _code(text: str) -> int | None:
    """What `exit` makes of it; more digits than a shell counts in are an error, which is a 2."""
    if text.isdecimal():
        return int(text) % 256 if _is_number(text) else 2
    return None


@lru_cache(maxsize=1024)
def texts_of(word: str, state: State) -> Texts | None:
    """All that a word may be; None where nobody knows."""
    found: list[Texts] = []
    at = 0
    for match in _REFERENCE.finditer(word):
        name = match["braced"] or match["plain"]
        known = _variable(name, match["at"], state) if name else _arithmetic(match["sum"], state)
        if known is None or (match["braced"] and "" in known):
            return None
        found += [(word[at : match.start()],), known]
        at = match.end()
    rest = word[at:]
    if re.search(r"[$`]", rest) or sum(len(one) > 1 for one in found) > 1:
        return None
    return tuple("".join(one) for one in product(*found, (rest,)))


def _variable(name: str, at: str | None, state: State) -> Texts | None:
    unlike_0 = (state.code,) if state.code else _FAILURES
    if name == "?":
        known = {Said.OK: ("0",), Said.FAILED: unlike_0}
        return known.get(state.said)
    if name == "PIPESTATUS":
        return unlike_0 if (at or "0") in state.piped else None
    for one in state.told:
        if one.startswith(f"{name}="):
            value = one.partition("=")[2]
            return _FAILURES if value == _UNLIKE_0 else (value,)
    return unlike_0 if name in state.told else None


@lru_cache(maxsize=1024)
def judge_test(words: tuple[str, ...], state: State) -> Said:
    """What `test`, `[` or `[[` says of its words."""
    kept = words[:-1] if words[-1:] and words[-1] in _CLOSES else words
    return _SAID[_test(kept, state)]


def _test(words: tuple[str, ...], state: State) -> bool | None:
    for joint, decides in (("-o", True), ("-a", False)):
        if joint in words[1:-1]:
            at = words.index(joint, 1)
            both = _test(words[:at], state), _test(words[at + 1 :], state)
            if decides in both:
                return decides
            return None if None in both else not decides
    match words:
        case ["!", one, *rest]:
            found = _test((one, *rest), state)
            return None if found is None else not found
        case [one]:
            return _same([bool(text) for text in texts_of(one, state) or ()])
        case ["-n" | "-z" as way, one]:
            return _same([bool(text) is (way == "-n") for text in texts_of(one, state) or ()])
        case [left, how, right] if how in _TEXTS or how in _NUMBERS:
            return _compare(texts_of(left, state), how, texts_of(right, state))
    return None


def _compare(lefts: Texts | None, how: str, rights: Texts | None) -> bool | None:
    pairs = [*product(lefts or (), rights or ())]
    if len(pairs) > _MOST:
        return None
    if how in _TEXTS:
        # `[[ $rc = [1-9]* ]]` holds it against a pattern, `[` does not: nothing is said of either
        if any(re.search(r"[*?\[(]", one) for one in rights or ()):
            return None
        return _same([_TEXTS[how](*pair) for pair in pairs])
    if not all(_is_number(one) for pair in pairs for one in pair):
        return None
    return _same([_NUMBERS[how](int(left), int(right)) for left, right in pairs])


def _is_number(text: str) -> bool:
    """A shell counts in 64 bits, so what has more digits is none for it."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def may_fit(pattern: str, texts: Texts | None) -> bool | None:
    """Whether a pattern of `case` takes a word that is one of these; None where it may."""
    if pattern == "*":
        return True
    if re.search(r"[$`]", pattern):
        return None
    return _same([fnmatchcase(text, pattern) for text in texts or ()])


def _same(found: Sequence[bool]) -> bool | None:
    return found[0] if found and len({*found}) == 1 else None


# --- arithmetic -----------------------------------------------------------------------


@lru_cache(maxsize=1024)
def judge_arithmetic(text: str, state: State) -> Said:
    """What `(( … ))` says: a failure where it comes to 0."""
    found = _arithmetic(text.removeprefix("((").removesuffix("))"), state)
    return _SAID[_same([one != "0" for one in found or ()])]


def _arithmetic(text: str, state: State) -> Texts | None:
    tokens: list[str] = []
    known: dict[str, Texts] = {}
    at = 0
    text = text.strip()
    unknown = _stand_in(text)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        number, name, place, said, sign = match.groups()
        if name := name or said:
            tokens.append(f"${name}[{place}]")
            known[tokens[-1]] = _variable(name, place, state) or unknown
        else:
            tokens.append(number or sign)
        at = match.end()
    if len(known) > 1:  # of several the exits that programs do end with: no two come to 256
        known = {name: _USUAL if one is _FAILURES else one for name, one in known.items()}
    some = list(known.values())
    if not all(one.isdecimal() for texts in some for one in texts) or prod(map(len, some)) > _MOST:
        return None
    try:
        sums = {
            str(_value_of(tokens, dict(zip(known, one, strict=True)))) for one in product(*some)
        }
    except (IndexError, ValueError):
        return None
    return tuple(sorted(sums))


def _stand_in(text: str) -> Texts:
    """What a variable may be of which nothing is known: each side of all it is held against.

    Flags, counts and exits are meant; nothing below 0.
    """
    said = {int(one) for one in re.findall(r"\d+", text) if _is_number(one)}
    return tuple(str(one) for one in sorted({0, 1, 2, *said, *(one + 1 for one in said)}))


def _value_of(tokens: Sequence[str], values: Mapping[str, str]) -> int:
    return _Arithmetic([values.get(one, one) for one in tokens]).value()


class _Arithmetic:
    """The value of an expression of numbers. Raises IndexError or ValueError where it is none."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def value(self) -> int:
        found = self.choice()
        if self.tokens:
            raise ValueError(self.tokens[0])
        return found

    def choice(self) -> int:
        asked = self.binary(0)
        if self.tokens[:1] != ["?"]:
            return asked
        self.tokens.pop(0)
        yes = self.choice()
        if self.tokens.pop(0) != ":":
            raise ValueError("?")
        no = self.choice()
        return yes if asked else no

    def binary(self, level: int) -> int:
        if level == len(_BINARY):
            return self.unary()
        found = self.binary(level + 1)
        while self.tokens and self.tokens[0] in _BINARY[level]:
            combine = _BINARY[level][self.tokens.pop(0)]
            found = int(combine(found, self.binary(level + 1)))
        return found

    def unary(self) -> int:
        token = self.tokens.pop(0)
        if token == "!":
            return int(not self.unary())
        if token == "-":
            return -self.unary()
        if token == "(":
            found = self.choice()
            if self.tokens.pop(0) != ")":
                raise ValueError(token)
            return found
        return int(token)


# --- what is kept ---------------------------------------------------------------------


def count(text: str, state: State) -> State | None:
    """The state behind a line that counts a failure; None where it does nothing of the kind."""
    match = _COUNTS.fullmatch(text.strip())
    if match is None or not state.ran:
        return None
    if match[1] in state.told:  # one more, or none, on top of a failure
        return state
    by = next((one for one in match.groups()[1:] if one), "1")
    more = texts_of(by, state)
    if not more or judge_exit(more) is not Said.FAILED:
        return None
    return keep(match[1], _UNLIKE_0, state)


def keep(name: str, value: str, state: State) -> State:
    """The state in which a variable has a value that says something of a failure."""
    told = {one for one in state.told if one.partition("=")[0] != name}
    if value == _UNLIKE_0 or FLAG.fullmatch(value):
        told |= {name, f"{name}={value}"}
    elif _CLEARED.fullmatch(value):
        told.add(f"{name}={value}")
    return state._replace(told=frozenset(told))


def assign(words: tuple[Word, ...], state: State) -> State:
    """`rc=$?` keeps what was said; `cmd || failed=1` what a script made of it."""
    for word in words:
        name, _, value = word.value.partition("=")
        texts = None if word.scripts or not state.ran else texts_of(value, state)
        counted = count(word.value, state)
        if counted is not None:
            state = counted
        elif judge_exit(texts) is Said.FAILED and len(texts or ()) > 1:
            state = keep(name.rstrip("+"), _UNLIKE_0, state)
        else:
            state = keep(name.rstrip("+"), texts[0] if texts and len(texts) == 1 else "$", state)
    return state
