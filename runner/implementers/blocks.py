"""Implementers without a program: `blocks` applies the task's section, `check` changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.errors import ExitCode, MachineError, RunnerError
from runner.implementers.base import CHECK, WorkResult
from runner.implementers.command import context_of_block, decisions_in, failure, output_of, work
from runner.lazy_module import lazy_module
from runner.model import BlockKind, Finding
from runner.text.wording import plural
from runner.writes.paths import check_path
from runner.writes.safe_io import mode_below, read_below, unlink_below, write_below

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.context.brief import Brief
    from runner.implementers import unified_diff
    from runner.implementers.base import ImplementerContext
    from runner.model import Block, Decision, Task
    from runner.process.base import Place
else:
    unified_diff = lazy_module("runner.implementers.unified_diff")

NAME = "blocks"
_PLAIN, _EXECUTABLE = 0o100644, 0o100755


class Blocks(Struct, frozen=True):
    """Writes the blocks in their order, then runs the `sh run` blocks in theirs."""

    repeatable: bool
    """Whether the same blocks give the same bytes: False if a command makes some of them."""
    is_agent: bool = False
    name: str = NAME

    @classmethod
    def for_task(cls, task: Task, settings: Settings) -> Blocks | Finding:  # noqa: ARG003  asks nothing of them
        """Create the implementer for a task with blocks; a finding if it has none."""
        if not task.blocks:
            return Finding(
                CHECK,
                f"{task.id} has no file blocks",
                hint="add a block (```python file=PATH), or name another Implementer",
            )
        return cls(repeatable=all(block.kind is not BlockKind.RUN for block in task.blocks))

    def implement(self, brief: Brief, context: ImplementerContext) -> WorkResult:
        """Write what the blocks say; nothing is written where a path is refused."""
        files = [block for block in brief.task.blocks if block.kind is not BlockKind.RUN]
        commands = [block for block in brief.task.blocks if block.kind is BlockKind.RUN]
        findings = [finding for block in files if (finding := _path_finding(block))]
        if not _has_refusal(findings):
            findings += [finding for block in files if (finding := _write(block, context.place))]
        if _has_refusal(findings):
            return WorkResult(findings=tuple(findings))
        decisions, failed = _run(commands, brief, context)
        written = None if commands else tuple(block.path for block in files)
        summary = _summary(len(files), len(commands))
        return WorkResult(summary, decisions, (*findings, *failed), written=written)


def _summary(files: int, commands: int) -> str:
    parts = ((files, "file", "from the plan"), (commands, "command", "run"))
    counted = [f"{plural(n, noun)} {done}" for n, noun, done in parts if n]
    return ", ".join(counted)


def _has_refusal(findings: list[Finding]) -> bool:
    return any(finding.refuses for finding in findings)


def _path_finding(block: Block) -> Finding | None:
    kind = "delete" if block.kind is BlockKind.DELETE else ""
    return check_path(block.path, _PLAIN, kind=kind)


def _write(block: Block, place: Place) -> Finding | None:
    """Apply one block; a finding if that fails."""
    try:
        return _DO[block.kind](block, place.project)
    except MachineError:
        raise  # a full disk is no fault of the plan's
    except RunnerError as error:
        # Another file is at the path: the plan must be fixed.
        if error.code is not ExitCode.CONFLICT:
            raise
        return _finding(block, error.message, error.hint)


def _write_whole(block: Block, tree: Path) -> None:
    # Non-UTF-8 bytes of the plan are preserved (PEP 383).
    _put(tree, block.path, block.text.encode("utf-8", "surrogateescape"))


def _delete(block: Block, tree: Path) -> Finding | None:
    if unlink_below(tree, block.path):
        return None
    return _finding(block, "the file to delete does not exist", "remove the block, or fix its path")


def _patch(block: Block, tree: Path) -> Finding | None:
    before = read_below(tree, block.path)
    diff = block.text.encode("utf-8", "surrogateescape")
    try:
        after = unified_diff.apply_patch(before, diff, block.path)
    except unified_diff.DoesNotApplyError as error:
        message = error.message
        if error.patch_line and block.line:
            message += f" (line {block.line + error.patch_line} of the plan)"
        return Finding("patch", message, block.path, error.line, hint=unified_diff.REMEDY)
    if after is None:
        unlink_below(tree, block.path)
    else:
        _put(tree, block.path, after)
    return None


_DO: dict[BlockKind, Callable[[Block, Path], Finding | None]] = {
    BlockKind.FILE: _write_whole,
    BlockKind.DELETE: _delete,
    BlockKind.PATCH: _patch,
}


def _put(tree: Path, path: str, content: bytes) -> None:
    """Write a file, which stays executable where it was."""
    was = mode_below(tree, path)
    mode = _EXECUTABLE if was == _EXECUTABLE else _PLAIN
    write_below(tree, path, content, mode, durable=False)


def _finding(block: Block, message: str, hint: str) -> Finding:
    return Finding(CHECK, message, path=block.path, hint=hint)


def _run(
    blocks: list[Block], brief: Brief, context: ImplementerContext
) -> tuple[tuple[Decision, ...], tuple[Finding, ...]]:
    """Run the blocks in order up to the first that fails; `sh -e` ends one at its failed line."""
    variables = {"RUNNER_TASK": brief.task.id, "RUNNER_ATTEMPT": str(brief.attempt)}
    outputs: list[str] = []
    for number, block in enumerate(blocks, 1):
        own_context = context_of_block(context, number)
        ran = work(("/bin/sh", "-e", "-c", block.text), own_context, variables)
        outputs.append(output_of(ran))
        place = f" in line {block.line} of the plan" if block.line else ""
        if failed := failure(ran, context, f"the sh run block{place}", block.text):
            return decisions_in(*outputs), (failed,)
    return decisions_in(*outputs), ()


CHECK_ONLY = "check"


class Nothing(Struct, frozen=True):
    """Leaves the tree as it is."""

    name: str = CHECK_ONLY
    is_agent: bool = False
    repeatable: bool = True

    @classmethod
    def for_task(cls, task: Task, settings: Settings) -> Nothing:  # noqa: ARG003  fits any task
        """Create an implementer that only runs checks."""
        return cls()

    def implement(self, brief: Brief, context: ImplementerContext) -> WorkResult:  # noqa: ARG002  the protocol's
        """Return an empty result: there is nothing to do."""
        return WorkResult()
