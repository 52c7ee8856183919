"""How a changed test file claims less than it did before: what is gone, silenced or weaker."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.gates.integrity.weaker_equality import is_about_a_part, says_less
from runner.languages.base import CONDITIONAL, SILENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.languages.base import Claim, TestBody, TestFile


@dataclass(frozen=True, slots=True)
class Weakness:
    """One way in which a changed test file claims less than before."""

    line: int
    message: str
    grave: bool = True
    """Whether it refuses; else a person is told."""


def weaknesses(old: TestFile, new: TestFile, elsewhere: frozenset[str]) -> Iterator[Weakness]:
    """How `new` claims less than `old`; `elsewhere` is the code of tests in other files now."""
    yield from _find_added_marks(old.marks, new.marks, "the file")
    moved = elsewhere | {body.code for body in new.tests.values() if body.is_test}
    for name, body in old.tests.items():
        now = new.tests.get(name)
        if now is not None:
            yield from _weaker(name, body, now)
        elif body.is_test and body.code not in moved:
            what = _format_count(len(body.claims), "assertion")
            yield Weakness(body.line, f"the test {name} is gone ({what}; line {body.line} before)")
    for name, body in new.tests.items():
        if name not in old.tests and any(b.code == body.code for b in old.tests.values()):
            yield from _find_added_marks((), body.marks, name)


def _weaker(name: str, old: TestBody, new: TestBody) -> Iterator[Weakness]:
    yield from _find_added_marks(old.marks, new.marks, name)
    if old.is_test and old.found and not new.found:
        yield Weakness(new.line, f"{name} is no longer found: its class is no TestCase now")
    lost = Counter(old.cases) - Counter(new.cases)
    if lost:
        many = _format_count(lost.total(), "case")
        extra = (Counter(new.cases) - Counter(old.cases)).total()
        grave = extra < lost.total()
        change = "lost" if grave else "changed"
        yield Weakness(new.line, f"{name} {change} {many}: {_short(next(iter(lost)))}", grave)
    yield from _find_silenced(name, old, new)
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
