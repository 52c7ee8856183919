"""Board B: two changes of a real project, each green alone, red together.

One renames a name (or an argument) that nothing outside of the package uses, with all its uses;
the other adds a module and its test that use the old name. Projects are source distributions of
PyPI, fetched by exact version and digest when they are first needed; nothing of them is kept here.
"""

from __future__ import annotations

import ast
import hashlib
import json
import random
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from case import Case, Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A project: its archive, its package and the tests that are quick."""

    name: str
    version: str
    digest: str
    package: str
    modules: tuple[str, ...]
    """In which names are taken, below the package."""
    tests: tuple[str, ...]
    license: str

    @property
    def command(self) -> str:
        """The project's tests."""
        return f"python3 -m unittest -q {' '.join(f'tests.{one}' for one in self.tests)}"


SOURCES = (
    Source(
        "cachetools",
        "5.3.0",
        "13dfddc7b8df938c21a940dfa6557ce6e94a2f1cdfa58eb90c805721d58f2c14",
        "cachetools",
        ("__init__", "keys", "func"),
        ("test_keys", "test_lru", "test_func", "test_ttl"),
        "MIT",
    ),
    Source(
        "idna",
        "3.10",
        "12f65c9b470abda6dc35cf8e63cc574b1c52b11df2c86030af0ac09b01b13ea9",
        "idna",
        ("core", "intranges"),
        ("test_idna", "test_idna_codec", "test_idna_compat", "test_intranges"),
        "BSD-3-Clause",
    ),
    Source(
        "more-itertools",
        "10.5.0",
        "5482bfef7849c25dc3c6dd53a6173ae4795da2a41a80faea6700d9f5846c5da6",
        "more_itertools",
        ("recipes",),
        ("test_recipes",),
        "MIT",
    ),
)
SHORTEST = 3
"""Letters of an argument that is renamed."""
NAMES, ARGUMENTS, FAIR = 4, 2, 2
"""Of each project and half: names, arguments, and pairs that are green together."""


@dataclass(frozen=True)
class Use:
    """A name of a module, or an argument of a function of it."""

    module: str
    name: str
    argument: str = ""


def fetched(source: Source, place: Path) -> Path:
    """The archive of a project; another digest than the one above is an error."""
    folder = place / "sdists"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{source.name.replace('-', '_')}-{source.version}.tar.gz"
    other = folder / f"{source.name}-{source.version}.tar.gz"
    if not (file.exists() or other.exists()):
        wanted = ("--no-deps", "--no-binary", ":all:", f"{source.name}=={source.version}")
        words = (sys.executable, "-m", "pip", "download", "-q", "-d", str(folder), *wanted)
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    file = file if file.exists() else other
    if hashlib.sha256(file.read_bytes()).hexdigest() != source.digest:
        raise SystemExit(f"error: {file.name} is not the archive that the cases were made of")
    return file


def texts(source: Source, place: Path) -> dict[str, str]:
    """The package and its tests, the package at the top whatever folder it lay in."""
    found = {}
    with tarfile.open(fetched(source, place)) as packed:
        for member in packed.getmembers():
            path = member.name.partition("/")[2].removeprefix("src/")
            top = path.partition("/")[0]
            inside = path.endswith(".py") and top in {source.package, "tests"}
            if member.isfile() and (inside or path.startswith("LICENSE")):
                file = packed.extractfile(member)
                found[path] = file.read().decode() if file else ""
    return found


def uses(source: Source, files: dict[str, str]) -> tuple[list[Use], list[Use]]:
    """Names and arguments that the project's tests do not name, in a fixed order."""
    tests = "\n".join(text for path, text in files.items() if path.startswith("tests/"))
    names, arguments = [], []
    for module in source.modules:
        for node in ast.parse(files[f"{source.package}/{module}.py"]).body:
            names += [
                Use(module, name)
                for name in _named(node)
                if not _stands(name, tests) and not _exported(name, files, source)
            ]
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                told = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
                arguments += [
                    Use(module, node.name, one)
                    for one in told
                    if len(one) >= SHORTEST and not re.search(rf"\b{one}=", tests)
                ]
    return names, arguments


def _named(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [one.id for one in node.targets if isinstance(one, ast.Name)]
    return []


def _stands(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _exported(name: str, files: dict[str, str], source: Source) -> bool:
    """Whether it is more than a word of the code, or named by a star or in quotes."""
    own = [text for path, text in files.items() if path.startswith(source.package)]
    return name.startswith("__") or any(f'"{name}"' in one or f"'{name}'" in one for one in own)


def renamed(use: Use, source: Source, files: dict[str, str]) -> dict[str, str | None]:
    """The files in which the name, or the argument within its function, becomes another."""
    path = f"{source.package}/{use.module}.py"
    if not use.argument:
        pattern = re.compile(rf"\b{re.escape(use.name)}\b")
        return {
            one: pattern.sub(f"{use.name}_of_old", text)
            for one, text in files.items()
            if one.startswith(source.package) and pattern.search(text)
        }
    text = files[path]
    node = next(
        one
        for one in ast.parse(text).body
        if isinstance(one, ast.FunctionDef) and one.name == use.name
    )
    whole = ast.get_source_segment(text, node) or ""
    changed = re.sub(rf"\b{use.argument}\b", f"{use.argument}_given", whole)
    return {path: text.replace(whole, changed)}


def used(use: Use, source: Source) -> tuple[str, str, dict[str, str | None]]:
    """A new module and its test that use the old name: the test's name, its path, both texts."""
    word = re.sub(r"\W", "", f"{use.name}_{use.argument}").strip("_").lower()
    where = f"{source.package}.{use.module}".removesuffix(".__init__")
    if use.argument:
        code = (
            f"from inspect import signature\n\nfrom {where} import {use.name}\n\n\n"
            f"def accepts(word):\n    return word in signature({use.name}).parameters\n"
        )
        claim = f"self.assertTrue(accepts({use.argument!r}))"
        function = "accepts"
    else:
        code = (
            f"from {where} import {use.name}\n\n\n"
            f"def described():\n    return type({use.name}).__name__ + ' {use.name}'\n"
        )
        claim = f"self.assertIn({use.name!r}, described())"
        function = "described"
    test = (
        f"import unittest\n\nfrom {source.package}.about_{word} import {function}\n\n\n"
        f"class AboutTest(unittest.TestCase):\n    def test_it(self):\n        {claim}\n"
    )
    path = f"tests/test_about_{word}.py"
    return f"tests.test_about_{word}", word, {f"{source.package}/about_{word}.py": code, path: test}


def _pair(
    source: Source, files: dict[str, str], use: Use, other: Use, half: str, *, renames_first: bool
) -> Case:
    """`use` is renamed, `other` is used: the same one is a bad pair."""
    edits = renamed(use, source, files)
    rename = Task(
        name="rename",
        title=f"Rename {use.argument or use.name} in {use.module}",
        prose="Every use of it is changed, too; the project's tests still pass.",
        outputs=tuple(sorted(edits)),
        test=source.command,
        edits=edits,
    )
    test, word, new = used(other, source)
    more = Task(
        name="more",
        title=f"Add about_{word}",
        prose=f"A module that looks at {other.name}, with its test.",
        outputs=tuple(sorted(new)),
        test=f"python3 -m unittest -q {test}",
        edits=new,
    )
    kind = "bad" if use == other else "good"
    family = ("argument" if use.argument else "name") if kind == "bad" else "fair"
    return Case(
        "B",
        f"B-{source.name}-{family}-{word}-{half}",
        f"{source.name}-{family}",
        kind,
        files,
        (rename, more) if renames_first else (more, rename),
        half,
        together=f"{rename.test} {test}",
        source={"name": source.name, "version": source.version, "sha256": source.digest},
    )


def cases(seed: str, half: str, each: int, place: Path) -> list[Case]:
    """Pairs of every project; each pair's order is chance's."""
    found = []
    for source in SOURCES:
        files = texts(source, place)
        names, arguments = uses(source, files)
        chance = random.Random(json.dumps([seed, "B", source.name]))
        bad = chance.sample(names, min(NAMES * each, len(names)))
        bad += chance.sample(arguments, min(ARGUMENTS * each, len(arguments)))
        orders = [bool(at % 2) for at in range(len(bad))]
        chance.shuffle(orders)
        found += [
            _pair(source, files, use, use, half, renames_first=first)
            for use, first in zip(bad, orders, strict=True)
        ]
        for _ in range(FAIR * each):
            use, other = chance.sample(names, 2)
            found.append(_pair(source, files, use, other, half, renames_first=True))
    return found


def holds(case: Case, run: Callable[[dict[str, str | None], str], bool]) -> bool:
    """Whether each change is green alone, and the two together as the case says.

    `run(edits, command)` applies edits to the project and says whether a command passes there.
    """
    first, second = case.tasks
    alone = all(run(task.edits, task.test) for task in case.tasks)
    both = run({**first.edits, **second.edits}, case.together)
    return alone and both == (case.kind == "good")
