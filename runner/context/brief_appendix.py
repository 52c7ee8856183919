"""The part of a brief that surrounds the task: tests, skills, decisions, files, and the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.context.text_bounds import code, fence
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.context.decisions import Recorded
    from runner.context.files import ContextFile
    from runner.context.skills import Skill
    from runner.context.test_sources import ProvingText
    from runner.context.text_bounds import Bounds

_TEST, _TESTS = 6_000, 6
_DECISION, _DECISIONS = 600, 12
_SKILLS = 24
_LANGUAGES = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "jsx": "jsx",
    "ts": "typescript",
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "md": "markdown",
    "sh": "sh",
    "sql": "sql",
    "json": "json",
    "toml": "toml",
    "yml": "yaml",
    "yaml": "yaml",
    "html": "html",
    "css": "css",
}
_BECAUSE = {
    "plan": "named by the plan",
    "task": "named by the task",
    "neighbour": "imports it, or is imported",
    "pattern": "an example of a pattern",
    "kind": "the nearest of its kind",
}


def tests(texts: Sequence[ProvingText], bounds: Bounds) -> str:
    """The text of the tests that are there already."""
    shown = texts[: bounds.count(_TESTS)]
    told = [
        f"### {display(one.contract)}: {code(one.path)}\n\n"
        f"{fence(bounds.head(one.text, _TEST), _language(one.path))}"
        for one in shown
    ]
    return _with_rest(told, [one.path for one in texts[len(shown) :]])


def skills(found: Sequence[Skill], bounds: Bounds) -> str:
    """Names and descriptions; whoever needs a body reads it."""
    if not found:
        return ""
    shown = found[: bounds.count(_SKILLS)]
    told = "Read the file of a skill when what it says of itself fits what you do:"
    lines = [
        f"- {display(one.name)}: {display(bounds.whole(one.description))} ({code(one.path)})"
        for one in shown
    ]
    return "\n".join([f"{told}\n", *lines, *_and_more(len(found) - len(shown))])


def decisions(found: Sequence[Recorded], bounds: Bounds) -> str:
    """What was decided before about the files of the task; it holds until it is decided anew."""
    shown = found[: bounds.count(_DECISIONS)]
    told = [_decision(one, bounds) for one in shown]
    return "\n\n".join([*told, *_and_more(len(found) - len(shown))])


def _decision(one: Recorded, bounds: Bounds) -> str:
    said = one.decision
    parts = (
        f"### {one.id}: {display(said.title)} ({display(one.because)})",
        f"{bounds.head(said.decision or said.title, _DECISION)}",
        f"Because: {bounds.head(said.context, _DECISION)}" if said.context else "",
        f"Trade-off: {bounds.head(said.tradeoff, _DECISION)}" if said.tradeoff else "",
    )
    return "\n\n".join(filter(None, parts))


def files(found: Iterable[ContextFile], bounds: Bounds) -> str:
    """Whole files, as the commit has them that the work starts on."""
    return "\n\n".join(
        f"### {code(one.path)} ({_BECAUSE[one.because]}{', its beginning' if one.is_cut else ''})"
        f"\n\n{fence(bounds.whole(one.text), _language(one.path))}"
        for one in found
    )


def index(lines: Sequence[str]) -> str:
    """Path, exported names and number of lines of the files that matter."""
    return fence("\n".join(map(display, lines))) if lines else ""


def _language(path: str) -> str:
    return _LANGUAGES.get(path.rpartition(".")[2].casefold(), "text")


def _with_rest(told: list[str], rest: list[str]) -> str:
    more = [f"Also run: {', '.join(map(code, rest))}"] if rest else []
    return "\n\n".join([*told, *more])


def _and_more(number: int) -> list[str]:
    return [f"… and {number} more"] if number > 0 else []
