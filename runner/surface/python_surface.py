"""The public surface of Python files, read by griffe from their bytes alone.

griffe (mkdocstrings.github.io/griffe, "Checking for API breakages") parses the source and imports
nothing of it. It does not report a name that leaves `__all__` and stays in the module, nor names
that a package's `__init__` imports for others: both are compared here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_module import lazy_module
from runner.surface.facts import Fact, Trees, read_text, skip_file
from runner.surface.symbols import REMOVED, VALUES, names_of, shorten, signature_fact
from runner.text.foreign_documents import parse_toml
from runner.text.syntax import one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import griffe
else:
    griffe = lazy_module("griffe")

_ROOTS = ("", "src/", "lib/", "python/")
"""Folders below a manifest whose modules are imported by name."""
_NO_SURFACE_WORDS = """
test tests testing docs doc examples example benchmarks benchmark scripts tools ci
"""
_NO_SURFACE = frozenset(_NO_SURFACE_WORDS.split())
_NO_MODULE_WORDS = """
setup conftest noxfile fabfile tasks dodo manage wsgi asgi
"""
_NO_MODULE = frozenset(_NO_MODULE_WORDS.split())
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*\Z")


class Place(NamedTuple):
    """Where a module is in its project."""

    name: str
    """Its dotted name."""
    root: str
    """The folder that its first part lies in; empty for the top, else with a slash."""
    is_published: bool
    """Whether a manifest gives the project a name that others install it by."""


def find_python_changes(paths: Iterable[str], trees: Trees) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Yield what the changed Python files take from those who import them."""
    modules = dict[str, tuple[Place, list[str]]]()
    for path in paths:
        place = place_of(path, trees)
        if place is not None:
            modules.setdefault(f"{place.root}{place.name}", (place, []))[1].append(path)
    for place, found in modules.values():
        yield found[0], _compare_module(place, found, trees)


def place_of(path: str, trees: Trees) -> Place | None:
    """Return the module of a file; None for tests, scripts and what has no importable name."""
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".py")
    parts = [] if stem == "__init__" else [stem]
    while folder and _exists(f"{folder}/__init__.py", trees):
        above, _, own = folder.rpartition("/")
        parts.insert(0, own)
        folder = above
    manifest = next((one for one in _folders_above(folder) if _has_manifest(one, trees)), None)
    root = f"{folder}/" if folder else ""
    below = root.removeprefix(manifest or "")
    if "src/" in f"/{below}" and below not in _ROOTS:  # a namespace package has no `__init__`
        above, _, names = below.rpartition("src/")
        parts[:0] = [one for one in names.split("/") if one]
        root, below = f"{manifest or ''}{above}src/", "src/"
    lone = len(parts) == 1 and stem in _NO_MODULE
    if not parts or lone or {*parts, *below.split("/")} & _NO_SURFACE:
        return None
    published = manifest is not None and below in _ROOTS and _is_published(manifest, trees)
    return Place(".".join(parts), root, published)


def _folders_above(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, each with a slash, up to the top."""
    while folder:
        yield f"{folder}/"
        folder = folder.rpartition("/")[0]
    yield ""


def _exists(path: str, trees: Trees) -> bool:
    return trees.before(path) is not None or trees.after(path) is not None


def _has_manifest(folder: str, trees: Trees) -> bool:
    names = ("pyproject.toml", "setup.py", "setup.cfg")
    return any(_exists(f"{folder}{one}", trees) for one in names)


def _is_published(folder: str, trees: Trees) -> bool:
    if _exists(f"{folder}setup.py", trees):
        return True
    if re.search(rb"^name\s*=", trees.before(f"{folder}setup.cfg") or b"", re.MULTILINE):
        return True
    text = read_text(trees.before(f"{folder}pyproject.toml")) or ""
    try:
        tables = parse_toml(text)
    except ValueError:
        return False
    tool = tables.get("tool")
    return "project" in tables or (isinstance(tool, dict) and bool({"poetry", "flit"} & {*tool}))


class _Version(NamedTuple):
    """One version of a module."""

    module: griffe.Module
    package: str
    """The first part of its dotted name."""
    is_package: bool

    def exports(self) -> frozenset[str]:
        """Return the names that it offers: its `__all__`, else those that are no private ones."""
        listed = self.module.exports
        if listed is not None:
            return frozenset(str(getattr(one, "name", one)) for one in listed)
        return frozenset(
            name
            for name, one in self.module.members.items()
            if not name.startswith("_") and (not one.is_alias or self._offers(one))
        )

    def _offers(self, alias: griffe.Object | griffe.Alias) -> bool:
        """Return whether an import is for others, too: in an `__init__`, from its own package."""
        target = str(getattr(alias, "target_path", "")).partition(".")[0]
        return self.is_package and target in (self.module.name, self.package)

    def has_star(self) -> bool:
        """Return whether it imports all names of another module."""
        return any(name.endswith("/*") for name in self.module.members)


def _compare_module(place: Place, paths: list[str], trees: Trees) -> Iterator[Fact]:
    old = next((one for one in paths if trees.before(one) is not None), None)
    new = next((one for one in paths if trees.after(one) is not None), None)
    if old is None:
        return
    try:
        before = _load(place, old, trees.before(old))
        if new is None:
            yield from _removed_module(place, old, before, trees)
            return
        after = _load(place, new, trees.after(new))
        yield from _compare(place, new, before, after, trees)
    except ImportError:
        yield skip_file(paths[0], "griffe is not installed")
    except Exception as error:  # noqa: BLE001 - a foreign reader of foreign code
        yield skip_file(paths[0], f"griffe cannot read it ({type(error).__name__})")


def _load(place: Place, path: str, content: bytes | None) -> _Version:
    """Read one version of a module. Raises ValueError where it is no text of bearable size."""
    text = read_text(content)
    if text is None:
        raise ValueError(path)
    is_package = path.endswith("__init__.py")
    name, known = place.name.rpartition(".")[2], griffe.ModulesCollection()
    with one_at_a_time():
        module = griffe.visit(name, filepath=Path(path), code=text, modules_collection=known)
    known.members[name] = module  # so that the bases of a class are found in its own module
    return _Version(module, place.name.partition(".")[0], is_package)


def _removed_module(place: Place, path: str, was: _Version, trees: Trees) -> Iterator[Fact]:
    names = [one for one in sorted(was.exports()) if _is_public(place, one, was, trees)]
    if names:
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")
        said = (path, path.rpartition("/")[2], place.name)
        last = place.name.rpartition(".")[2]
        message = f"removes the module {place.name} with {listed}"
        yield Fact("surface", message, path, 0, (*said, last), is_breaking=True)


def _compare(
    place: Place, path: str, before: _Version, after: _Version, trees: Trees
) -> Iterator[Fact]:
    removed = before.exports() - after.exports()
    if after.has_star() and after.module.exports is None:
        removed = frozenset()  # what the star brings is not known here
    public = {name for name in before.exports() if _is_public(place, name, before, trees)}
    for name in sorted(removed & public):
        still = name in after.module.members
        what = f"{name} (left __all__)" if still and after.module.exports is not None else name
        if not still or before.module.exports is not None:
            yield Fact("surface", what, path, 0, names_of(name), is_breaking=True, title=REMOVED)
    changed = _changed_constants(before, after)
    for name in sorted(public & changed.keys()):
        if _CONSTANT.match(name):
            what = f"{name} ({changed[name]})"
            yield Fact("surface", what, path, _line(after, name), names_of(name), title=VALUES)
    yield from _by_griffe(path, before, after, public)
    yield from _constant_defaults(path, after, public, changed)


def _is_public(place: Place, name: str, module: _Version, trees: Trees) -> bool:
    """Return whether others may rely on a name of a module.

    In a published project all that is not private may be imported, and of a private module what
    a package above it imports. Elsewhere it is what `__all__` lists, or another file uses.
    """
    hidden = any(one.startswith("_") for one in place.name.split("."))
    if place.is_published:
        return not hidden or _is_offered_above(place, name, trees)
    return module.module.exports is not None or trees.is_used(name, (".py",))


def _is_offered_above(place: Place, name: str, trees: Trees) -> bool:
    """Return whether the `__init__` of a package above a private module brings a name to others."""
    parts = place.name.split(".")
    word = re.compile(rf"\b{re.escape(name)}\b|import\s+\*")
    inits = (f"{place.root}{'/'.join(parts[:end])}/__init__.py" for end in range(1, len(parts)))
    return any(word.search(read_text(trees.before(one)) or "") for one in inits)


def _by_griffe(path: str, before: _Version, after: _Version, public: set[str]) -> Iterator[Fact]:
    """Yield what griffe finds in members that are in both versions."""
    gone = before.exports() - after.exports()
    for name in sorted(public - gone):
        old, new = before.module.members.get(name), after.module.members.get(name)
        if old is None or new is None or old.is_alias or new.is_alias:
            continue
        holders = griffe.Module(after.module.name), griffe.Module(after.module.name)
        for holder, one in zip(holders, (old, new), strict=True):
            holder.exports = [name]
            holder.members[name] = one
        for breakage in griffe.find_breaking_changes(*holders):
            if not (
                breakage.kind is griffe.BreakageKind.OBJECT_REMOVED and _has_other_bases(old, new)
            ):
                yield from _fact_of(after.module.name, path, breakage)


def _has_other_bases(old: object, new: object) -> bool:
    """Return whether a class has bases that it had not: a member may come from one of them."""
    if not isinstance(old, griffe.Class) or not isinstance(new, griffe.Class):
        return False
    return {*map(str, new.bases)} - {*map(str, old.bases)} != set()


def _fact_of(module: str, path: str, breakage: griffe.Breakage) -> Iterator[Fact]:
    kinds, obj = griffe.BreakageKind, breakage.obj
    name = obj.path.removeprefix(f"{module}.")
    line = obj.lineno or 0
    old, new = breakage.old_value, breakage.new_value
    changed = old if new is None else new
    own = str(getattr(changed, "name", ""))
    match breakage.kind:
        case kinds.OBJECT_REMOVED:
            yield Fact("surface", name, path, 0, names_of(name), is_breaking=True, title=REMOVED)
            return
        case kinds.PARAMETER_REMOVED:
            what = f"without {own}"
        case kinds.PARAMETER_ADDED_REQUIRED | kinds.PARAMETER_CHANGED_REQUIRED:
            what = f"needs {own}"
        case kinds.PARAMETER_MOVED:
            what = f"{own} at another position"
        case kinds.PARAMETER_CHANGED_KIND:
            what = f"{own} is {new.kind.value}"
        case kinds.PARAMETER_CHANGED_DEFAULT:
            what = f"{own} defaults to {shorten(str(new.default))}, was {shorten(str(old.default))}"
        case kinds.OBJECT_CHANGED_KIND:
            yield signature_fact(path, name, line, f"{old} is now {new}", breaks=False)
            return
        case kinds.CLASS_REMOVED_BASE:
            yield signature_fact(path, name, line, "without a base class", breaks=False)
            return
        case _:
            return
    yield signature_fact(path, name, line, what, also=(own,))


def _changed_constants(before: _Version, after: _Version) -> dict[str, str]:
    """Return the values that module attributes had and have, of those that differ."""
    found = {}
    for name, old in before.module.members.items():
        new = after.module.members.get(name)
        if new is not None and not old.is_alias and not new.is_alias:
            was, now = getattr(old, "value", None), getattr(new, "value", None)
            if was is not None and now is not None and str(was) != str(now):
                found[name] = f"{shorten(str(was))} → {shorten(str(now))}"
    return found


def _constant_defaults(
    path: str, after: _Version, public: set[str], changed: dict[str, str]
) -> Iterator[Fact]:
    """Yield the parameters whose default is the name of a constant that changed."""
    for name, function in _functions(after, public):
        for one in function.parameters:
            default = str(one.default) if one.default is not None else ""
            if default in changed:
                what = f"{one.name} defaults to {default}: {changed[default]}"
                line = function.lineno or 0
                yield signature_fact(path, name, line, what, also=(one.name, default))


def _functions(module: _Version, public: set[str]) -> Iterator[tuple[str, griffe.Function]]:
    """Yield the public functions and methods of a module."""
    for name, one in module.module.members.items():
        if name in public and isinstance(one, griffe.Function):
            yield name, one
        elif name in public and isinstance(one, griffe.Class):
            for own, member in one.members.items():
                if isinstance(member, griffe.Function) and (own == "__init__" or own[0] != "_"):
                    yield f"{name}.{own}", member


def _line(module: _Version, name: str) -> int:
    return module.module.members[name].lineno or 0
