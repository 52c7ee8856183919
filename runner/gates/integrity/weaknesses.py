"""How a changed test file claims less than it did before: what is gone, silenced or weaker.

When one equality says less than another for sure: the same is done to both of its sides.

`a == b` always gives `c(a) == c(b)`, never the other way round: a slice, a replacement, a length
of both sides is a weaker claim, whatever `a` and `b` are.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from runner.languages.base import CONDITIONAL, SILENT
from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.text.literals import LONGEST, TooLarge, letters, replace
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.languages.base import Claim, TestBody, TestFile


@dataclass(frozen=True, slots=True)
class Weakness:
    """One way in which a changed test file claims less than before."""

    line: int
    message: str
    grave: bool = True
    """Whether it refuses; else a person is told."""
    test: str = ""
    """The test that lost something; empty where it is about a whole file."""
    gone: bool = False
    """Whether that test is there no more."""


def weaknesses(old: TestFile, new: TestFile, elsewhere: frozenset[str]) -> Iterator[Weakness]:
    """How `new` claims less than `old`; `elsewhere` is the code of tests in other files now."""
    yield from _find_added_marks(old.marks, new.marks, "the file")
    moved = elsewhere | {body.code for body in new.tests.values() if body.is_test}
    for name, body in old.tests.items():
        now = new.tests.get(name)
        told = not new.marks and body.is_told_by(new.tests.values())
        if now is not None:
            yield from _of_test(name, _weaker(name, body, now, told=told))
        elif body.is_test and body.code not in moved and not told:
            what = _format_count(len(body.claims), "assertion")
            said = f"the test {name} is gone ({what}; line {body.line} before)"
            yield Weakness(body.line, said, test=name, gone=True)
    for name, body in new.tests.items():
        if name not in old.tests and any(b.code == body.code for b in old.tests.values()):
            yield from _find_added_marks((), body.marks, name)


def _of_test(name: str, found: Iterator[Weakness]) -> Iterator[Weakness]:
    return (Weakness(one.line, one.message, one.grave, name) for one in found)


def _weaker(name: str, old: TestBody, new: TestBody, *, told: bool) -> Iterator[Weakness]:
    yield from _find_added_marks(old.marks, new.marks, name)
    if old.is_test and old.found and not new.found:
        yield Weakness(new.line, f"{name} is no longer found: its class is no TestCase now")
    lost = Counter(old.cases) - Counter(new.cases)
    if lost and not told:
        many = _format_count(lost.total(), "case")
        extra = (Counter(new.cases) - Counter(old.cases)).total()
        # Where as many others came, the table may be the same one, written anew.
        grave = extra < lost.total()
        change = "lost" if grave else "changed"
        yield Weakness(new.line, f"{name} {change} {many}: {_short(next(iter(lost)))}", grave)
    yield from _find_silenced(name, old, new)
    if not told:
        yield from _find_weaker(name, old, new)


def _find_added_marks(
    old: tuple[tuple[str, int], ...], new: tuple[tuple[str, int], ...], name: str
) -> Iterator[Weakness]:
    """Marks that keep tests from running."""
    known = Counter(mark for mark, _ in old)
    for mark, line in new:
        if known[mark]:
            known[mark] -= 1
        else:
            yield Weakness(line, f"`{_short(mark)}` was added to {name}")


def _find_silenced(name: str, old: TestBody, new: TestBody) -> Iterator[Weakness]:
    """Assertions that stand as they stood, but where they cannot speak."""
    before: dict[str, list[Claim]] = {}
    for claim in old.claims:
        before.setdefault(claim.text, []).append(claim)
    for claim in new.claims:
        twins = before.get(claim.text)
        if not twins:
            continue
        twin = twins.pop(0)
        for guard in sorted(claim.guards - twin.guards):
            said = f"`{_short(claim.text)}` of {name}: {guard} now"
            yield Weakness(claim.line, said, guard != CONDITIONAL)
        if claim.strength < twin.strength or says_less(twin.sides, claim.sides):
            said = f"`{_short(claim.text)}` of {name} says less now: {_sides(claim)}"
            yield Weakness(claim.line, said)


def _find_weaker(name: str, old: TestBody, new: TestBody) -> Iterator[Weakness]:
    """Assertions that are gone, or say less about the same subject."""
    kept = Counter(claim.text for claim in new.claims)
    gone = [
        one for one in _beyond(old.claims, kept) if not (one.by_helper and one.text in new.code)
    ]
    added = _beyond(new.claims, Counter(claim.text for claim in old.claims))
    gone, added = _set_aside_rewritten(gone, added)
    left = []
    for claim in gone:
        twin = _twin(claim, added)
        if twin is None:
            left.append(claim)
        else:
            added.remove(twin)
            yield from _compare_strength(name, claim, twin)
    # what found no twin about its subject may have been written anew
    strong = [claim for claim in added if claim.speaks]
    for claim in (one for one in left if one.speaks):
        if strong:
            now = strong.pop(0)
            said = f"`{_short(claim.text)}` of {name} became `{_short(now.text)}`"
            yield Weakness(now.line, said, grave=False)
        else:
            line = new.line or claim.line
            said = f"`{_short(claim.text)}` was taken out of {name} (line {claim.line} before)"
            yield Weakness(line, said, grave=not (new.helped and not old.helped))


def _beyond(claims: tuple[Claim, ...], others: Counter[str]) -> list[Claim]:
    """The claims that stand nowhere among the others, each of those counted once."""
    left = Counter(others)
    found = []
    for claim in claims:
        if left[claim.text]:
            left[claim.text] -= 1
        else:
            found.append(claim)
    return found


def _set_aside_rewritten(gone: list[Claim], added: list[Claim]) -> tuple[list[Claim], list[Claim]]:
    """Both without the claims that were joined or taken apart, and say the same together.

    Each part tells of one claim that is gone, so that of two that are equal one may not go. An
    equality is held against another by its sides, as its names stand for them.
    """
    able = [one for one in added if one.speaks]
    free = Counter((part, guards) for one in able for part, guards in _parts(one))
    left = []
    used: Counter[tuple[str, frozenset[str]]] = Counter()
    for claim in gone:
        wanted = Counter(_parts(claim))
        if wanted and wanted <= free:
            free -= wanted
            used += wanted
        else:
            left.append(claim)
    return left, [one for one in added if not used & Counter(_parts(one))]


def _parts(claim: Claim) -> Iterator[tuple[str, frozenset[str]]]:
    return ((part, claim.guards) for part in claim.parts if not claim.sides)


def _twin(claim: Claim, added: list[Claim]) -> Claim | None:
    """What stands in a claim's place: about the same, else about something made of it."""
    about = [one for one in added if one.subject == claim.subject]
    about = about or [one for one in added if says_less(claim.sides, one.sides)]
    about = about or [one for one in added if _is_weaker_part(claim, one)]
    return max(about, key=lambda one: one.strength, default=None)


def _is_weaker_part(old: Claim, new: Claim) -> bool:
    return new.strength < old.strength and is_about_a_part(old.subject, new.subject)


def _compare_strength(name: str, old: Claim, new: Claim) -> Iterator[Weakness]:
    """Two claims about one subject, held against each other."""
    less = new.strength < old.strength or new.slack > old.slack
    less = less or says_less(old.sides, new.sides)
    silent = new.guards & SILENT and not old.guards & SILENT
    said = f"`{_short(old.text)}` of {name} became `{_short(new.text)}`"
    if less or silent:
        yield Weakness(new.line, f"{said}, which says less")
    elif new.strength == old.strength and new.slack == old.slack:
        yield Weakness(new.line, f"{said}: something else is expected", grave=False)


def _sides(claim: Claim) -> str:
    """What is compared, where the text of a claim does not show it."""
    return f"it compares {_short(' and '.join(claim.sides))}" if claim.sides else "it was changed"


def _short(text: str, most: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _format_count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


# --- weaker equality ------------------------------------------------------------------


Sides: TypeAlias = "tuple[str, ...]"
"""Both sides of an equality as they are written; empty for a claim that is none."""
_WORD = regex(r"\w")
_PLACE = "it_is_here"
_NAMES: dict[str, Callable[..., object]] = {
    **{one.__name__: one for one in (len, str, int, float, round, abs, bool, repr)},
    **{one.__name__: one for one in (sorted, set, frozenset, list, tuple, sum, min, max)},
}
_METHODS_WORDS = """
lower upper strip lstrip rstrip casefold title split rsplit splitlines replace removeprefix
removesuffix partition count keys values items
"""
_METHODS = frozenset(_METHODS_WORDS.split())
_SCRIPT_METHODS = {"toLowerCase": "lower", "toUpperCase": "upper", "trim": "strip"}
_LONGEST = 4000
_MOST_DIGITS = 400


def says_less(old: Sides, new: Sides) -> bool:
    """Whether `new` follows from `old` and is not the same."""
    if len(old) != 2 or len(new) != 2:  # noqa: PLR2004 - both sides
        return False
    for first, second in (old, old[::-1]):
        for before, after in _around(first, new[0]):
            if f"{before}{after}".strip("() "):
                if any(_with(before, one, after) == new[1] for one in _forms(second)):
                    return True
                if _is_computed(before, second, after, new[1]):
                    return True
    return False


def is_about_a_part(old: str, new: str) -> bool:
    """Whether a claim is about something made of what another is about: `str(x)` of `x`."""
    return bool(old) and old != new and any(True for _ in _around(old, new))


def _forms(text: str) -> tuple[str, str]:
    return text, f"({text})"


def _with(before: str, text: str, after: str) -> str:
    return f"{before}{text}{after}"


def _around(inner: str, outer: str) -> Iterator[tuple[str, str]]:
    """What stands before and behind each place where one expression holds another whole."""
    if not inner or len(outer) > _LONGEST:
        return
    for one in reversed(_forms(inner)):
        at = outer.find(one)
        while at >= 0:
            before, after = outer[:at], outer[at + len(one) :]
            if not (_WORD.match(before[-1:]) and _WORD.match(one[:1])) and not (
                _WORD.match(after[:1]) and _WORD.match(one[-1:])
            ):
                yield before, after
            at = outer.find(one, at + 1)


# --- of what is written out, computed -------------------------------------------------


def _is_computed(before: str, old: str, after: str, new: str) -> bool:
    """Whether the new side is what the same, done to the old one, gives: `"abc"` of `"abcde"`."""
    try:
        value = ast.literal_eval(_plain(old))
        expected = ast.literal_eval(_plain(new))
        tree = python_tree(_plain(f"{before}{_PLACE}{after}").strip())
        body = tree.body if tree else []
        node = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
        return node is not None and _value(node, value) == expected
    except (ValueError, SyntaxError, TypeError, LookupError, ArithmeticError, RecursionError):
        return False
    except (AttributeError, MemoryError):
        return False


def _plain(text: str) -> str:
    """JavaScript's words for what Python can compute."""
    text = re.sub(r"\.slice\((-?\d+),\s*(-?\d+)\)", r"[\1:\2]", text)
    text = re.sub(r"\.slice\((-?\d+)\)", r"[\1:]", text)
    text = re.sub(r"\.substring\((\d+),\s*(\d+)\)", r"[\1:\2]", text)
    text = re.sub(rf"({_PLACE})\.length\b", r"len(\1)", text)
    for script, name in _SCRIPT_METHODS.items():
        text = text.replace(f".{script}(", f".{name}(")
    return text


def _value(node: ast.expr, given: object) -> object:
    """The value of an expression over `given`. Raises ValueError for what is not computed here."""
    value = _computed(node, given)
    if letters(value) > LONGEST:  # `repr(repr(…))` doubles at each step
        raise TooLarge
    return value


def _computed(node: ast.expr, given: object) -> object:
    match node:
        case ast.Name(id=name) if name == _PLACE:
            return given
        case ast.Constant(value=value):
            return value
        case ast.Subscript(value=of, slice=index):
            return _value(of, given)[_index(index)]  # type: ignore[index]  # TypeError is caught
        case ast.Call(func=ast.Name(id=name), args=[of, *more], keywords=[]) if name in _NAMES:
            further = [ast.literal_eval(one) for one in more]
            if name == "round" and any(abs(one) > _MOST_DIGITS for one in further):
                raise TooLarge  # a power of ten is computed
            return _NAMES[name](_value(of, given), *further)
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=more, keywords=[]):
            owner, further = _value(of, given), [ast.literal_eval(one) for one in more]
            if name == "replace" and isinstance(owner, str | bytes):
                return replace(owner, *further)
            if name in _METHODS:
                return getattr(owner, name)(*further)
    raise ValueError(ast.dump(node))


def _index(node: ast.expr) -> object:
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if one is None else ast.literal_eval(one) for one in parts))
    return ast.literal_eval(node)
