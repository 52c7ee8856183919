"""How a proof differs from the evidence that was kept: purely, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.model import Verdict
from runner.text.wording import count_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.model import Coverage, Proof

_GOOD = frozenset({Verdict.PASS, Verdict.FLAKY, Verdict.SKIPPED, Verdict.KNOWN})
_COVERAGE = "coverage"
_OF_A_CHANGE = frozenset({_COVERAGE, "integrity", "mutation"})
"""Compared otherwise, or about a change alone: a whole tree has none to look at;
mutants are a sample, tried where the settings say so."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as the evidence says."""

    check: str
    text: str
    worse: bool = False
    """Whether the evidence promised more than there is."""


def differences(
    before: Iterable[Proof],
    now: Iterable[Proof],
    covered: tuple[Coverage | None, Coverage | None] = (None, None),
) -> tuple[Difference, ...]:
    """What differs between proofs kept and proofs run; seconds and output may always differ.

    `covered` is the coverage before and now.
    """
    old = {proof.id: proof for proof in before if proof.id not in _OF_A_CHANGE}
    new = {proof.id: proof for proof in now if proof.id not in _OF_A_CHANGE}
    return (
        *(_make_gone(one) for id_, one in old.items() if id_ not in new),
        *(_new(one) for id_, one in new.items() if id_ not in old),
        *(said for id_ in old if id_ in new for said in _between(old[id_], new[id_])),
        *_coverage(*covered),
    )


def _make_gone(proof: Proof) -> Difference:
    return Difference(proof.id, f"was {_format_ending(proof)} and is not asked for any more")


def _new(proof: Proof) -> Difference:
    return Difference(proof.id, f"is {_format_ending(proof)} and was not asked for then")


def _between(old: Proof, new: Proof) -> Iterator[Difference]:
    if (old.verdict, old.exit) != (new.verdict, new.exit):
        worse = old.verdict in _GOOD and new.verdict not in _GOOD
        same = old.exit == new.exit
        was, now = (
            (old.verdict, new.verdict) if same else (_format_ending(old), _format_ending(new))
        )
        yield Difference(old.id, f"was {was}, is {now}", worse)
    counted, counts = dict(old.counts), dict(new.counts)
    if counted != counts:
        fewer = counts.get("passed", 0) < counted.get("passed", 0)
        text = f"was {_format_counts(counted)}, is {_format_counts(counts)}"
        yield Difference(old.id, text, fewer)


def _coverage(old: Coverage | None, new: Coverage | None) -> Iterator[Difference]:
    """Compared in whole percent: trailers carry no more."""
    was, now = _format_coverage(old), _format_coverage(new)
    if was != now:
        worse = old is not None and (new is None or int(new.percent) < int(new.threshold))
        yield Difference(_COVERAGE, f"was {was}, is {now}", worse)


def _format_coverage(coverage: Coverage | None) -> str:
    return "not measured" if coverage is None else coverage.shown


def _format_ending(proof: Proof) -> str:
    return f"{proof.verdict} (exit {proof.exit})"


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(count_words(number, name) for name, number in counts.items()) or "no count"
