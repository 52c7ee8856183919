"""A public name with its signature, and what a change of it takes from its users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.surface.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REMOVED = "removes public names"
SIGNATURES = "changes public signatures"
VALUES = "changes public constants"
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function, as far as its callers notice it."""

    name: str
    type: str = ""
    default: str | None = None
    is_optional: bool = False
    is_key: bool = False
    """Whether it is a key of an object that is taken apart: its place does not count."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A public name as it is declared."""

    line: int
    parameters: tuple[Parameter, ...] | None = None
    """None for what is not called."""
    result: str = ""
    """The type that a call returns, or that a field has; empty where it is not written."""
    value: str = ""
    """The value of a constant."""
    is_async: bool = False
    is_typed: bool = False
    """Whether each other type breaks callers, as in Go and Rust."""
    local: str = ""
    """What its own file calls it, where it is exported as `default`."""

    def names(self, name: str) -> tuple[str, ...]:
        """Return the words that name it: of a default export what its file calls it."""
        return (self.local,) if self.local else names_of(name)


def compare_surfaces(
    path: str, before: Mapping[str, Symbol], after: Mapping[str, Symbol]
) -> Iterator[Fact]:
    """Yield what the names of a file, or of a package, lost or take differently."""
    for name, old in before.items():
        owner = name.rpartition(".")[0]
        if name in after:
            yield from _compare(path, name, old, after[name])
        elif not owner or owner not in before or before[owner].result == _extends(owner, after):
            yield Fact("surface", name, path, 0, old.names(name), is_breaking=True, title=REMOVED)


def _extends(owner: str, after: Mapping[str, Symbol]) -> str | None:
    """Return what a class or an interface extends now; None where it is gone itself."""
    return after[owner].result if owner in after else None


def names_of(name: str) -> tuple[str, ...]:
    """Return the words that name a public name: its own, and the class for a constructor."""
    own, _, last = name.rpartition(".")
    if last in ("__init__", "constructor", "__new__"):
        return (own.rpartition(".")[2],)
    return (last,) if last == name else (last, name)


def _compare(path: str, name: str, old: Symbol, new: Symbol) -> Iterator[Fact]:
    for what, also, breaks in _differences(old, new):
        names = (*old.names(name), *(f"`{one}`" for one in also))
        yield Fact("surface", f"{name} ({what})", path, new.line, names, breaks, title=SIGNATURES)
    if old.value != new.value and old.value and new.value:
        what = f"{name} ({shorten(old.value)} → {shorten(new.value)})"
        yield Fact("surface", what, path, new.line, old.names(name), title=VALUES)


def _differences(old: Symbol, new: Symbol) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield what differs, the parameter it is about, and whether it breaks callers."""
    if old.parameters is not None and new.parameters is not None:
        places = [one for one in old.parameters if not one.is_key]
        news = [one for one in new.parameters if not one.is_key]
        yield from _compare_places(places, news, is_typed=new.is_typed)
        yield from _compare_keys(
            {one.name: one for one in old.parameters if one.is_key},
            {one.name: one for one in new.parameters if one.is_key},
        )
    if old.result and new.result and old.result != new.result:
        verb = "is" if new.parameters is None else "returns"
        is_wider = "{" in old.result and not new.is_typed  # a type with members may have more
        breaks = new.is_typed or (new.parameters is not None and not is_wider)
        yield f"{verb} {shorten(new.result)}, was {shorten(old.result)}", (), breaks
    elif old.is_async != new.is_async and not (old.result and new.result):
        yield "returns a promise" if new.is_async else "returns no promise", (), True
    elif bool(old.result) != bool(new.result) and new.is_typed and new.parameters is not None:
        yield f"returns {shorten(new.result) or 'nothing'}", (), True


def _compare_places(
    old: list[Parameter], new: list[Parameter], *, is_typed: bool
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    names, others = [one.name for one in old], [one.name for one in new]
    if names != others and sorted(names) == sorted(others):
        yield "parameters in another order", (), True
        return
    for was, now in zip(old, new, strict=False):
        yield from _compare_parameter(was, now, is_typed=is_typed)
    for one in old[len(new) :]:
        yield f"without {one.name}", (one.name,), True
    for one in new[len(old) :]:
        if not one.is_optional:
            yield f"needs {one.name}", (one.name,), True


def _compare_keys(
    old: Mapping[str, Parameter], new: Mapping[str, Parameter]
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    for name, was in old.items() if new else ():
        if name in new:
            yield from _compare_parameter(was, new[name], is_typed=False)
        else:
            yield f"without {name}", (name,), True


def _compare_parameter(
    was: Parameter, now: Parameter, *, is_typed: bool
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    also = (was.name, now.name)
    if was.is_optional and not now.is_optional:
        yield f"needs {now.name}", also, True
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
