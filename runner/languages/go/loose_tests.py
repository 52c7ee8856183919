"""Tests of before beside code of now, where they do not compile together.

Go compiles a package whole: one name that both declare, or one call of a function that has another
signature now, keeps all of its tests from running.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.c_like_lexer import line_of, mask_literals
from runner.languages.go import LITERALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DECLARED = re.compile(r"^(?P<kind>func|type|var|const|import)\b[ \t]*(?P<many>\()?", re.MULTILINE)
_FUNC = re.compile(r"func[ \t]+(?:\([^)]*?\*?(?P<of>\w+)(?:\[[^\]]*\])?\s*\)\s*)?(?P<name>\w+)")
_LISTED = re.compile(r"[ \t]*(\w+(?:[ \t]*,[ \t]*\w+)*)")
_IMPORT = re.compile(r"""(?P<alias>(?:[\w.]+[ \t]+)?)(?P<path>"[^"\n]+"|`[^`\n]+`)""")
_PACKAGE = re.compile(r"^package[ \t]+(\w+?)(?:_test)?[ \t]*$", re.MULTILINE)
_VERSION = re.compile(r"v\d+")
_METHOD = re.compile(r"func[ \t]*\([^()]*\)[ \t]*\Z")
_STARTED = re.compile(r"(?:Test|Benchmark|Example|Fuzz)(?![a-z])\w*")
"""Names by which `go test` finds what it starts (`go help testfunc`)."""
_FIRST = frozenset({"TestMain", "init"})
_NOBODYS = frozenset({"_", ".", "init"})
_BEFORE = "Before"


class _Part(NamedTuple):
    """A declaration at the top of a file."""

    kind: str
    start: int
    end: int
    names: frozenset[str]
    """What it declares; of an import by what its file calls it."""
    of: str = ""
    """The type of which it is a method."""


def loosen_tests(
    tests: Mapping[str, str], product: Mapping[str, str], errors: Mapping[str, frozenset[int]]
) -> dict[str, str]:
    """Those tests of one folder that become others; empty where none does.

    They get names of their own where the product has the same ones now; else they are without the
    declarations in which errors are. Nothing is taken out of what runs before every test: without
    it they would say something else.
    """
    return _with_own_names(tests, product) or _without(tests, errors)


def _parts(source: str) -> Iterator[_Part]:
    mask = mask_literals(source, LITERALS)
    starts = list(_DECLARED.finditer(mask))
    for at, match in enumerate(starts):
        kind, start = match["kind"], match.start()
        end = starts[at + 1].start() if at + 1 < len(starts) else len(source)
        if kind == "func":
            named = _FUNC.match(mask, start)
            of = named["of"] or "" if named else ""
            names = {named["name"]} if named and not of else set()
        elif kind == "import":
            of, names = "", set(map(_called, _IMPORT.finditer(source, match.end(), end)))
        else:
            of, names = "", set(_listed(mask[match.end() : end], many=bool(match["many"])))
        yield _Part(kind, start, end, frozenset(names), of)


def _called(match: re.Match[str]) -> str:
    """What a file calls a package that it imports."""
    parts = match["path"][1:-1].split("/")
    last = parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1]
    return match["alias"].strip() or last.partition(".")[0]


def _listed(mask: str, *, many: bool) -> Iterator[str]:
    for line in _outermost(mask).split("\n") if many else [mask]:
        if match := _LISTED.match(line):
            yield from (name.strip() for name in match[1].split(","))


def _outermost(mask: str) -> str:
    """What stands in a pair of brackets, without what stands in others within."""
    kept, depth = [], 0
    for letter in mask:
        depth -= letter in ")]}"
        if depth < 0:
            break
        if depth == 0:
            kept.append(letter)
        depth += letter in "([{"
    return "".join(kept)


# --- names that both have ------------------------------------------------------------------


def _with_own_names(tests: Mapping[str, str], product: Mapping[str, str]) -> dict[str, str]:
    parts = [part for source in product.values() for part in _parts(source)]
    theirs = {name for part in parts for name in part.names} - _NOBODYS
    declared = {name for part in parts if part.kind != "import" for name in part.names} - _NOBODYS
    read = {path: list(_parts(source)) for path, source in tests.items()}
    own = {
        name
        for parts in read.values()
        for part in parts
        for name in part.names & theirs
        if part.kind != "import" and not (part.kind == "func" and _STARTED.fullmatch(name))
    }
    found = {}
    for path, source in tests.items():
        imported = {name for one in read[path] if one.kind == "import" for name in one.names}
        renamed = _rename(source, own | imported & declared)
        if renamed != source:
            found[path] = renamed
    return found


def _rename(source: str, names: set[str]) -> str:
    """The same with another name for each of these, wherever it is that name that is meant."""
    if not names:
        return source
    mask = mask_literals(source, LITERALS)
    here = match[1] if (match := _PACKAGE.search(mask)) else ""
    word = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, names)))})(?!\w)")
    put = [
        (one.end(), _BEFORE)
        for one in word.finditer(mask)
        if not _is_selected(mask[: one.start()], here)
    ]
    for one in _parts(source):
        if one.kind == "import":
            put += [
                (match.start(), f"{_called(match)}{_BEFORE} ")
                for match in _IMPORT.finditer(source, one.start, one.end)
                if not match["alias"] and _called(match) in names
            ]
    for at, text in sorted(put, reverse=True):
        source = source[:at] + text + source[at:]
    return source


def _is_selected(before: str, package: str) -> bool:
    """Whether a name is a field's or a method's; a test beside its package selects its names."""
    before = before[-400:].rstrip(" \t")
    if before.endswith(".") and not before.endswith("..."):
        return not re.search(rf"(?<![\w.]){re.escape(package)}\.\Z", before)
    return bool(_METHOD.search(before))


# --- what does not compile -----------------------------------------------------------------


def _without(tests: Mapping[str, str], errors: Mapping[str, frozenset[int]]) -> dict[str, str]:
    read = {path: list(_parts(source)) for path, source in tests.items()}
    gone = {
        path: {part for part in parts if errors.get(path, frozenset()) & _lines(tests[path], part)}
        for path, parts in read.items()
    }
    wrong = [part for parts in gone.values() for part in parts]
    if any(part.names & _FIRST for part in wrong):
        return {}
    # A type without one of its methods would compile still, and say something else.
    types = {part.of for part in wrong} - {""}
    found = {}
    for path, source in tests.items():
        kept = source
        for part in reversed(read[path]):
            if part.kind == "import" and part in gone[path]:
                kept = _unused(kept, errors[path])
            elif part in gone[path] or (part.kind == "type" and part.names & types):
                kept = kept[: part.start] + kept[part.end :]
        if kept != source:
            found[path] = kept
    return found


def _lines(source: str, part: _Part) -> frozenset[int]:
    first = line_of(source, part.start)
    return frozenset(range(first, first + source.count("\n", part.start, part.end) + 1))


def _unused(source: str, lines: frozenset[int]) -> str:
    """The imports of these lines for what they do by being loaded alone."""
    kept = source.split("\n")
    for number in lines:
        if number <= len(kept):
            kept[number - 1] = _IMPORT.sub(r"_ \g<path>", kept[number - 1], count=1)
    return "\n".join(kept)
