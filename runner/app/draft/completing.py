"""Given sections, and what an answer adds to them: ids, titles, states and sources stay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.plan.drafted_sections import DraftReading, Remark, read_draft

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runner.plan.foreign.render import NewSection


def merge(given: str, reading: DraftReading, ids: Collection[str]) -> DraftReading:
    """The sections that were given, each with what the answer says of the same id."""
    said = {one.id: one for one in reading.sections}
    known = read_draft(f"~~~~~~~~~~~~markdown draft\n{given}\n~~~~~~~~~~~~\n").sections
    lacking = [
        Remark(reading.line_of(id_), f"{id_} is none of the given sections", "answer with those")
        for id_ in said
        if id_ not in ids
    ]
    return replace(
        reading,
        sections=tuple(_merged(known, said)),
        mistakes=(*reading.mistakes, *lacking),
    )


def _merged(known: tuple[NewSection, ...], said: dict[str, NewSection]) -> Iterator[NewSection]:
    for one in known:
        new = said.get(one.id)
        if new is None:
            yield one
            continue
        yield replace(
            one,
            needs=tuple(dict.fromkeys((*one.needs, *new.needs))),
            outputs=tuple(dict.fromkeys((*one.outputs, *new.outputs))),
            inputs=tuple(dict.fromkeys((*one.inputs, *new.inputs))),
            acceptance=tuple(dict.fromkeys((*one.acceptance, *new.acceptance))),
            tests=one.tests or new.tests,
            keywords=one.keywords or new.keywords,
            type=one.type or new.type,
        )
