"""One session of an agent program: its files, its course and its result.

A program's output read while it runs, from the log that is kept of it.

The log is what is left when keys are redacted, so nothing that comes of it can hold one.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Protocol

from runner import effects
from runner.errors import RunnerError
from runner.implementers.agents import hooks as hooking
from runner.implementers.agents.home import (
    household,
    out_of_sight,
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
from runner.implementers.base import CHECK, Mode, WorkResult
from runner.implementers.call_pace import find_pacer
from runner.implementers.command import decisions_in, read_regular, summarize, work
from runner.lazy_dataclass import dataclass
from runner.model import Failure, Finding, Network
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
"""Of what an agent prints half of this is heard while it works: tool results, above all."""
_STILL = "still running"
_OF_THE_SHELL = re.compile(r"^(?:\S+: (?:line \d+: )?)?(?:\d+ )?(?:Terminated|Killed|Hangup)\b")
_EVERY = 0.1
_QUIET = 8.0
"""Seconds of silence after which a person sees the program's last line."""
SILENCE_OF_ACP = 10.0
"""The same where every update is an event, so that silence within the work is reported, too."""
_CHUNK = 1 << 20
_LONGEST_LINE = 8 << 20


class SessionProgram(Protocol):
    """Of an agent program, what a session needs."""

    @property
    def name(self) -> str:
        """The word of the plan's Implementer field."""

    @property
    def preset(self) -> Preset:
        """How it is called and heard."""

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
        """How often a model may be called: each start counts as one call."""

    def make_missing(self) -> Finding:
        """That its program is not there."""


@dataclass(frozen=True, slots=True)
class SessionResult:
    """What came of a session."""

    result: WorkResult
    text: str
    """Its last message, redacted."""


def environment() -> dict[str, str]:
    """The person's own variables, of which a session gets what its preset names."""
    return dict(os.environ)


def hold_session(
    program: SessionProgram, brief: Brief, work: ImplementerContext, mode: Mode, prompt: str
) -> SessionResult:
    """Let the program work once, to its end or to a limit."""
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
        with out_of_sight(preset.aside, preset.litter, work):
            return context.work()


@dataclass(frozen=True, slots=True)
class _SessionContext:
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
        hooking.have_asked(context, self._hook)
        # deltas may come to a key that no line of the log held
        transcript.text = redact(transcript.text, known)
        transcript.error = redact(transcript.error, known)
        leaked = scrub_files(context.place.tree, self.household.secrets, since)
        result = self._make_result(ran, transcript, following.why)
        text = self._written_plan(known) or transcript.text or ran.tail
        return SessionResult(replace(result, findings=(*result.findings, *leaked)), text)

    # --- what goes in ---

    def _argv(self) -> tuple[str, ...]:
        """HOME is set behind the sandbox's back: that hides the person's own by its name."""
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
        """Arguments that name the files at hand, for a program that does not look by itself."""
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
        """All that it gets beside the allow-list: its login's, and where its papers lie."""
        put, seen = self.household.put, self._visible_path
        context, brief = self.context, self.brief
        hooks = self.program.preset.hooks
        hooking.install(hooks, self.household, self._rules(), self._hook, seen(self._hook))
        plan = json.dumps(asdict(context.plan)) if context.plan else ""
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
        """PATH, with the folders of the program, and of what a person's own line begins with."""
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
        """The context's limits, with more output, and no longer than the attempt may still take."""
        limits, minutes = self.context.limits, self.context.left.minutes
        # Its budget is counted by its log, of which only the first half is there while it works.
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
        """The plan that it wrote to `RUNNER_PLAN` instead of saying it; redacted."""
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
    """Summarize its answer; of one that the runner `ended`, without what the shell adds."""
    lines = text.splitlines()
    while ended and lines and (not lines[-1].strip() or _OF_THE_SHELL.search(lines[-1].strip())):
        lines.pop()
    return summarize("\n".join(lines))


def _fill_placeholders(word: str, stands: Mapping[str, str]) -> str:
    for name, value in stands.items():
        word = word.replace(name, value)
    return word


@dataclass(frozen=True, slots=True)
class SessionBounds:
    """What ends a session from outside."""

    left: Allowance
    cancelled: threading.Event
    """Set by others: the attempt is to end."""

    def find_exceeded(self, transcript: Transcript) -> str:
        """Which limit the session has reached, by its name in `Allowance`; empty for none."""
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
        """Its last line in words."""
        self._rest = b""
        self._over = threading.Event()
        self._is_acp = dialect is Dialect.ACP
        self._patience = SILENCE_OF_ACP if self._is_acp else _QUIET
        self._quiet_since: float | None = effects.monotonic()
        """None once the current silence was reported, or where silence means work."""
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
        # What was written since the thread's last look is read here, where it is gone.
        if kind is None:
            self._take()
            self._hear(self._rest)

    def _follow(self) -> None:
        while not self._over.wait(_EVERY):
            if self._bounds.cancelled.is_set():
                self.ended.set()
            self._take()
            self._judge()
            self._tell_silence()

    def _tell_silence(self) -> None:
        """Pass on what a program waits with that has not begun to work: a login, the network."""
        since = self._quiet_since
        if since is None or effects.monotonic() - since < self._patience:
            return
        self._quiet_since = None
        rest = self._rest.decode("utf-8", "replace").strip()
        last = rest if rest and not rest.startswith("{") else self._last
        note = f"last output: {last}" if last else "it may be waiting for the network or a login"
        self._transcript.tell(f"no output for {self._patience:g} s; {note}")

    def _judge(self) -> None:
        """End the program where it is in a circle, hopeless, or has used up what it may."""
        transcript = self._transcript
        if transcript.ended or self.ended.is_set():
            return
        self.why = self._bounds.find_exceeded(transcript)
        if self.why or transcript.circle or transcript.hopeless:
            self.ended.set()

    def _take(self) -> None:
        """Hear every line that is whole by now."""
        for chunk in _chunks(self._log, self._read):
            self._read += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._hear(line)
            # A line without an end may not fill the memory.
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
    """What the log holds from `start`; nothing while it is not there."""
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
    """A line of JSON without a key that it spells by escapes, which the log's own redaction missed.

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
    """What tells a line without any key in it."""
    return lambda line: tell(redact(line, known))
