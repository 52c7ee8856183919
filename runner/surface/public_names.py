"""Find public names that a change removes or alters, in every supported language.

Python is read by griffe, which parses the source and imports nothing of it. Names that leave
`__all__`, or that an `__init__` imports for others, are compared here.
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.surface.change_facts import (
    LARGEST,
    SCRIPTS,
    Fact,
    Trees,
    folders_above,
    read_text,
    shorten,
    skip_file,
)
from runner.surface.declarations import (
    REMOVED,
    UnreadableError,
    compare_surfaces,
    names_of,
    read_names,
    signature_fact,
)
from runner.text.foreign_documents import parse_json
from runner.text.python_syntax import one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import griffe

    from runner.surface.declarations import Symbol

    Member = griffe.Object | griffe.Alias
else:
    griffe = lazy_module("griffe")


_INSIDE_GO = regex(r"(?:^|/)(?:internal|vendor|testdata|examples?|_[^/]*)/")
_LIBRARY_GO = regex(r"^package\s+(?!main\b)\w", re.MULTILINE)
_NO_SCRIPT = regex(r"\.min\.js\Z|\.config\.\w+\Z")
_BUILT = regex(r"\A(?:\./)?(?:(?:dist|build|out|lib|src|source|cjs|esm)/)*")
_EXPORTS_ALL = r"(?:\*\s*from\s*|exports\s*=\s*require\()['\"][^'\"]*\b%s(?:\.\w+)?['\"]"
_ENTRY_KEYS = ("main", "module", "types", "typings", "exports", "source", "browser")


def find_changes(trees: Trees) -> Iterator[Fact]:
    """Yield what the product files of a change take from those who use them."""
    python, packages = list[str](), dict[str, list[str]]()
    for one in trees.changes:
        path, versions = one.path, (trees.before(one.path), one.content)
        if trees.is_test(path) or not path.endswith((".py", ".go", ".rs", *SCRIPTS)):
            continue
        if any(len(version or b"") > LARGEST for version in versions):
            yield skip_file(path, f"the file is larger than {LARGEST // 1024} kB")
        elif path.endswith(".py"):
            python.append(path)
        elif (package := _find_package(path, trees)) is not None:
            packages.setdefault(package, []).append(path)
    for path, found in find_python_changes(python, trees) if python else ():
        yield from _collect(path, found, trees)
    for package, paths in packages.items():
        yield from _collect(paths[0], _compare_package(package, paths, trees), trees)


def _compare_package(package: str, paths: list[str], trees: Trees) -> Iterator[Fact]:
    """Yield what the changed files of a package take from those who import it.

    A name that moved to another changed file is still there. Raises UnreadableError.
    """
    before = {path: _read(path, trees.before) for path in paths}
    after = {path: _read(path, trees.after) for path in paths}
    everywhere = {name: one for names in after.values() for name, one in names.items()}
    for path, names in before.items():
        is_offered = _make_test(package, path, trees)
        shown = {name: one for name, one in names.items() if is_offered(name.partition(".")[0])}
        gives_all = any(name.startswith("* ") for name in after[path].keys() - names.keys())
        for fact in compare_surfaces(path, shown, everywhere | after[path]):
            if not (gives_all and fact.title == REMOVED):
                yield fact


def _read(path: str, read: Callable[[str], bytes | None]) -> dict[str, Symbol]:
    text = read_text(read(path))
    return read_names(path, text) if text else {}


def _collect(path: str, found: Iterable[Fact], trees: Trees) -> Iterator[Fact]:
    """Yield the facts of one file or package, or why there are none."""
    if trees.is_late:
        yield skip_file(path, "the time limit was reached")
        return
    try:
        yield from [*found]
    except UnreadableError as error:
        yield skip_file(path, str(error))
    except RecursionError:
        yield skip_file(path, "the code is nested too deeply")


def _find_package(path: str, trees: Trees) -> str | None:
    """Return the folder of a file's package with a slash; None for what nobody imports."""
    if path.endswith(".go"):
        text = read_text(trees.before(path)) or read_text(trees.after(path)) or ""
        is_library = _LIBRARY_GO.search(text) and not _INSIDE_GO.search(path)
        return posixpath.dirname(path) + "/" if is_library else None
    if path.endswith(".rs"):
        above, found, below = f"/{path}".rpartition("/src/")
        crate = f"{above}/".lstrip("/")
        is_program = not found or re.match(r"(?:main|bin)\b", below) or "/examples/" in f"/{crate}"
        is_library = not is_program and trees.before(f"{crate}src/lib.rs") is not None
        return crate if is_library else None
    if _NO_SCRIPT.search(path):
        return None
    packages = (one for one in folders_above(path) if trees.before(f"{one}package.json"))
    return next(packages, "")


def _make_test(package: str, path: str, trees: Trees) -> Callable[[str], bool]:
    """Return what tells whether others may rely on a name of a file.

    All names of Go, of an entry, of a public module, and of a file that is exported as a whole
    are. Else those that an entry, or a file of an application, uses.
    """
    if path.endswith(".go"):
        return lambda _name: True
    stem, word = _stem(path[len(package) :]), r"\b"
    endings: tuple[str, ...] = (".rs",)
    if path.endswith(".rs"):
        parts = stem.removesuffix("/mod").split("/")
        is_entry, word = parts == ["lib"], r"\bpub\s+use\b[^;]*\b"
        patterns = [rf"\bpub\s+mod\s+{re.escape(one)}\s*[;{{]" for one in parts]
    else:
        entries = _find_entries(package, trees)
        is_entry = any(fnmatch(stem, one) for one in entries)
        patterns = [_EXPORTS_ALL % re.escape(stem.removesuffix("/index").rpartition("/")[2])]
        files = {"index", *(one.rpartition("/")[2] for one in entries)}
        endings = tuple(f"/{one}{end}" for one in files for end in SCRIPTS)
        if not entries:
            return lambda name: trees.is_used(name, SCRIPTS)
    if is_entry or all(trees.has_before(one, endings) for one in patterns):
        return lambda _name: True
    return lambda name: trees.has_before(rf"{word}{re.escape(name)}\b", endings)


def _find_entries(folder: str, trees: Trees) -> list[str]:
    """Return the stems of the files that a package offers; none where it is not published."""
    try:
        package = parse_json(read_text(trees.before(f"{folder}package.json")) or "{}")
    except ValueError:
        return []
    if not isinstance(package, dict) or package.get("private") or not package.get("name"):
        return []
    targets = [_stem(one) for key in _ENTRY_KEYS for one in _strings(package.get(key))]
    return targets or ["index"]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _stem(path: str) -> str:
    """Return a path without endings and the folders that sources are built from and to."""
    folder, _, name = _BUILT.sub("", path).rpartition("/")
    return f"{folder}/{name.partition('.')[0]}".lstrip("/")


_NO_SURFACE = regex(
    r"(?:^|/)(?:tests?|testing|docs?|examples?|benchmarks?|scripts|tools|ci)/"
    r"|(?:^|/)(?:setup|conftest|noxfile|fabfile|tasks|dodo|manage|wsgi|asgi)\.py\Z"
)
_PUBLISHED = (
    *(("pyproject.toml", "[project]"), ("pyproject.toml", "[tool.poetry]")),
    *(("setup.cfg", "\nname"), ("setup.py", "setup(")),
)
"""Keys of a manifest that give a project the name for installing it."""


class ModulePlace(NamedTuple):
    """The place of a module in its project."""

    root: str
    """Folder that contains its first part; empty for the top, else with a slash."""
    parts: tuple[str, ...]
    """Parts of its dotted name."""
    is_published: bool


def find_python_changes(paths: Iterable[str], trees: Trees) -> Iterator[tuple[str, Iterable[Fact]]]:
    """Yield what the changed Python files take from those who import them."""
    modules = dict[ModulePlace, list[str]]()
    for path in paths:
        if not _NO_SURFACE.search(path) and (place := _find_place(path, trees)).parts:
            modules.setdefault(place, []).append(path)
    for place, found in modules.items():
        yield found[0], _compare_module(place, found, trees)


def _find_place(path: str, trees: Trees) -> ModulePlace:
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
    marks = (mark in (read_text(trees.before(above + one)) or "") for one, mark in _PUBLISHED)
    return ModulePlace(root, tuple(parts), any(marks))


class Version(NamedTuple):
    """One version of a module, and what of it is for others."""

    module: griffe.Module
    text: str
    exports: frozenset[str]


def _compare_module(place: ModulePlace, paths: list[str], trees: Trees) -> Iterator[Fact]:
    old = next((one for one in paths if trees.before(one) is not None), None)
    new = next((one for one in paths if trees.after(one) is not None), paths[0])
    if old is None:
        return
    try:
        before, after = (
            _load_version(place, old, trees.before(old)),
            _load_version(place, new, trees.after(new)),
        )
        for fact in _compare_versions(
            new, before, after, lambda name: _is_public(place, name, before, after, trees)
        ):
            whole = (old, ".".join(place.parts), f"{place.parts[-1]}.py")
            yield fact if trees.after(old) is not None else replace(fact, names=fact.names + whole)
    except ImportError:
        yield skip_file(paths[0], "griffe is not installed")
    except Exception as error:  # noqa: BLE001 - a foreign reader of foreign code
        yield skip_file(paths[0], f"griffe cannot read the file ({type(error).__name__})")


def _load_version(place: ModulePlace, path: str, content: bytes | None) -> Version:
    """Read one version of a module, an empty one where it is gone. Raises ValueError."""
    text = read_text(content or b"")
    if text is None:
        raise ValueError(path)
    name, known = place.parts[-1], griffe.ModulesCollection()
    with one_at_a_time():
        module = griffe.visit(name, filepath=Path(path), code=text, modules_collection=known)
    known.members[name] = module  # so that the bases of a class are found in its own module
    _fill_defaults(module)
    if module.exports is not None:
        listed = frozenset(str(getattr(one, "name", one)) for one in module.exports)
        return Version(module, text, listed)
    own = (name, place.parts[0]) if path.endswith("__init__.py") else ()
    offered = frozenset(key for key, one in module.members.items() if _is_offered(key, one, own))
    return Version(module, text, offered)


def _fill_defaults(holder: griffe.Module | griffe.Class) -> None:
    """Write the value of a constant into the defaults that name it, so that both are compared."""
    for one in holder.members.values():
        if isinstance(one, griffe.Class):
            _fill_defaults(one)
        for parameter in one.parameters if isinstance(one, griffe.Function) else ():
            constant = holder.module.members.get(str(parameter.default))
            if isinstance(constant, griffe.Attribute):
                parameter.default = f"{parameter.default} = {constant.value}"


def _is_offered(name: str, one: Member, own: tuple[str, ...]) -> bool:
    """Return whether a member is for others: no import but of an `__init__` from its package."""
    if one.is_alias:
        target = str(getattr(one, "target_path", "")).partition(".")[0]
        return target in own and not name.startswith("_") and not name.endswith("*")
    return not name.startswith("_")


def _is_public(place: ModulePlace, name: str, old: Version, new: Version, trees: Trees) -> bool:
    """Return whether others may rely on a name of a module.

    Of a published project: what is not private, or what a package above imports. Elsewhere: what
    `__all__` lists, or another file uses. Never what the package now brings from elsewhere.
    """
    if _is_private(place) and name not in new.exports and _is_reexported(place, name, trees.after):
        return False
    if not place.is_published:
        return old.module.exports is not None or trees.is_used(name, (".py",))
    return not _is_private(place) or _is_reexported(place, name, trees.before)


def _is_private(place: ModulePlace) -> bool:
    return any(one.startswith("_") for one in place.parts)


def _is_reexported(place: ModulePlace, name: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a package above a module names it in its `__init__`."""
    word = re.compile(rf"\b{re.escape(name)}\b|import\s+\*")
    folders = ("/".join(place.parts[:end]) for end in range(1, len(place.parts)))
    inits = (read(f"{place.root}{one}/__init__.py") for one in folders)
    return any(word.search(read_text(one) or "") for one in inits)


def _compare_versions(
    path: str, before: Version, after: Version, is_public: Callable[[str], bool]
) -> Iterator[Fact]:
    members = after.module.members
    gives_others = "__getattr__" in members or any(one.endswith("/*") for one in members)
    for name in sorted(before.exports - after.exports | before.exports - members.keys()):
        if name not in members:  # where `__all__` still lists it, an import of it fails
            word = rf"\b{re.escape(name)}\b|\*"
            if not (gives_others and re.search(word, after.text)) and is_public(name):
                yield _removed(path, name, name)
        elif None not in (before.module.exports, after.module.exports) and is_public(name):
            yield _removed(path, name, f"{name} (no longer in __all__)")
    for name in sorted(before.exports & after.exports):
        old, new = before.module.members.get(name), members.get(name)
        if old is not None and new is not None and not old.is_alias and not new.is_alias:
            # Last, since it reads all files; of a class first, which griffe may fail to compare.
            facts = tuple(_by_griffe(path, old, new)) if not old.is_class or is_public(name) else ()
            yield from facts if facts and is_public(name) else ()


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
        changed = found.new_value or found.old_value
        constant, found_constant, _ = str(getattr(changed, "default", "")).partition(" = ")
        also = (str(getattr(changed, "name", "")), constant if found_constant else "")
        if what:
            yield signature_fact(path, name, found.obj.lineno or 0, what, also)
        elif found.kind is griffe.BreakageKind.OBJECT_REMOVED and not has_other_base:
            yield _removed(path, name, name)


def _describe(found: griffe.Breakage) -> str:
    """Return what callers have to write in another way; empty for what breaks no call."""
    kinds, old, new = griffe.BreakageKind, found.old_value, found.new_value
    match found.kind:
        case kinds.PARAMETER_REMOVED:
            return f"no longer takes {old.name}"
        case kinds.PARAMETER_ADDED_REQUIRED | kinds.PARAMETER_CHANGED_REQUIRED:
            return f"requires {new.name}"
        case kinds.PARAMETER_MOVED:
            return f"{new.name} moved to another position"
        case kinds.PARAMETER_CHANGED_KIND:
            return f"{new.name} is {new.kind.value}"
        case kinds.PARAMETER_CHANGED_DEFAULT:
            now, was = shorten(str(new.default)), shorten(str(old.default))
            return f"{new.name} defaults to {now}, was {was}"
        case _:
            return ""
