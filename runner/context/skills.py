"""Skills: folders with a SKILL.md; their bodies are read on demand.

The Agent Skills format: a Markdown file that begins with YAML between two lines of `---`, with
`name` (small letters, digits and dashes) and `description`. A repository's own come first; those
that ship with the runner stand in for the names it does not have.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.text.display import display
from runner.text.foreign_documents import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    import yaml

    from runner.config.settings import Settings
    from runner.context.tree import Tree
    from runner.plan.task_types import WorkType
else:
    yaml = lazy_module("yaml")

FILE = "SKILL.md"
CHECK = "skills"
BUILT_IN = Path(__file__).parent / "builtin_skills"
_NAME = regex(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
# Name, length and the folder of the same name follow the Agent Skills specification: a skill
# accepted here also works with other agents.
_LONGEST_NAME, _LONGEST_DESCRIPTION = 64, 1024
# A file saved by a Windows editor may start with a byte order mark before the dashes.
_FRONT = regex(r"\A\ufeff?---[ \t]*\n(.*?)^---[ \t]*$\n?", re.DOTALL | re.MULTILINE)


class Skill(Struct, frozen=True):
    """A skill by what its front matter says."""

    name: str
    description: str
    path: str
    """Path of its text: relative to the project, or absolute for a built-in one."""
    is_built_in: bool = False


class Skills(Struct, frozen=True):
    """The skills that were found, and the problems of the others."""

    found: tuple[Skill, ...] = ()
    warnings: tuple[Finding, ...] = ()


_FITS: dict[str, frozenset[str]] = {
    "tdd-loop": frozenset(
        {"bugfix", "schema-migration", "new-resource", "test-gen", "auth", "data", "ui", "api"}
    ),
    "mock-authoring": frozenset({"bugfix", "new-resource", "test-gen", "auth", "ui", "api"}),
    "tool-authoring": frozenset({"infra"}),
}
"""Built-in skills for some task types; the others are for all types."""


def skills_of(
    tree: Tree, settings: Settings, work: WorkType, *, is_planned: bool = False
) -> Skills:
    """Return the skills of a commit by name, completed by fitting built-in skills.

    A repository's own all come; a task of which nobody knows the type gets every built-in one. Who
    carries out a plan (`is_planned`) needs no skill on how to make one.
    """
    found: dict[str, Skill] = {}
    warnings: list[Finding] = []
    for path in _files(tree, settings) if settings.skills.auto_discover else ():
        text, why = tree.text(path)
        one = _read(path, text) if not why else _warning(path, 1, why)
        if isinstance(one, Skill) and one.name in found:
            one = _warning(path, 1, f"skill {one.name} already exists in {found[one.name].path}")
        if isinstance(one, Skill):
            found[one.name] = one
        else:
            warnings.append(one)
    if settings.skills.fallback_to_builtin:
        fitting = (skill for skill in load_built_in() if _fits(skill, work, is_planned=is_planned))
        found = {**{skill.name: skill for skill in fitting}, **found}
    ordered = sorted(found.values(), key=lambda skill: (skill.is_built_in, skill.name))
    return Skills(tuple(ordered), tuple(warnings))


def _fits(skill: Skill, work: WorkType, *, is_planned: bool) -> bool:
    if skill.name == "plan-mode":
        return not is_planned
    names = {row.name for row in work.rows}
    return not names or bool(names & _FITS.get(skill.name, frozenset(names)))


def body_of(skill: Skill, tree: Tree) -> str:
    """Return the text of a skill below its front matter; redacted if it is the repository's."""
    if skill.is_built_in:
        return load_built_in_text(skill.path) or ""
    return _body(tree.text(skill.path)[0])


def _body(text: str) -> str:
    return _FRONT.sub("", text.replace("\r\n", "\n"), count=1).strip() + "\n"


def load_built_in_text(path: str) -> str | None:
    """Return the body of a built-in skill by its path; None for any other path."""
    skill = next((one for one in load_built_in() if one.path == path), None)
    return None if skill is None else _body(Path(skill.path).read_text("utf-8"))


@cache
def load_built_in() -> tuple[Skill, ...]:
    """Return the skills included in the runner."""
    files = sorted(BUILT_IN.glob(f"*/{FILE}"))
    read = (_read(str(file), file.read_text("utf-8")) for file in files)
    return tuple(
        Skill(one.name, one.description, one.path, is_built_in=True)
        for one in read
        if isinstance(one, Skill)
    )


def _files(tree: Tree, settings: Settings) -> Iterator[str]:
    folders = [folder.removeprefix("./").rstrip("/") + "/" for folder in settings.skills.folders]
    for path in sorted(tree.files):
        if path.endswith(f"/{FILE}") and path.startswith(tuple(folders)):
            yield path


# --- front matter ---------------------------------------------------------------------


def _read(path: str, text: str) -> Skill | Finding:
    """Parse a skill; return a warning at the wrong line if it is invalid."""
    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    if front is None:
        begins = text.startswith("---")
        why = "its front matter has no closing `---`" if begins else "it has no front matter"
        return _warning(path, 1, why)
    fields = _fields(front[1])
    if isinstance(fields, tuple):
        line, message = fields
        return _warning(path, line, message)
    return _check_skill(path, front[1], fields)


def _check_skill(path: str, front: str, fields: dict[str, object]) -> Skill | Finding:
    name, description = fields.get("name"), fields.get("description")
    for key, value in (("name", name), ("description", description)):
        if not isinstance(value, str) or not value.strip():
            what = "is missing" if key not in fields else "must be a string"
            return _warning(path, _line_of(front, key), f"its {key} {what}")
    named, described = str(name).strip(), " ".join(str(description).split())
    if len(named) > _LONGEST_NAME or not _NAME.match(named):
        shown, most = display(named[:80]), _LONGEST_NAME
        message = f'its name "{shown}" must be at most {most} lower-case letters, digits and dashes'
        return _warning(path, _line_of(front, "name"), message)
    if path.split("/")[-2] != named:
        message = f'its name "{named}" differs from the name of its folder'
        return _warning(path, _line_of(front, "name"), message)
    if len(described) > _LONGEST_DESCRIPTION:
        message = f"its description is longer than {_LONGEST_DESCRIPTION} characters"
        return _warning(path, _line_of(front, "description"), message)
    return Skill(named, described, path)


def _fields(front: str) -> dict[str, object] | tuple[int, str]:
    """Parse the fields of a front matter; return line and reason if it is not YAML."""
    try:
        read = read_yaml(front)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "syntax error"
        # PyYAML counts lines from 0; the front matter starts on the file's second line.
        return (mark.line + 2 if mark else 2), f"its front matter is not YAML: {problem}"
    if not isinstance(read, dict):
        return 2, "its front matter must be lines of the form `key: value`"
    return {str(key): value for key, value in read.items()}


def _line_of(front: str, key: str) -> int:
    """Return the line of a field in the file, or 2 if it is missing."""
    lines = front.split("\n")
    return next((at for at, line in enumerate(lines, 2) if line.startswith(f"{key}:")), 2)


def _warning(path: str, line: int, message: str) -> Finding:
    return Finding(
        check=CHECK,
        message=f"skill ignored: {message}",
        path=path,
        line=line,
        severity=Severity.WARNING,
        hint="begin the file with `---`, `name: its-folder`, `description: when to use it`, `---`",
    )
