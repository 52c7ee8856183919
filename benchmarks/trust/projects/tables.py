"""The tables: misses first, then by family and by project; good commits; false findings by name."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from outcome import Outcome

BAD = ("named", "unnamed", "warned", "silent", "broken")
GOOD = ("done", "asks", "control", "coverage", "unrun", "false", "broken")


def as_json(found: list[Outcome]) -> str:
    return json.dumps([{**asdict(one), "label": one.label} for one in found], indent=1)


def shown(found: list[Outcome], *, whole: bool = False) -> str:
    bad = [one for one in found if one.part != "good"]
    good = [one for one in found if one.part == "good"]
    return "\n".join([*_listed(found, whole=whole), *_bad(bad), *_good(good)])


def _listed(found: list[Outcome], *, whole: bool) -> Iterator[str]:
    for label, title in (
        ("silent", "missed: DONE, and nothing named it"),
        ("unnamed", "refused, and nothing named it"),
        ("false", "false findings on good commits"),
        ("coverage", "good commits of which less than 70 % of the changed lines are run"),
        ("unrun", "good commits with a new function that no test runs, told with strict"),
        ("asks", "good commits that ask whether an expectation was meant to change"),
        ("broken", "broken"),
    ):
        some = [one for one in found if one.label == label]
        if some:
            yield f"{title}:"
        for one in some:
            yield f"- {one.name} ({one.part}, {one.family}, {one.project}, {one.setting})"
            yield from (f"    {finding}" for finding in one.findings)
    if whole:
        for one in found:
            yield f"{one.name}: {one.label}"
            yield from (f"    {finding}" for finding in one.findings)


def _bad(found: list[Outcome]) -> Iterator[str]:
    if not found:
        return
    yield "\n| bad changes | cases | named | refused unnamed | DONE, warned | DONE in silence |"
    yield "|---|---|---|---|---|---|"
    for part, setting, title in (
        ("base", "default", "on code with base tests"),
        ("new", "default", "code and tests are new"),
        ("new", "strict", 'code and tests are new, `mutation = "strict"`'),
    ):
        some = [one for one in found if (one.part, one.setting) == (part, setting)]
        yield from _row(some, title)
    for title, of in (("project", _project), ("family", _family)):
        yield f"\n| {title} | cases | named | refused unnamed | DONE, warned | DONE in silence |"
        yield "|---|---|---|---|---|---|"
        for key in sorted({of(one) for one in found}):
            yield from _row([one for one in found if of(one) == key], key)


def _project(one: Outcome) -> str:
    return f"{one.project}, {_part(one)}"


def _family(one: Outcome) -> str:
    return f"{_part(one)}: {one.family}"


def _part(one: Outcome) -> str:
    return f"{one.part}, strict" if one.setting == "strict" else one.part


def _row(found: list[Outcome], title: str) -> Iterator[str]:
    if not found:
        return
    count: Callable[[str], int] = [one.label for one in found].count
    cells = [str(count(label)) for label in BAD[:4]]
    yield f"| {title} | {len(found)} | {' | '.join(cells)} |"


def _good(found: list[Outcome]) -> Iterator[str]:
    if not found:
        return
    yield (
        "\n| good commits | commits | DONE | a question naming the tests | "
        "a review of a control file | less than 70 % of its lines run | "
        "a new function that no test runs | false finding |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    groups = [("all", found)]
    groups += [
        ("that change existing tests", [one for one in found if one.changes_tests]),
        ("that do not", [one for one in found if not one.changes_tests]),
    ]
    groups += [
        (name, [one for one in found if one.project == name])
        for name in sorted({one.project for one in found})
    ]
    for title, some in groups:
        count = [one.label for one in some].count
        cells = " | ".join(str(count(label)) for label in GOOD[:6])
        yield f"| {title} | {len(some)} | {cells} |"
