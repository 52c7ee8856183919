"""The tables: catch rate, false alarms, each miss by name."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from cases import HALVES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trial import Result


def shown(found: list[Result], *, whole: bool = False) -> str:
    lines = [*_rates(found), *_wrong(found, whole=whole)]
    return "\n".join(lines)


def as_json(found: list[Result]) -> str:
    return json.dumps({"results": [asdict(one) for one in found]}, indent=1)


def _rates(found: list[Result]) -> Iterator[str]:
    if not found:
        return
    yield "| half | bad | refused | by a finding that names it | warned of, as designed | missed |"
    yield "|---|---|---|---|---|---|"
    for half in (*HALVES, "both"):
        bad = [one for one in found if one.bad and half in (one.half, "both")]
        if not bad:
            continue
        refused = [one for one in bad if one.ended == "refused"]
        named = sum(one.named for one in refused)
        warned = sum(one.ended == "done" and not one.missed for one in bad)
        missed = sum(one.missed for one in bad)
        yield f"| {half} | {len(bad)} | {len(refused)} | {named} | {warned} | {missed} |"
    yield ""
    yield "| half | good | became DONE | with a warning | refused |"
    yield "|---|---|---|---|---|"
    for half in (*HALVES, "both"):
        good = [one for one in found if not one.bad and half in (one.half, "both")]
        if not good:
            continue
        done = [one for one in good if one.ended == "done"]
        warned = sum(not one.named for one in done)
        refused = sum(one.ended == "refused" for one in good)
        yield f"| {half} | {len(good)} | {len(done)} | {warned} | {refused} |"


def _wrong(found: list[Result], *, whole: bool) -> Iterator[str]:
    yield ""
    for title, some in (
        ("missed", [one for one in found if one.missed]),
        ("refused though good", [o for o in found if not o.bad and o.ended == "refused"]),
        ("broken", [one for one in found if one.ended == "broken"]),
        (
            "refused for another reason than the seeded fault",
            [one for one in found if one.bad and one.ended == "refused" and not one.named],
        ),
        (
            "warned of, as designed",
            [o for o in found if o.bad and o.ended == "done" and not o.missed],
        ),
        (
            "good, with a warning",
            [o for o in found if not o.bad and o.ended == "done" and not o.named],
        ),
    ):
        if some:
            yield f"{title}:"
        for one in some:
            reason = f" ({one.warns})" if one.warns else ""
            yield f"- {one.name}{reason}"
            yield from (f"    {finding}" for finding in one.findings)
    if whole:
        for one in found:
            yield f"{one.name}: {one.ended}"
            yield from (f"    {finding}" for finding in one.findings)
