"""Where a wish comes from: words, a file, or issues of a forge; always material, never an order."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from runner.app.write.foreign_files import read_text
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.process.tools import capture, which
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LONGEST = 40_000
"""Characters of a wish."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asks for."""

    text: str
    source: str = ""
    """A file or issues; empty for words that were typed."""

    @property
    def title(self) -> str:
        """Its first line with words."""
        lines = (line.strip("# \t") for line in self.text.splitlines())
        return next((line for line in lines if line), "")[:100]


def wish_of_words(text: str) -> Wish:
    """Words of the command line. Raises RunnerError where there are none."""
    return Wish(_clean(text, "the wish"))


def file_wish(root: Path, path: Path) -> Wish:
    """A file's text. Raises RunnerError where it cannot be read."""
    resolved = path.resolve()
    inside = resolved.is_relative_to(root.resolve())
    shown = resolved.relative_to(root.resolve()).as_posix() if inside else path.name
    return Wish(_clean(read_text(path), shown), shown)


def issue_wish(root: Path, numbers: tuple[int, ...], environ: Mapping[str, str]) -> Wish:
    """Issues of the repository's forge, read by `gh` with the person's login, as one wish.

    Raises RunnerError where `gh` is missing or does not give them.
    """
    tool = which("gh", environ)
    if tool is None:
        raise RunnerError(
            "issues are read by gh, which is not on PATH",
            hint="install it and `gh auth login`; or save the issue: runner draft --file issue.md",
            code=ExitCode.PERSON,
        )
    texts = [_issue(str(tool), number, root, environ) for number in numbers]
    return Wish(_clean("\n\n".join(texts), "the issue"), ", ".join(f"issue {n}" for n in numbers))


def _issue(tool: str, number: int, root: Path, environ: Mapping[str, str]) -> str:
    path = f"repos/{{owner}}/{{repo}}/issues/{number}"
    code, out = capture([tool, "api", path], root, environ, _SECONDS)
    try:
        said = json.loads(out) if code == 0 else None
    except ValueError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("title"), str):
        raise RunnerError(
            f"gh gave no issue {number}",
            detail=redact(out.decode("utf-8", "replace"))[-500:],
            hint=f"try: gh api {path}",
        )
    return f"# {said['title']}\n\n{said.get('body') or ''}"


def _clean(text: str, what: str) -> str:
    """Words that can be seen, without secrets and comments."""
    seen = display(redact(_COMMENT.sub(" ", text.replace("\r\n", "\n"))), lines=True).strip()
    if not seen:
        raise RunnerError(f"{what} says nothing", hint='runner draft "what is wished for"')
    if len(seen) > LONGEST:
        raise RunnerError(f"{what} is longer than {LONGEST} characters", hint="draft it in parts")
    return seen
