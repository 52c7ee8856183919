"""One session of an agent program: its files, its progress and its result.

The runner reads the program's output from its log while the program runs. Keys are redacted in the
log, so no result can contain one.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.errors import RunnerError
from runner.implementers.agents import hooks as hooking
from runner.implementers.agents.home import (
    hide_configuration,
    household,
    path_with,
    program_outside,
    scrub_files,
)
from runner.implementers.agents.output_parsers import hear
from runner.implementers.agents.preset import BRIEF, DOLLARS, FILE, HOME, MODEL, Dialect, Handing
from runner.implementers.agents.transcript import (
    Setting,
    Transcript,
    evaluate_ending,
    with_ending,
    without_events,
)
from runner.implementers.base import CHECK, Mode, WorkResult, find_pacer
from runner.implementers.command import decisions_in, read_regular, summarize, work
from runner.model import Failure, Finding, Network
from runner.model.codec import encode_json
from runner.process.base import Ended as By
from runner.process.tools import homes
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from runner.context.brief import Brief
    from runner.implementers.agents.home import AgentHome
    from runner.implementers.agents.preset import Models, Preset
    from runner.implementers.base import Allowance, ImplementerContext
    from runner.process.base import Ran
    from runner.process.limits import Limits

_ENV = "/usr/bin/env"
_MINUTE = 60.0
_HEARD = 128 << 20
"""Bytes of an agent's output, of which half is processed live: mostly tool results."""
_STILL = "still running"
_OF_THE_SHELL = re.compile(r"^(?:\S+: (?:line \d+: )?)?(?:\d+ )?(?:Terminated|Killed|Hangup)\b")
_EVERY = 0.1
_QUIET = 8.0
"""Seconds without output after which a person sees the program's last line."""
SILENCE_OF_ACP = 10.0
"""As above for ACP, where each update is an event, so that pauses during work are reported."""
_CHUNK = 1 << 20
_LONGEST_LINE = 8 << 20


class SessionProgram(Protocol):
    """The needs of an agent program's session."""

    @property
    def name(self) -> str:
        """The word of the plan's Implementer field."""

    @property
    def preset(self) -> Preset:
        """Command line and output format of the program."""

    @property
    def line(self) -> str:
        """A person's shell line, in place of a preset's program."""

    @property
    def models(self) -> Models:
        """The models of the three kinds of sessions."""

    @property
    def more_variables(self) -> tuple[str, ...]:
        """Names of variables that a person lets through."""

    @property
    def more_files(self) -> tuple[str, ...]:
        """Files of their home that a person lets it have."""

    @property
    def network(self) -> Network:
        """The most that the person allows."""

    @property
    def calls(self) -> str:
        """Rate limit of model calls; each start counts as one call."""

    def make_missing(self) -> Finding:
        """Create the finding that the program is missing."""


class SessionResult(Struct, frozen=True):
    """The result of a session."""

    result: WorkResult
    text: str
    """Its last message, redacted."""


def environment() -> dict[str, str]:
    """Return the environment, from which a session gets the variables of its preset."""
    return dict(os.environ)


def hold_session(
    program: SessionProgram, brief: Brief, work: ImplementerContext, mode: Mode, prompt: str
) -> SessionResult:
    """Run the program once, to its end or a limit."""
    found = program_outside(program.preset.program, work)
    if found is not None and program.preset.starts:
        found = found if program_outside(program.preset.starts, work) else None
    if found is None:
        result = WorkResult(findings=(program.make_missing(),), failure=Failure.DETERMINISTIC)
        return SessionResult(result, "")
    try:
        work.place.project  # noqa: B018 - it says so where a link stands there
    except RunnerError as error:
        return SessionResult(
            WorkResult(findings=(Finding(CHECK, error.message, hint=error.hint),)), ""
        )
    pacer = find_pacer(program.calls)
    if pacer is not None and not pacer.wait(work.cancelled, work.tell):
        return SessionResult(
            WorkResult(findings=(Finding(CHECK, f"{program.name} was cancelled"),)), ""
        )
    environ = environment()
    preset = replace(program.preset, variables=(*program.preset.variables, *program.more_variables))
    with household(preset, work.place.box, environ, program.more_files) as its_home:
        context = _SessionContext(program, brief, work, mode, prompt, its_home, found)
        with hide_configuration(preset.aside, preset.litter, work):
            return context.work()


class _SessionContext(Struct, frozen=True):
    """All that one session is made of."""

    program: SessionProgram
    brief: Brief
    context: ImplementerContext
    mode: Mode
    prompt: str
    household: AgentHome
    found: Path

    def work(self) -> SessionResult:
        context, since = self.context, time.time_ns()
        known = (*context.known_secrets, *self.household.secrets)
        log = context.log or self.household.folder / "output.log"
        effects.unlink(log)  # one of before is not this session's
        transcript = Transcript(context.record, make_redacting(context.tell, known), tuple(known))
        bounds = SessionBounds(context.left, context.cancelled)
        dialect = self.program.preset.dialect
        with Following(log, dialect, transcript, bounds, known) as following:
            ran = work(
                self._argv(),
                replace(
                    context,
                    log=log,
                    known_secrets=known,
                    network=self.program.network,
                    cancelled=following.ended,
                    tell=lambda line: context.tell(line) if line.startswith(_STILL) else None,
                    limits=self._limits(),
                ),
                self._variables(),
                stdin=self._stdin(),
                reads_only=not self.mode.writes,
            )
        hooking.ask_about_blocked(context, self._hook)
        # deltas may spell a key that no single line of the log contained
        transcript.text = redact(transcript.text, known)
        transcript.error = redact(transcript.error, known)
        leaked = scrub_files(context.place.tree, self.household.secrets, since)
        result = self._make_result(ran, transcript, following.why)
        text = self._written_plan(known) or transcript.text or ran.tail
        return SessionResult(replace(result, findings=(*result.findings, *leaked)), text)

    # --- what goes in ---

    def _argv(self) -> tuple[str, ...]:
        """Return the command line, which sets HOME inside the sandbox."""
        preset = self.program.preset
        mode = preset.execute if self.mode.writes else preset.plan
        freely = preset.execute_open if self.mode.writes else preset.plan_open
        mode = (*mode, *(preset.enclosed if self.context.sandbox.encloses else freely))
        model = self._model()
        chosen = preset.model if model else ()
        words = (*mode, *hooking.arguments(preset.hooks, self._visible_path(self._hook)), *chosen)
        brief = self.household.put("brief.md", self.prompt.encode("utf-8", "replace"))
        stands = {
            MODEL: model,
            BRIEF: self._visible_path(brief),
            HOME: self._visible_path(self.household.home),
        }
        stands[DOLLARS] = f"{self.context.left.dollars or 0:.4f}"
        home = f"HOME={self._visible_path(self.household.home)}"
        bounded = preset.dollars if self.context.left.dollars is not None else ()
        words = (*words, *bounded, *self._file_arguments(), *preset.last)
        return (_ENV, home, str(self.found), *(_fill_placeholders(word, stands) for word in words))

    def _file_arguments(self) -> Iterator[str]:
        """Yield arguments that name the task's files, for programs that need them."""
        task, plan = self.brief.task, self.context.plan
        writes = hooking.plan_files(plan) or task.outputs
        reads = plan.context if plan else task.inputs
        folder = self.context.place.project
        for words, paths in zip(self.program.preset.shown, (writes, reads), strict=True):
            for path in dict.fromkeys(paths):
                if words and not path.startswith(("/", "-")) and (folder / path).is_file():
                    yield from (word.replace(FILE, path) for word in words)

    def _model(self) -> str:
        models = self.program.models
        named = {
            Mode.PLAN: models.plan,
            Mode.EXECUTE: models.execute,
            Mode.REVIEW: models.review,
            Mode.DRAFT: models.draft,
            Mode.AUTHOR: models.execute,
        }
        return named[self.mode]

    def _stdin(self) -> bytes:
        is_file = self.program.preset.handing is Handing.FILE
        return b"" if is_file else self.prompt.encode("utf-8", "replace")

    def _variables(self) -> dict[str, str]:
        """Return the session's own variables and those of its login."""
        put, seen = self.household.put, self._visible_path
        context, brief = self.context, self.brief
        hooks = self.program.preset.hooks
        hooking.install(hooks, self.household, self._rules(), self._hook, seen(self._hook))
        plan = encode_json(context.plan).decode() if context.plan else ""
        variables = {
            "RUNNER_TASK": brief.task.id,
            "RUNNER_ATTEMPT": str(brief.attempt),
            "RUNNER_MODE": str(self.mode),
            "RUNNER_MODEL": self._model(),
            "RUNNER_BRIEF": seen(self.household.folder / "brief.md"),
            "RUNNER_DECISIONS": seen(self._decisions),
            "RUNNER_HOOK": seen(self._hook),
        }
        if plan:
            variables["RUNNER_PLAN"] = seen(put("plan.json", plan.encode()))
        elif self.mode == Mode.PLAN:
            variables["RUNNER_PLAN"] = seen(self._plan_sheet)
        if brief.previous:
            draft = brief.previous.encode("utf-8", "surrogateescape")
            variables["RUNNER_DRAFT"] = seen(put("draft.patch", draft))
        preset = self.program.preset
        return {
            **homes(context.environment),
            "PATH": self._path(),
            **dict(preset.environment),
            **self.household.variables,
            **variables,
        }

    def _path(self) -> str:
        """Return PATH with the folders of the program and of a person's command."""
        path = path_with(self.context.environment.get("PATH", ""), self.found)
        first = self.program.preset.starts or next(iter(self.program.line.split()), "")
        is_looked_for = bool(self.program.preset.starts) or first.startswith("/")
        own = program_outside(first, self.context) if is_looked_for else None
        return path_with(path, own) if own is not None else path

    def _rules(self) -> hooking.Rules:
        task, plan = self.brief.task, self.context.plan
        place = self.context.place
        return hooking.Rules(
            task=task.id,
            outputs=task.outputs,
            plan=hooking.plan_files(plan),
            project=self._visible_path(place.project),
            writes=self.mode.writes,
            permission=self.context.permission,
            permission_floor=self.context.permission_floor,
            answers=self.context.answers,
            reviewed=self.context.reviewed,
        )

    def _limits(self) -> Limits:
        """Return the context's limits with more output, bounded by the attempt's remaining time."""
        limits, minutes = self.context.limits, self.context.left.minutes
        # Its log counts the budget, and only the first half is available while it works.
        limits = replace(limits, output=max(limits.output, _HEARD))
        if minutes is None:
            return limits
        longest = max(1.0, minutes * _MINUTE)
        return replace(limits, hard=min(limits.hard or longest, longest))

    def _visible_path(self, path: Path) -> str:
        return str(self.context.sandbox.sees(self.context.place, path))

    @property
    def _hook(self) -> Path:
        return self.household.folder / hooking.FILE

    @property
    def _decisions(self) -> Path:
        return self.household.folder / "decisions.md"

    @property
    def _plan_sheet(self) -> Path:
        return self.household.folder / "plan.md"

    # --- what comes out ---

    def _written_plan(self, known: tuple[str, ...]) -> str:
        """Return the plan written to `RUNNER_PLAN`, redacted."""
        if self.mode != Mode.PLAN:
            return ""
        written = read_regular(self._plan_sheet) or b""
        return redact(written.decode("utf-8", "replace"), known).strip()

    def _make_result(self, ran: Ran, transcript: Transcript, limit: str) -> WorkResult:
        known = (*self.context.known_secrets, *self.household.secrets)
        written = (read_regular(self._decisions) or b"").decode("utf-8", "replace")
        text = transcript.text or ran.tail
        by_us = ran.ended in (By.CANCELLED, By.HARD, By.IDLE)
        talk = replace(ran, tail=without_events(ran.tail))
        result = WorkResult(
            summary=_summary(transcript.text, ended=by_us)
            or ("" if by_us else summarize(talk.tail)),
            decisions=decisions_in(redact(written, known), text),
            usage=transcript.usage,
        )
        preset, limits = self.program.preset, self._limits()
        is_ours = bool(preset.starts)
        setting = Setting(self.program.name, self.context, limits, preset.signs, is_ours)
        return with_ending(result, evaluate_ending(ran, transcript, limit, setting))


def _summary(text: str, *, ended: bool = False) -> str:
    """Summarize the answer; if the runner `ended` the session, without the shell's messages."""
    lines = text.splitlines()
    while ended and lines and (not lines[-1].strip() or _OF_THE_SHELL.search(lines[-1].strip())):
        lines.pop()
    return summarize("\n".join(lines))


def _fill_placeholders(word: str, stands: Mapping[str, str]) -> str:
    for name, value in stands.items():
        word = word.replace(name, value)
    return word


class SessionBounds(Struct, frozen=True):
    """The external limits that end a session."""

    left: Allowance
    cancelled: threading.Event
    """Set externally when the attempt has to end."""

    def find_exceeded(self, transcript: Transcript) -> str:
        """Return the name of the reached limit in `Allowance`; empty for none."""
        used, left = transcript.usage, self.left
        reached = {
            "tokens": left.tokens is not None and used.tokens >= left.tokens,
            "dollars": left.dollars is not None and used.dollars >= left.dollars,
            "tool_calls": left.tool_calls is not None and used.tool_calls >= left.tool_calls,
        }
        return next((name for name, is_reached in reached.items() if is_reached), "")


class Following:
    """A thread that reads the log's new lines; entered before the program starts.

    `ended` is set when the program must end: by others, in a loop, or at the limit in `why`.
    """

    def __init__(
        self,
        log: Path,
        dialect: Dialect,
        transcript: Transcript,
        bounds: SessionBounds,
        known: tuple[str, ...] = (),
    ) -> None:
        self.ended = threading.Event()
        self.why = ""
        self._log = log
        self._dialect = dialect
        self._transcript = transcript
        self._bounds = bounds
        self._known = known
        self._read = 0
        self._last = ""
        """Its last line as text."""
        self._rest = b""
        self._over = threading.Event()
        self._is_acp = dialect is Dialect.ACP
        self._patience = SILENCE_OF_ACP if self._is_acp else _QUIET
        self._quiet_since: float | None = effects.monotonic()
        """None once the current silence was reported, or while silence means work."""
        self._thread = threading.Thread(target=self._follow, name="agent-log", daemon=True)

    def __enter__(self) -> Self:
        """Begin to read."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Read to the end."""
        self._over.set()
        self._thread.join()
        # Text written since the thread's last read is read here, after the thread ended.
        if kind is None:
            self._take()
            self._hear(self._rest)

    def _follow(self) -> None:
        while not self._over.wait(_EVERY):
            if self._bounds.cancelled.is_set():
                self.ended.set()
            self._take()
            self._judge()
            self._report_silence()

    def _report_silence(self) -> None:
        """Pass on what a program waits with that has not begun to work: a login, the network."""
        since = self._quiet_since
        if since is None or effects.monotonic() - since < self._patience:
            return
        self._quiet_since = None
        rest = self._rest.decode("utf-8", "replace").strip()
        last = rest if rest and not rest.startswith("{") else self._last
        waits = "the agent may be waiting for the network or a login"
        note = f"last output: {last}" if last else waits
        self._transcript.tell(f"no output for {self._patience:g} s; {note}")

    def _judge(self) -> None:
        """Stop the program if it loops, cannot succeed or has reached a limit."""
        transcript = self._transcript
        if transcript.ended or self.ended.is_set():
            return
        self.why = self._bounds.find_exceeded(transcript)
        if self.why or transcript.circle or transcript.hopeless:
            self.ended.set()

    def _take(self) -> None:
        """Parse all complete new lines."""
        for chunk in _chunks(self._log, self._read):
            self._read += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._hear(line)
            # A line without an end must not fill the memory.
            if len(self._rest) > _LONGEST_LINE:
                self._rest = b""

    def _hear(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        if text.startswith("{"):  # an event: it works, and thinking is silent
            self._quiet_since = effects.monotonic() if self._is_acp else None
        elif text.strip():
            self._last, self._quiet_since = text.strip(), effects.monotonic()
        hear(self._dialect, unescape_secrets(text, self._known), self._transcript)


def _chunks(log: Path, start: int) -> list[bytes]:
    """Read the log from `start` on; empty if it does not exist."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    found: list[bytes] = []
    try:
        while chunk := os.pread(descriptor, _CHUNK, start):
            found.append(chunk)
            start += len(chunk)
    finally:
        os.close(descriptor)
    return found


def unescape_secrets(line: str, known: tuple[str, ...]) -> str:
    """Redact secrets that a JSON line spells with escapes, which the log's redaction misses.

    Only a key in one piece: what a session's messages come to is looked at once more at its end.
    """
    if not line.startswith("{") or not ("\\u" in line or "\\/" in line):
        return line
    try:
        plain = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return redact(plain, known)


def make_redacting(tell: Callable[[str], None], known: tuple[str, ...]) -> Callable[[str], None]:
    """Return a version of `tell` that redacts secrets."""
    return lambda line: tell(redact(line, known))
