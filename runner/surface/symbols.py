"""A public name with its signature, and the breaking changes between two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.surface.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REMOVED = "removes public names"
SIGNATURES = "changes public signatures"
_LONGEST = 60


class Parameter(Struct, frozen=True):
    """One parameter of a function, as far as its callers notice it."""

    name: str
    type: str = ""
    default: str | None = None
    is_optional: bool = False


class Symbol(Struct, frozen=True):
    """A public name as it is declared."""

    line: int
    parameters: tuple[Parameter, ...] | None = None
    """Parameters; None if it can't be called."""
    result: str = ""
    """Type of a call's result or of a field; empty if not declared."""
    is_typed: bool = False
    """Whether any type change breaks callers, as in Go and Rust."""


ELSEWHERE = Symbol(0, result="of another file")
"""A name that a file imports from another: neither its signature nor members are known."""


def compare_surfaces(
    path: str, before: Mapping[str, Symbol], after: Mapping[str, Symbol]
) -> Iterator[Fact]:
    """Yield what the names of a file, or of a package, lost or take differently."""
    for name, old in before.items():
        owner = name.rpartition(".")[0]
        if name in after:
            for what, also, breaks in _differences(old, after[name]):
                fact = signature_fact(path, name, after[name].line, what, also)
                yield replace(fact, is_breaking=breaks)
        elif owner in before and before[owner].result != after.get(owner, ELSEWHERE).result:
            continue  # the type is gone itself, or extends another one, which may have the member
        else:
            yield Fact("surface", name, path, 0, names_of(name), is_breaking=True, title=REMOVED)


def names_of(name: str) -> tuple[str, ...]:
    """Return the words that name a public name: its own, and the class for a constructor."""
    own, _, last = name.rpartition(".")
    if last in ("__init__", "constructor", "__new__"):
        return (own.rpartition(".")[2],)
    return (last,) if last == name else (last, name)


def _differences(old: Symbol, new: Symbol) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield what differs, the parameter it is about, and whether it breaks callers."""
    if ELSEWHERE in (old, new):
        return
    if old.parameters is not None and new.parameters is not None:
        yield from _compare_places(old.parameters, new.parameters, is_typed=new.is_typed)
    plain = "" if new.is_typed else new.result.partition("<")[0]
    if old.result and new.result and old.result not in (new.result, plain):
        verb = "is" if new.parameters is None else "returns"
        is_wider = "{" in old.result and not new.is_typed  # a type with members may have more
        breaks = new.is_typed or (new.parameters is not None and not is_wider)
        yield f"{verb} {shorten(new.result)}, was {shorten(old.result)}", (), breaks
    elif (
        bool(old.result) != bool(new.result)
        and new.parameters is not None
        and (new.is_typed or "Promise" in (old.result, new.result))
    ):
        yield f"returns {shorten(new.result) or f'no {old.result}'}", (), True


def _compare_places(
    old: tuple[Parameter, ...], new: tuple[Parameter, ...], *, is_typed: bool
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    names, others = [one.name for one in old], [one.name for one in new]
    if names != others and sorted(names) == sorted(others):
        yield "takes its parameters in another order", (), True
        return
    for was, now in zip(old, new, strict=False):
        yield from _compare_parameter(was, now, is_typed=is_typed)
    for one in old[len(new) :]:
        yield f"no longer takes {one.name}", (one.name,), True
    for one in new[len(old) :]:
        if not one.is_optional:
            yield f"requires {one.name}", (one.name,), True


def _compare_parameter(
    was: Parameter, now: Parameter, *, is_typed: bool
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    also = (was.name, now.name)
    if was.is_optional and not now.is_optional:
        yield f"requires {now.name}", also, True
    elif was.default is not None and was.default != now.default:
        new = shorten(now.default) if now.default is not None else "none"
        yield f"{now.name} defaults to {new}, was {shorten(was.default)}", also, True
    if was.type and now.type and was.type != now.type:
        yield f"{now.name} is {shorten(now.type)}, was {shorten(was.type)}", also, is_typed


def signature_fact(path: str, name: str, line: int, what: str, also: tuple[str, ...]) -> Fact:
    """Return the fact that a function is called in another way.

    A parameter, often a common word, names the change only where the plan marks it as code.
    """
    names = (*names_of(name), *(f"`{one}`" for one in also))
    message = f"{name} ({what})"
    return Fact("surface", message, path, line, names, is_breaking=True, title=SIGNATURES)


def shorten(text: str) -> str:
    """Return the beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
