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
from runner.lazy_pattern import regex
from runner.surface.facts import Fact, Trees, read_text, skip_file
from runner.surface.symbols import REMOVED, VALUES, names_of, shorten, signature_fact
from runner.text.syntax import one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import griffe

    Member = griffe.Object | griffe.Alias
else:
    griffe = lazy_module("griffe")

_NO_SURFACE = regex(
    r"(?:^|/)(?:tests?|testing|docs?|examples?|benchmarks?|scripts|tools|ci)/"
    r"|(?:^|/)(?:setup|conftest|noxfile|fabfile|tasks|dodo|manage|wsgi|asgi)\.py\Z"
)
_PUBLISHED = {
    "pyproject.toml": regex(r"^\[(?:project|tool\.(?:poetry|flit)\b.*)\]", re.MULTILINE),
    "setup.cfg": regex(r"^name[ \t]*=", re.MULTILINE),
    "setup.py": regex(r"\bsetup\("),
}
"""What in a manifest gives a project a name that others install it by."""
_CONSTANT = regex(r"[A-Z][A-Z0-9_]*\Z")
_FOR_TYPES = regex(r"(?:\w+\.)?(?:TypeVar|ParamSpec|TypeVarTuple)\(")


class Place(NamedTuple):
    """Where a module is in its project."""

    root: str
    """The folder that its first part lies in; empty for the top, else with a slash."""
    parts: tuple[str, ...]
    """Its dotted name."""
    is_published: bool


def find_python_changes(paths: Iterable[str], trees: Trees) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Yield what the changed Python files take from those who import them."""
    modules = dict[Place, list[str]]()
    for path in paths:
        if not _NO_SURFACE.search(path) and (place := _find_place(path, trees)).parts:
            modules.setdefault(place, []).append(path)
    for place, found in modules.items():
        yield found[0], _compare_module(place, found, trees)


def _find_place(path: str, trees: Trees) -> Place:
    """Return the module of a file; one below `src` needs no `__init__` to be in a package."""
    folder, _, name = path.rpartition("/")
    parts = [] if name == "__init__.py" else [name.removesuffix(".py")]
    while folder and not folder.endswith("src"):
        has_init = trees.before(f"{folder}/__init__.py") or trees.after(f"{folder}/__init__.py")
        if has_init is None and "/src/" not in f"/{folder}/":
            break
        folder, _, own = folder.rpartition("/")
        parts.insert(0, own)
    root = f"{folder}/" if folder else ""
    above = root.removesuffix("src/").removesuffix("lib/").removesuffix("python/")
    texts = ((read_text(trees.before(above + one)) or "", mark) for one, mark in _PUBLISHED.items())
    return Place(root, tuple(parts), any(mark.search(text) for text, mark in texts))


class Version(NamedTuple):
    """One version of a module, and what of it is for others."""

    module: griffe.Module
    text: str
    exports: frozenset[str]
    is_listed: bool
    """Whether `__all__` says what it offers."""


def _compare_module(place: Place, paths: list[str], trees: Trees) -> Iterator[Fact]:
    old = next((one for one in paths if trees.before(one) is not None), None)
    new = next((one for one in paths if trees.after(one) is not None), None)
    if old is None:
        return
    try:
        before = _load(place, old, trees.before(old))
        public = {one for one in before.exports if _is_public(place, one, before, trees)}
        if _is_private(place):  # what its package now brings from elsewhere is not gone
            after = _load(place, new, trees.after(new)).exports if new is not None else set()
            public -= {one for one in public - after if _is_brought(place, one, trees.after)}
        if new is not None:
            yield from _compare(new, before, _load(place, new, trees.after(new)), public)
        elif public:
            name, last = ".".join(place.parts), place.parts[-1]
            names = sorted(public)
            listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")
            message = f"removes the module {name} with {listed}"
            yield Fact(
                "surface", message, old, 0, (old, f"{last}.py", name, last), is_breaking=True
            )
    except ImportError:
        yield skip_file(paths[0], "griffe is not installed")
    except Exception as error:  # noqa: BLE001 - a foreign reader of foreign code
        yield skip_file(paths[0], f"griffe cannot read it ({type(error).__name__})")


def _load(place: Place, path: str, content: bytes | None) -> Version:
    """Read one version of a module. Raises ValueError where it is no text of bearable size."""
    text = read_text(content)
    if text is None:
        raise ValueError(path)
    name, known = place.parts[-1], griffe.ModulesCollection()
    with one_at_a_time():
        module = griffe.visit(name, filepath=Path(path), code=text, modules_collection=known)
    known.members[name] = module  # so that the bases of a class are found in its own module
    if module.exports is not None:
        listed = frozenset(str(getattr(one, "name", one)) for one in module.exports)
        return Version(module, text, listed, is_listed=True)
    own = (name, place.parts[0]) if path.endswith("__init__.py") else ()
    offered = frozenset(key for key, one in module.members.items() if _is_offered(key, one, own))
    return Version(module, text, offered, is_listed=False)


def _is_offered(name: str, one: Member, own: tuple[str, ...]) -> bool:
    """Return whether a member is for others: no import but of an `__init__` from its package."""
    if one.is_alias:
        target = str(getattr(one, "target_path", "")).partition(".")[0]
        return target in own and not name.startswith("_") and not name.endswith("*")
    return not (name.startswith("_") or _FOR_TYPES.match(str(getattr(one, "value", ""))))


def _is_public(place: Place, name: str, module: Version, trees: Trees) -> bool:
    """Return whether others may rely on a name of a module.

    In a published project all that is not private may be imported, and of a private module what
    a package above it imports. Elsewhere it is what `__all__` lists, or another file uses.
    """
    if not place.is_published:
        return module.is_listed or trees.is_used(name, (".py",))
    return not _is_private(place) or _is_brought(place, name, trees.before)


def _is_private(place: Place) -> bool:
    return any(one.startswith("_") for one in place.parts)


def _is_brought(place: Place, name: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a package above a module names it in its `__init__`."""
    word = re.compile(rf"\b{re.escape(name)}\b|import\s+\*")
    folders = ("/".join(place.parts[:end]) for end in range(1, len(place.parts)))
    inits = (read(f"{place.root}{one}/__init__.py") for one in folders)
    return any(word.search(read_text(one) or "") for one in inits)


def _compare(path: str, before: Version, after: Version, public: set[str]) -> Iterator[Fact]:
    members = after.module.members
    gives_others = "__getattr__" in members or any(one.endswith("/*") for one in members)
    for name in sorted(public):
        if name not in members:  # where `__all__` still lists it, an import of it fails
            if not (gives_others and re.search(rf"\b{re.escape(name)}\b|\*", after.text)):
                yield _removed(path, name, name)
        elif name not in after.exports and before.is_listed and after.is_listed:
            yield _removed(path, name, f"{name} (left __all__)")
    values = _changed_values(before.module, after.module)
    for name in sorted(public & after.exports):
        old, new = before.module.members.get(name), members.get(name)
        if name in values and _CONSTANT.match(name):
            line = getattr(new, "lineno", 0) or 0
            what = f"{name} ({values[name]})"
            yield Fact("surface", what, path, line, names_of(name), title=VALUES)
        elif old is not None and new is not None and not old.is_alias and not new.is_alias:
            yield from _by_griffe(path, old, new)
            yield from _constant_defaults(path, name, new, values)


def _removed(path: str, name: str, what: str) -> Fact:
    return Fact("surface", what, path, 0, names_of(name), is_breaking=True, title=REMOVED)


def _by_griffe(path: str, old: Member, new: Member) -> Iterator[Fact]:
    """Yield what griffe finds in one member that is in both versions."""
    holders = griffe.Module("old"), griffe.Module("new")
    for holder, one in zip(holders, (old, new), strict=True):
        holder.exports = [one.name]
        holder.members[one.name] = one
    bases = ({*map(str, getattr(one, "bases", ()))} for one in (new, old))
    has_other_base = bool(next(bases) - next(bases))  # a member may come from it
    for found in griffe.find_breaking_changes(*holders):
        name = found.obj.path.partition(".")[2]
        what = _describe(found)
        own = str(getattr(found.new_value or found.old_value, "name", ""))
        if what:
            yield signature_fact(path, name, found.obj.lineno or 0, what, (own,))
        elif found.kind is griffe.BreakageKind.OBJECT_REMOVED and not has_other_base:
            yield _removed(path, name, name)


def _describe(found: griffe.Breakage) -> str:
    """Return what callers have to write in another way; empty for what breaks no call."""
    kinds, old, new = griffe.BreakageKind, found.old_value, found.new_value
    match found.kind:
        case kinds.PARAMETER_REMOVED:
            return f"without {old.name}"
        case kinds.PARAMETER_ADDED_REQUIRED | kinds.PARAMETER_CHANGED_REQUIRED:
            return f"needs {new.name}"
        case kinds.PARAMETER_MOVED:
            return f"{new.name} at another position"
        case kinds.PARAMETER_CHANGED_KIND:
            return f"{new.name} is {new.kind.value}"
        case kinds.PARAMETER_CHANGED_DEFAULT:
            now, was = shorten(str(new.default)), shorten(str(old.default))
            return f"{new.name} defaults to {now}, was {was}"
        case _:
            return ""


def _changed_values(before: griffe.Module, after: griffe.Module) -> dict[str, str]:
    """Return the values that attributes of a module had and have, of those that differ."""
    found = {}
    for name, old in before.members.items():
        new = after.members.get(name)
        if isinstance(old, griffe.Attribute) and isinstance(new, griffe.Attribute):
            was, now = str(old.value), str(new.value)
            if was != now:
                found[name] = f"{shorten(was)} → {shorten(now)}"
    return found


def _constant_defaults(path: str, name: str, new: Member, values: dict[str, str]) -> Iterator[Fact]:
    """Yield the parameters whose default is the name of a constant that changed."""
    functions = {name: new, **{f"{name}.{key}": one for key, one in new.members.items()}}
    for own, function in functions.items():
        for one in function.parameters if isinstance(function, griffe.Function) else ():
            default = str(one.default)
            if default in values and not own.rpartition(".")[2].startswith(
                "_" * (own[-2:] != "__")
            ):
                what = f"{one.name} defaults to {default}: {values[default]}"
                line = function.lineno or 0
                yield signature_fact(path, own, line, what, (one.name, default))
