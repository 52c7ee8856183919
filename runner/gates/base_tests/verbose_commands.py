"""Commands that name every test they run, where a person's own would name those that failed."""

from __future__ import annotations

import re

from runner.languages.registry import code_language

_UNITTEST = re.compile(r"(?P<start>-m unittest)(?=\s|\Z)")
_QUIET = re.compile(r"(?<=\s)(?:-q|--quiet)(?=\s|\Z)")
_PYTEST_ENDS = re.compile(r"(?<=\s)(?:-x|--exitfirst|--maxfail[= ]\d+)(?=\s|\Z)")
_SCRIPT_ENDS = re.compile(r"(?<=\s)(?:-b|--bail(?:[= ]\d+)?)(?=\s|\Z)")
_SCRIPT_TOOL = re.compile(r"(?:\A|[\s/])(?:jest|vitest|mocha)(?=\s|\Z)")


def make_verbose_command(command: str) -> str:
    """The command so that it runs every test, and where it can by words alone, names each.

    The tools' reports name the others (`Check.named`).
    """
    line = command
    if _UNITTEST.search(line) and not re.search(r"\s(?:-v|--verbose)(?=\s|\Z)", line):
        line = _QUIET.sub("", _UNITTEST.sub(r"\g<start> -v", line))
    if _SCRIPT_TOOL.search(line):
        line = _SCRIPT_ENDS.sub("", line)
    return _PYTEST_ENDS.sub("", line) if "pytest" in line else line


def for_files(paths: tuple[str, ...], text: bytes, known: tuple[str, ...]) -> str:
    """A command that runs test files which no contract runs; empty where none is known.

    `text` is the content of one of them, `known` are the task's own test commands.
    """
    language = code_language(paths[0])
    if language is None or language.test_command is None:
        return ""
    return language.test_command(paths, text, " ".join(known))
