"""A tool's call, carried out: a child process of ours answers, a run goes on without us."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runner import effects
from runner.lazy_module import lazy_module
from runner.process.own_command import OwnCommand
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.journal import lock
    from runner.journal.lock import Holder
    from runner.mcp_server.tools import ServedTool
else:
    lock = lazy_module("runner.journal.lock")

MOST_BYTES = 1 << 20
"""Bytes of one answer: more is no help to whoever reads it, and is refused with how to ask less."""
_LONGEST_OUTPUT = 8_000
"""Bytes of a run's output besides its summary."""
_BEGINS_WITHIN = 60.0
"""Seconds that a run has to begin in, or to say why it does not."""
_LOOK = 0.25
_WAITED = 60


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call came to: a document, or words; `failed` where it answers nothing."""

    document: dict[str, object] | None
    text: str
    failed: bool = False


@dataclass
class Call:
    """One call that is being carried out; `cancelled` ends it from another thread."""

    tool: ServedTool
    arguments: object
    """As the client gave them: whether they are the tool's is looked at when it is carried out."""
    tell: Callable[[str], None] = lambda _: None
    """Hears how a wait goes on."""
    cancelled: threading.Event = field(default_factory=threading.Event)


class Caller:
    """Carries out calls in one folder; several at once. Holds the run that it began last."""

    def __init__(self, folder: Path, environ: Mapping[str, str], plan: str = "") -> None:
        self._folder, self._environ = folder, dict(environ)
        if plan:
            self._environ["RUNNER_BUILD_TASK_GRAPH"] = plan
        self._run: OwnCommand | None = None
        self._lock = threading.Lock()

    def carry_out(self, call: Call) -> CallResult:
        """The answer. Raises InputError where the arguments are not the tool's."""
        arguments = call.tool.check(call.arguments)
        if call.tool.name == "wait":
            return self._wait(call, arguments)
        words = call.tool.words(arguments)
        if call.tool.changes and not arguments.get("dry_run"):
            return self._begin(words)
        return self._ask(words, call.cancelled)

    def _ask(self, words: list[str], cancelled: threading.Event) -> CallResult:
        """What a command says that only reads."""
        command = OwnCommand(words, self._folder, self._environ)
        try:
            while command.wait(_LOOK) is None:
                if cancelled.is_set():
                    command.end()
                    return CallResult(None, "cancelled", failed=True)
            # One byte more than is taken tells that there is more.
            return _answer_of(*command.read(MOST_BYTES + 1))
        finally:
            command.forget()

    def _begin(self, words: list[str]) -> CallResult:
        """Begin a run that outlives us; what refuses to begin says so at once."""
        # Until the run has its own lock: a second call waits here, and its run is then refused by
        # that lock.
        with self._lock:
            began = OwnCommand(words, self._folder, self._environ, stays=True)
            until = effects.monotonic() + _BEGINS_WITHIN
            while (code := began.wait(_LOOK)) is None and effects.monotonic() < until:
                holder = self._holder()
                if holder is not None and holder.pid == began.pid:
                    break
            if code is not None:
                return self._describe_end(began, code)
            if self._run is not None:
                self._run.forget()
            self._run = began
        document = {"running": True, "pid": began.pid, "next": "call wait, then status or why"}
        return CallResult(document, json.dumps(document))

    def _wait(self, call: Call, arguments: Mapping[str, object]) -> CallResult:
        seconds = arguments.get("seconds", _WAITED)
        assert isinstance(seconds, int)  # checked against the schema
        until = effects.monotonic() + seconds
        while self._runs():
            if effects.monotonic() >= until:
                document = {"running": True, "next": "call wait again"}
                return CallResult(document, json.dumps(document))
            call.tell("the run is still active")
            if call.cancelled.wait(min(_LOOK * 8, max(0.0, until - effects.monotonic()))):
                return CallResult(None, "cancelled; the run continues", failed=True)
        ended = self._take_ended()
        if ended is not None:
            return self._describe_end(*ended)
        return self._ask(["status", "--json"], call.cancelled)

    def _take_ended(self) -> tuple[OwnCommand, int] | None:
        """Return the run that we began, with its exit code; only once."""
        with self._lock:
            code = None if self._run is None else self._run.wait(0)
            if self._run is None or code is None:  # another call has begun one at this moment
                return None
            ended, self._run = self._run, None
            return ended, code

    def _runs(self) -> bool:
        """Whether a run goes on, or is beginning: the one we began, or anybody's."""
        if self._lock.locked():
            return True
        ours = self._run is not None and self._run.wait(0) is None
        return ours or self._holder() is not None

    def _holder(self) -> Holder | None:
        """The run that has the project's lock. Raises RunnerError where there is no project."""
        from runner.project import BUILD, Project

        project = Project.open(self._folder, self._environ, plan_needed=False)
        return lock.RunLock(project.root / BUILD).holder()

    def _describe_end(self, ended: OwnCommand, code: int) -> CallResult:
        """Return how a run ended: its summary, and the end of its output."""
        output, errors = ended.read(MOST_BYTES + 1)
        ended.forget()
        text = display(errors[-_LONGEST_OUTPUT:].decode("utf-8", "replace"), lines=True)
        document: dict[str, object] = {"running": False, "exit": code, "said": text}
        document["summary"] = _parse(output)
        return CallResult(document, json.dumps(document), failed=document["summary"] is None)


def _parse(output: bytes) -> dict[str, object] | None:
    try:
        document = json.loads(output)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _answer_of(output: bytes, errors: bytes) -> CallResult:
    """A command's own document; where it printed none, why."""
    if len(output) > MOST_BYTES:
        more = f"more than {MOST_BYTES >> 20} MB; ask for one status, one task or a smaller limit"
        return CallResult(None, f"the answer is {more}", failed=True)
    document = _parse(output)
    if document is None:
        text = display(errors.decode("utf-8", "replace"), lines=True).strip()
        return CallResult(None, text or "the command printed nothing", failed=True)
    return CallResult(document, json.dumps(document, separators=(",", ":")))
