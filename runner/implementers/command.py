"""The `command` implementer: any program, an agent perhaps, works in the scratch tree.

It is told the brief on standard input and in the file `$RUNNER_BRIEF`, gets `$RUNNER_TASK` and
`$RUNNER_ATTEMPT`, the diff of the failed attempt before it in `$RUNNER_DRAFT` where there is
one, and may report decisions in its output or in the file `$RUNNER_DECISIONS`.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner import effects
from runner.implementers.base import CHECK, Answer, Said
from runner.implementers.work import (
    decisions_in,
    failure,
    output_of,
    read_regular,
    summary_of,
    work,
)
from runner.model import Finding
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.implementers.base import ImplementerContext
    from runner.model import Task

NAME = "command"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs a shell line in the scratch tree."""

    line: str
    name: str = NAME
    is_agent: bool = False
    repeatable: bool = False

    @classmethod
    def for_task(cls, task: Task, settings: Settings) -> CommandLine | Finding:
        """The task's Command, else the project's."""
        line = task.command or settings.command
        if line:
            return cls(line)
        return Finding(
            CHECK,
            f"{task.id} has no Command, and the project has none",
            hint="add - Command: `…`, or set command in the settings",
        )

    def implement(self, brief: Brief, bench: ImplementerContext) -> Said:
        """Let the program change the tree."""
        with _papers(brief, bench) as papers:
            told = papers.environment(brief, bench)
            ran = work(self.line, bench, told, stdin=brief.text.encode("utf-8", "replace"))
            written = papers.decisions(bench)
        failed = failure(ran, bench, "the command")
        return Said(
            summary_of(ran),
            decisions_in(written, output_of(ran)),
            (failed,) if failed else (),
        )

    def answer(self, brief: Brief, bench: ImplementerContext) -> Answer:
        """What the program prints; it is told `RUNNER_MODE=draft`, and the tree is read-only."""
        with _papers(brief, bench) as papers:
            told = {**papers.environment(brief, bench), "RUNNER_MODE": str(bench.mode)}
            asked = brief.text.encode("utf-8", "replace")
            ran = work(self.line, bench, told, stdin=asked, reads_only=True)
        failed = failure(ran, bench, "the command")
        said = Said(summary_of(ran), findings=(failed,) if failed else ())
        return Answer(redact(output_of(ran), bench.known_secrets), said)


@dataclass(frozen=True, slots=True)
class _Papers:
    """The files that a program reads and writes beside the tree, in a folder of their own."""

    folder: Path

    @property
    def _brief(self) -> Path:
        return self.folder / "brief.md"

    @property
    def _draft(self) -> Path:
        return self.folder / "draft.patch"

    @property
    def _decisions(self) -> Path:
        return self.folder / "decisions.md"

    def lay_out(self, brief: Brief) -> None:
        """Write what the program may read."""
        effects.write_file(self._brief, brief.text.encode("utf-8", "replace"))
        if brief.previous:
            effects.write_file(self._draft, brief.previous.encode("utf-8", "surrogateescape"))

    def environment(self, brief: Brief, bench: ImplementerContext) -> dict[str, str]:
        """Where the program finds them."""

        def visible_path(path: Path) -> str:
            return str(bench.sandbox.sees(bench.place, path))

        told = {
            "RUNNER_TASK": brief.task.id,
            "RUNNER_ATTEMPT": str(brief.attempt),
            "RUNNER_BRIEF": visible_path(self._brief),
            "RUNNER_DECISIONS": visible_path(self._decisions),
        }
        return told | ({"RUNNER_DRAFT": visible_path(self._draft)} if brief.previous else {})

    def decisions(self, bench: ImplementerContext) -> str:
        """What the program wrote of its decisions, redacted."""
        text = (read_regular(self._decisions) or b"").decode("utf-8", "replace")
        return redact(text, bench.known_secrets)


@contextlib.contextmanager
def _papers(brief: Brief, bench: ImplementerContext) -> Iterator[_Papers]:
    """A fresh folder in the box, under a name that no earlier command could lay a link at."""
    folder = bench.place.box / f"work-{effects.new_id()}"
    effects.make_folder(folder)
    papers = _Papers(folder)
    try:
        papers.lay_out(brief)
        yield papers
    finally:
        effects.step("rmtree", folder)
        shutil.rmtree(folder, ignore_errors=True)
