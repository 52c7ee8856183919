"""Commands that name every test they run, where a person's own would name those that failed."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_GO = re.compile(r"(?P<start>(?:\A|[\s;&|(])go test)(?=\s|\Z)")
_UNITTEST = re.compile(r"(?P<start>-m unittest)(?=\s|\Z)")
_QUIET = re.compile(r"(?<=\s)(?:-q|--quiet)(?=\s|\Z)")
_JEST = re.compile(r"(?P<start>(?:\A|[\s/])jest)(?=\s|\Z)")
_CARGO = re.compile(r"(?P<start>(?:\A|[\s;&|(])cargo (?:\+\S+ )?(?:test|t))(?=\s|\Z)")
_PYTEST_ENDS = re.compile(r"(?<=\s)(?:-x|--exitfirst|--maxfail[= ]\d+)(?=\s|\Z)")
_SCRIPT = re.compile(
    r"(?:npm|pnpm|yarn|bun)(?:\s+(?:-s|--silent))?\s+(?:run(?:-script)?\s+)?(?P<name>[\w:.-]+)"
    r"(?:\s+(?:-s|--silent))?\Z"
)
_PLAIN = re.compile(r"[^;&|<>`$\n()]*")


def listed(command: str, read: Callable[[str], bytes | None]) -> str:
    """The command so that its tool names each test; as it is where that is not known.

    A script of package.json is started as package managers do, with its programs on PATH.
    """
    line = _script_of(command, read) or command
    if _GO.search(line) and not re.search(r"\s-(?:v|json)(?=\s|\Z)", line):
        line = _GO.sub(r"\g<start> -v", line)
    if _UNITTEST.search(line) and not re.search(r"\s(?:-v|--verbose)(?=\s|\Z)", line):
        line = _QUIET.sub("", _UNITTEST.sub(r"\g<start> -v", line))
    if _JEST.search(line) and "--verbose" not in line and _PLAIN.fullmatch(line):
        line += " --verbose"
    if _CARGO.search(line):
        line = _CARGO.sub(r"\g<start> --no-fail-fast", _QUIET.sub("", line))
    return _PYTEST_ENDS.sub("", line) if "pytest" in line else line


def _script_of(command: str, read: Callable[[str], bytes | None]) -> str:
    """What a script of package.json says; empty where the command starts none, or more than one."""
    match = _SCRIPT.fullmatch(command.strip())
    content = read("package.json") if match else None
    if match is None or content is None:
        return ""
    try:
        scripts = json.loads(content).get("scripts", {})
    except (ValueError, AttributeError):
        return ""
    name = match["name"]
    if not isinstance(scripts, dict) or {f"pre{name}", f"post{name}"} & scripts.keys():
        return ""
    script = scripts.get("test" if name == "t" else name)
    if not isinstance(script, str) or not _PLAIN.fullmatch(script) or _SCRIPT.fullmatch(script):
        return ""
    return f'PATH="$PWD/node_modules/.bin:$PATH" {script}'


def for_files(paths: tuple[str, ...], text: bytes, known: tuple[str, ...]) -> str:
    """A command that runs test files which no contract runs; empty where none is known.

    `text` is the content of one of them, `known` are the task's own test commands.
    """
    ending = paths[0].rpartition(".")[2]
    named = " ".join(map(shlex.quote, paths))
    told = " ".join(known)
    if ending == "py":
        python = next(iter(re.findall(r"\S*python[\d.]*(?= -m )", told)), "python3")
        if b"unittest" in text and b"pytest" not in text and "pytest" not in told:
            return f"{python} -m unittest -v {named}"
        return f"{python} -m pytest -q {named}"
    if ending == "go":
        folders = sorted({f"./{path.rpartition('/')[0]}".rstrip("/") for path in paths})
        return f"go test -v {' '.join(map(shlex.quote, folders))}"
    if ending in ("js", "mjs", "cjs") and b"node:test" in text:
        return f"node --test {named}"
    return ""
