"""The two digests of a task: what is to be built, and how it is proven."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from runner.model import AcceptanceItem, Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.model import Block, Contract, GateSpec, HeldOutFile, TestContract

_REASONS = ("no_proof", "no_contracts")
"""Why a task does without a proof, or without contracts."""
_PROVE = frozenset(
    ("test_contracts", "held_out_files", "contracts", "gates", "coverage", *_REASONS)
)
"""The fields that say how a task is proven."""
Part: TypeAlias = "str | float | tuple[Part, ...] | None"


def spec_of(
    title: str,
    values: Mapping[str, object],
    prose: Iterable[str],
    fences: Iterable[str],
    blocks: Iterable[Block],
) -> Spec:
    """Both digests of a task.

    `prose` is without fields, comments, rules and change quotes; white space does not count.
    `fences` are the fenced examples in it, `blocks` what is written: both byte for byte.
    """
    what: Part = (
        _collapse_spaces(title),
        tuple(_collapse_spaces(text) for text in prose if text.strip()),
        tuple(fences),
        tuple((block.kind.value, block.path, block.text) for block in blocks),
        # Without ids: to name what is asked for does not ask for anything else.
        tuple(
            _collapse_spaces(AcceptanceItem.parse(text).text)
            for text in _texts(values, "acceptance")
        ),
        tuple(sorted(_texts(values, "outputs"))),
        tuple(sorted(_texts(values, "depends_on"))),
        str(values.get("implementer", "")),
        str(values.get("command", "")),
        # only where it is given: what was built before there was such a field stays built
        *([tuple(sorted(named))] if (named := _texts(values, "changes_tests")) else []),
    )
    proof = _unproven() if _PROVE.isdisjoint(values) else _digest(_proof(values))
    return Spec.of_bytes(_digest(what) + proof)


@cache
def _unproven() -> bytes:
    """The digest of a task whose fields say nothing of a proof, as most of a long plan's are."""
    return _digest(_proof({}))


def _proof(values: Mapping[str, object]) -> Part:
    tests: tuple[TestContract, ...] = values.get("test_contracts", ())  # type: ignore[assignment]  # the schema holds the types of its keys
    contracts: tuple[Contract, ...] = values.get("contracts", ())  # type: ignore[assignment]  # the same
    gates: tuple[GateSpec, ...] = values.get("gates", ())  # type: ignore[assignment]  # the same
    coverage: float | None = values.get("coverage")  # type: ignore[assignment]  # the same
    # only where they are given: what was proven before there were such fields stays proven
    without = tuple((key, str(values[key])) for key in _REASONS if values.get(key))
    held: tuple[HeldOutFile, ...] = values.get("held_out_files", ())  # type: ignore[assignment]  # the same
    return (
        tuple((test.id, test.level.value, test.command, *_marks(test)) for test in tests),
        tuple((contract.kind, contract.value) for contract in contracts),
        tuple((gate.name, gate.command, gate.network.value, gate.seconds) for gate in gates),
        coverage,
        *without,
        *([tuple(sorted((one.path, one.digest) for one in held))] if held else []),
    )


def _marks(test: TestContract) -> Iterator[str]:
    if test.fails:
        yield "fails"
    if test.held_out:
        yield "held out"


def _texts(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    found = values.get(key)
    return tuple(map(str, found)) if found and isinstance(found, tuple) else ()


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def _digest(part: Part) -> bytes:
    """Digest of nested values; `repr` keeps every border between them."""
    return hashlib.sha256(repr(part).encode("utf-8", "replace")).digest()
