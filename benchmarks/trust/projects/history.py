"""Good changes that were really made: commits of public projects, each as the work of one task.

`history.json` keeps of each its id, the test contract, and whether it changes tests that were
there; the bytes come from the bare repositories. `python history.py --repositories DIR --place DIR`
looks for more.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from changes import WRITTEN, Change, Files
from repositories import Project, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from repositories import Place

LISTED = Path(__file__).with_name("history.json")
_MOST_FILES = 12
_FIELDS = 6
"""Of a line that git says of a changed file, where its path has no blanks."""


def _projects() -> dict[str, dict]:
    return json.loads(LISTED.read_text(encoding="utf-8")) if LISTED.exists() else {}


def cases() -> list[Change]:
    """Every listed commit."""
    found = []
    for name, about in _projects().items():
        for commit, contract, existing, *packages in about["commits"]:
            installed = packages[0] if packages else about["packages"]
            project = Project(name, about["repository"], commit, packages=installed)
            found.append(_case(project, contract, existing=existing))
    return found


def _case(project: Project, contract: str, *, existing: bool) -> Change:
    return Change(
        name=f"commit-{project.name}-{project.commit[:10]}",
        family="real commits",
        part="good",
        project=project,
        edit=partial(_taken_over, project),
        contracts=(contract,),
        title="What the project's maintainers changed next",
        existing=existing,
    )


_AFTER: dict[str, dict[str, str]] = {}


def before(case: Change, place: Place) -> dict[str, str] | None:
    """The files of the commit's parent; nothing for a case that is no commit."""
    if case.part != "good" or case.family == WRITTEN:
        return None
    project = case.project
    _AFTER[project.commit] = _texts(place, project, project.commit)
    return _texts(place, project, f"{project.commit}^")


def _texts(place: Place, project: Project, commit: str) -> dict[str, str]:
    files = texts_of(place, project.repository, commit)
    if project.name == "humanize" and "src/humanize/_version.py" not in files:
        files["src/humanize/_version.py"] = '__version__ = "0"\n'
    return files


def _taken_over(project: Project, tree: Files) -> None:
    tree.files = dict(_AFTER.pop(project.commit))


# How the list was made.

_PYTEST = "{env}python3 -m pytest -q {tests}"
_SOURCES: dict[str, tuple[str, str, str, str, str]] = {
    # name: repository, packages, what is a test, what is code, the contract
    "boltons": ("mahmoud/boltons", "", r"tests/test_\w+\.py$", r"boltons/\w+\.py$", _PYTEST),
    "humanize": ("python-humanize/humanize", "", r"tests/test_\w+\.py$", r"src/.*\.py$", "S"),
    "itsdangerous": ("pallets/itsdangerous", "", r"tests/.*test_\w+\.py$", r"src/.*\.py$", "S"),
    "click": ("pallets/click", "", r"tests/test_\w+\.py$", r"src/.*\.py$", "S"),
    "marshmallow": (
        "marshmallow-code/marshmallow",
        "",
        r"tests/test_\w+\.py$",
        r"src/.*\.py$",
        "S",
    ),
    "typeguard": ("agronholm/typeguard", "", r"tests/test_\w+\.py$", r"src/.*\.py$", "S"),
    "inflect": ("jaraco/inflect", "", r"tests/test_\w+\.py$", r"inflect/.*\.py$", _PYTEST),
    "slugify": (
        "un33k/python-slugify",
        "",
        r"test\.py$",
        r"slugify/.*\.py$",
        "python3 -m unittest -q test",
    ),
    "qs": ("ljharb/qs", "qs", r"test/\w+\.js$", r"lib/.*\.js$", "npx tape {tests}"),
    "minimist": (
        "minimistjs/minimist",
        "tape",
        r"test/\w+\.js$",
        r"index\.js$",
        "npx tape {tests}",
    ),
    "ufo": ("unjs/ufo", "vitest", r"test/.*\.test\.ts$", r"src/.*\.ts$", "npx vitest run {tests}"),
    "defu": (
        "unjs/defu",
        "defu",
        r"test/.*\.test\.ts$",
        r"src/.*\.ts$",
        "npx vitest run {tests}",
    ),
    "pflag": ("spf13/pflag", "", r"\w+_test\.go$", r"\w+(?<!_test)\.go$", "go test ."),
    "semver": ("Masterminds/semver", "", r"\w+_test\.go$", r"\w+(?<!_test)\.go$", "go test ."),
    "uuid": ("google/uuid", "", r"\w+_test\.go$", r"\w+(?<!_test)\.go$", "go test ."),
    "more-itertools": (
        "more-itertools/more-itertools",
        "",
        r"tests/test_\w+\.py$",
        r"more_itertools/\w+\.py$",
        _PYTEST,
    ),
    "attrs": ("python-attrs/attrs", "", r"tests/test_\w+\.py$", r"src/.*\.py$", "S"),
    "structlog": (
        "hynek/structlog",
        "",
        r"tests/(?:.*/)?test_\w+\.py$",
        r"src/.*\.py$",
        "S",
    ),
    "toolz": (
        "pytoolz/toolz",
        "",
        r"toolz/.*tests/test_\w+\.py$",
        r"toolz/(?!.*tests/).*\.py$",
        _PYTEST,
    ),
    "schema": ("keleshev/schema", "", r"test_schema\.py$", r"schema(/__init__)?\.py$", _PYTEST),
    "packaging": (
        "pypa/packaging",
        "",
        r"tests/test_\w+\.py$",
        r"src/.*\.py$",
        "S",
    ),
    "glom": ("mahmoud/glom", "", r"glom/test/test_\w+\.py$", r"glom/\w+\.py$", _PYTEST),
    "pluggy": ("pytest-dev/pluggy", "", r"testing/test_\w+\.py$", r"src/.*\.py$", "S"),
    "mux": ("gorilla/mux", "", r"\w+_test\.go$", r"\w+(?<!_test)\.go$", "go test ."),
    "mapstructure": (
        "mitchellh/mapstructure",
        "",
        r"\w+_test\.go$",
        r"\w+(?<!_test)\.go$",
        "go test .",
    ),
    "pathe": (
        "unjs/pathe",
        "vitest3",
        r"test/.*\.spec\.ts$",
        r"src/.*\.ts$",
        "npx vitest run {tests}",
    ),
    "picomatch": (
        "micromatch/picomatch",
        "picomatch",
        r"test/[\w.-]+\.js$",
        r"lib/.*\.js$",
        "npx mocha {tests}",
    ),
    "cachetools": ("tkem/cachetools", "", r"tests/test_\w+\.py$", r"src/.*\.py$", "S"),
    "tomlkit": ("sdispater/tomlkit", "", r"tests/test_\w+\.py$", r"tomlkit/.*\.py$", _PYTEST),
    "mistune": ("lepture/mistune", "", r"tests/test_\w+\.py$", r"src/.*\.py$", "S"),
    "pyjwt": ("jpadilla/pyjwt", "", r"tests/test_\w+\.py$", r"jwt/.*\.py$", _PYTEST),
    "semanticversion": (
        "rbarrois/python-semanticversion",
        "",
        r"tests/test_\w+\.py$",
        r"semantic_version/.*\.py$",
        _PYTEST,
    ),
    "parsimonious": (
        "erikrose/parsimonious",
        "",
        r"parsimonious/tests/test_\w+\.py$",
        r"parsimonious/\w+\.py$",
        _PYTEST,
    ),
    "pyparsing": (
        "pyparsing/pyparsing",
        "",
        r"tests/test_\w+\.py$",
        r"pyparsing/.*\.py$",
        _PYTEST,
    ),
    "scule": (
        "unjs/scule",
        "vitest3",
        r"test/.*\.test\.ts$",
        r"src/.*\.ts$",
        "npx vitest run {tests}",
    ),
    "radix3": (
        "unjs/radix3",
        "vitest3",
        r"tests/.*\.test\.ts$",
        r"src/.*\.ts$",
        "npx vitest run {tests}",
    ),
    "braces": (
        "micromatch/braces",
        "picomatch",
        r"test/[\w.-]+\.js$",
        r"lib/.*\.js$",
        "npx mocha {tests}",
    ),
    "gorilla-schema": (
        "gorilla/schema",
        "",
        r"\w+_test\.go$",
        r"\w+(?<!_test)\.go$",
        "go test .",
    ),
    "go-version": (
        "hashicorp/go-version",
        "",
        r"\w+_test\.go$",
        r"\w+(?<!_test)\.go$",
        "go test .",
    ),
}


def _candidates(place: Place, name: str) -> Iterator[tuple[str, str, bool]]:
    """Commits that change code and tests together, newest first.

    Of defu only those were kept whose own `tsc --noEmit` passes with the packages here.
    """
    repository, _, tests, code, contract = _SOURCES[name]
    words = ("log", "--no-merges", "--raw", "--numstat", "--no-renames", "--format=%x00%H", "HEAD")
    log = place.must(place.root, "git", "-C", str(place.bare(repository)), *words)
    for text in log.split("\0")[1:]:
        commit, _, rest = text.partition("\n")
        raw = [line.split() for line in rest.splitlines() if line.startswith(":")]
        counted = [
            line.split("\t") for line in rest.splitlines() if line and line[0] in "0123456789-"
        ]
        if not raw or len(raw) > _MOST_FILES or any(one[0] == "-" for one in counted):
            continue
        modes = {mode for one in raw for mode in (one[0][1:], one[1])}
        exchanged = any(one[0][1:] != one[1] and one[4] == "M" for one in raw)
        if (
            not modes <= {"100644", "100755", "000000"}
            or exchanged
            or any(len(one) != _FIELDS for one in raw)
        ):
            continue
        touched = {one[5]: one[4] for one in raw}
        run = sorted(p for p, kind in touched.items() if kind != "D" and re.match(tests, p))
        if not run or not any(re.match(code, path) for path in touched):
            continue
        gone = {path: int(less) for _, less, path in counted}
        existing = any(
            kind != "A" and gone.get(path) and re.match(tests, path)
            for path, kind in touched.items()
        )
        form = _PYTEST.replace("{env}", "PYTHONPATH=src ") if contract == "S" else contract
        yield commit, form.format(env="", tests=" ".join(run)), existing


def _look(place: Place, most: int, names: list[str]) -> None:
    from outcome import laid, plain

    for name in names:
        repository, packages, *_ = _SOURCES[name]
        kept: list[list[object]] = []
        tried = 0
        for commit, contract, existing in _candidates(place, name):
            same = sum(one[2] == existing for one in kept)
            if same >= most * (0.6 if existing else 0.4) or tried > most * 4:
                continue
            tried += 1
            case = _case(
                Project(name, repository, commit, packages=packages), contract, existing=existing
            )
            try:
                wrong = plain(laid(case, place, before(case, place)), place)
            except (SystemExit, OSError, KeyError) as error:
                wrong = [str(error)]
            print(name, commit[:10], existing, "no" if wrong else "kept", flush=True)
            if not wrong:
                kept.append([commit, contract, existing])
        listed = _projects()
        listed[name] = {"repository": repository, "packages": packages, "commits": kept}
        LISTED.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import argparse

    from repositories import default_place, prepared

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--place", type=Path, default=default_place())
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("names", nargs="*", default=list(_SOURCES))
    given = parser.parse_args()
    _look(prepared(given.place, given.repositories), given.most, given.names)
