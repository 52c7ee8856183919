"""Run git so that it runs nothing from a repository; the only module that imports GitPython."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from contextlib import suppress
from shutil import which
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.errors import RunnerError
from runner.lazy_module import lazy_module, name_package
from runner.lazy_pattern import regex
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from git.cmd import Git as Stranger

    from runner.process import platform
else:
    platform = lazy_module("runner.process.platform")

ConfigPairs: TypeAlias = "tuple[tuple[str, str], ...]"
"""Pairs of a git configuration key and its value."""

SAFE_SETTINGS: ConfigPairs = (
    # Each of these names a program that git runs (core.fsmonitor even for `git status`), or changes
    # git's output; any unpacked clone comes with a `.git/config`.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.alternateRefsCommand", ""),
    ("core.askPass", ""),
    ("core.editor", ":"),
    ("core.gitProxy", ""),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("gc.auto", "0"),
    ("gpg.program", "false"),
    ("gpg.ssh.defaultKeyCommand", ""),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    # A folder of a work tree can look like a bare repository with its own configuration, and git
    # started there would follow it (git-config(1), safe.bareRepository).
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
)
"""Settings for every git: no hook, monitor, helper, network or editor."""

_SAFE_ENVIRONMENT: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ASKPASS": "",
    "GIT_EDITOR": ":",
    "GIT_LITERAL_PATHSPECS": "1",
    # In a partial clone reading a missing object contacts the promisor remote, by whatever
    # transport it names (git(1); CVE-2024-32004).
    "GIT_NO_LAZY_FETCH": "1",
    # refs/replace may substitute other bytes for an object's name (git-replace(1)).
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "",
}
"""Variables for every git; they override configuration."""

_KEPT_VARIABLES = frozenset(
    {
        "GIT_AUTHOR_EMAIL",
        "GIT_AUTHOR_NAME",
        "GIT_CEILING_DIRECTORIES",
        "GIT_COMMITTER_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    }
)

_RUNS_PROGRAM = regex(
    r"(?:filter\..+\.(?:clean|smudge|process)|diff\..+\.(?:textconv|command)|merge\..+\.driver)",
    re.DOTALL,
)
_REQUIRED = regex(r"filter\..+\.required", re.DOTALL)


def silence(names: Iterable[str]) -> ConfigPairs:
    """Return settings that disable the filters, text conversions and merge drivers named.

    An empty filter is none (git's convert.c), but one that is `required` would fail.
    """
    found = sorted(set(names))
    commands = tuple((name, "") for name in found if _RUNS_PROGRAM.fullmatch(name))
    required = tuple((name, "false") for name in found if _REQUIRED.fullmatch(name))
    return commands + required


def as_environment(settings: ConfigPairs, environ: Mapping[str, str]) -> dict[str, str]:
    """Return settings as `GIT_CONFIG_COUNT` variables, after those that `environ` already has."""
    first = max(0, read_number(environ.get("GIT_CONFIG_COUNT", "")))
    variables = {
        name: value
        for name, value in environ.items()
        if first and name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))
    }
    for number, (key, value) in enumerate(settings, start=first):
        # Variables override every file (git-config(1), GIT_CONFIG_COUNT), including a clone's.
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables | {"GIT_CONFIG_COUNT": str(first + len(settings))}


def find_unwanted(variables: Mapping[str, str]) -> list[str]:
    """Return git variables of this process, such as a hook sets, that git must not inherit."""
    return [
        name
        for name in os.environ
        if name.startswith("GIT_") and name not in _KEPT_VARIABLES and name not in variables
    ]


_PIPE = -1
"""`subprocess.PIPE`, without importing a module reserved for `process/`."""
SECONDS = 600.0
_LOOK = 0.2
"""Seconds between two checks whether the result is still needed."""
_PATIENCE = 5.0
"""Seconds for an interrupted git to end: a killed one leaves its locks behind."""

_LOADING = Lock()

Outputs: TypeAlias = "tuple[bytes, bytes]"
T = TypeVar("T")


class RunningProcess(Protocol):
    """The part of a started process that is used here; `subprocess.Popen` has it."""

    pid: int
    returncode: int | Any  # as Popen declares it
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def communicate(
        self,
        input: bytes | None = None,  # noqa: A002 - as Popen names it
        timeout: float | None = None,
    ) -> Outputs:
        """Write the input, read both outputs to their end."""

    def kill(self) -> None:
        """Kill the process at once."""


class GitError(RunnerError):
    """A git command failed; `stderr` is its standard error, `exit` its exit code."""

    def __init__(self, verb: str, stderr: str, status: int, folder: Path | None = None) -> None:
        hint = ""
        if "dubious ownership" in stderr:
            hint = f"if you trust this folder: git config --global --add safe.directory {folder}"
        super().__init__(f"git {verb} failed", detail=stderr.strip(), hint=hint)
        self.stderr = stderr
        self.exit = status


class GitTimeoutError(GitError):
    """Git did not end in time and was killed."""


class StoppedError(RunnerError):
    """Whoever waited wants it no more: the run ends, or a person ended the task."""

    def __init__(self) -> None:
        super().__init__("the git command was stopped before it finished")


class UnusualError(Exception):
    """The repository has a feature that only git itself handles correctly."""


class GitResult(Struct, frozen=True):
    """The result of one git process."""

    exit: int
    out: bytes
    stderr: str


class Git(Struct, frozen=True):
    """The way to call git in one place. Has no state: any thread may use it."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: ConfigPairs = ()
    alone: bool = False
    """Whether to ignore the user's environment and configuration."""
    stopped: Callable[[], bool] | None = None
    """Whether the result is no longer needed; called a few times a second."""

    def with_settings(self, *settings: tuple[str, str], **environment: str) -> Git:
        """Return a git with additional settings and variables."""
        return replace(
            self,
            settings=self.settings + settings,
            environment={**self.environment, **environment},
        )

    def run(self, *words: str, stdin: bytes = b"", seconds: float = SECONDS) -> bytes:
        """Run a git command and return its standard output. Raises GitError."""
        answer = self.ask(*words, stdin=stdin, seconds=seconds)
        if answer.exit:
            raise GitError(words[0], answer.stderr, answer.exit, self.folder)
        return answer.out

    def line(self, *words: str) -> str:
        """Run git and return its only output line. Raises GitError."""
        return text(self.run(*words)).removesuffix("\n")

    def ask(self, *words: str, stdin: bytes = b"", seconds: float = SECONDS) -> GitResult:
        """Run a git command and return its result, whatever its exit code."""
        process = self.start(*words)
        try:
            outputs = _communicate(process, seconds, stdin, self.stopped)
        except StoppedError:
            _end(process, patience=0)
            raise
        except BaseException:
            _end(process, patience=_PATIENCE)
            raise
        if outputs is None:
            _end(process, patience=0)
            raise GitTimeoutError(words[0], f"timed out after {seconds:.1f} seconds", -9)
        out, stderr = outputs
        return GitResult(process.returncode, out, stderr.decode(errors="replace"))

    def transact(self, *words: str, update: bytes, decide: Callable[[], bool]) -> bool:
        """Prepare an update of refs, and commit it if `decide` returns true under the locks.

        `words` are git-update-ref(1) with --stdin; where this process dies it gives the locks back.
        """
        process = self.start(*words)
        if process.stdin is None or process.stdout is None:
            raise GitError(words[0], "the git process has no pipes", -1)
        commits = False
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(update)
                process.stdin.flush()
                answers = (process.stdout.readline(), process.stdout.readline())
                if answers == (b"start: ok\n", b"prepare: ok\n") and decide():
                    effects.step("ref", text(update.split(b" ")[1]))
                    process.stdin.write(b"commit\n")
                    commits = True
        finally:
            if _outputs(process, SECONDS) is None:
                _end(process, patience=0)
        return commits and process.returncode == 0

    def start(self, *words: str) -> RunningProcess:
        """Start git with open pipes in its own process group, so Ctrl-C does not reach it."""
        env = self._variables()
        stripped = [option for name in find_unwanted(env) for option in ("-u", name)]
        # GitPython adds to our own start environment and removes nothing: env(1) removes what a
        # hook had set for its own git (githooks(5)).
        before = ["env", *stripped] if stripped else []
        stranger = _stranger()
        argv = [*before, "git", "-C", str(self.folder), *words]
        effects.step("git", words[0])
        running = _wrap_process(stranger, argv, env)
        process: RunningProcess | None = running.proc
        running.proc = None  # so that its finaliser leaves the process to us
        if process is None:
            raise GitError(words[0], "the git process did not start", -1)
        return process

    def _variables(self) -> dict[str, str]:
        outside: Mapping[str, str] = {} if self.alone else os.environ
        configured = as_environment(SAFE_SETTINGS + self.settings, outside)
        return {**_SAFE_ENVIRONMENT, **configured, **self.environment}


class BatchProcess:
    """One git process that is kept running and answers question by question. Safe for threads."""

    def __init__(self, git: Git, *words: str) -> None:
        self._git = git
        self._words = words
        self._lock = Lock()
        self._process: RunningProcess | None = None

    def ask(self, question: bytes, read: Callable[[IO[bytes]], T]) -> T:
        """Ask, and read the answer; a process that ended is started again once.

        `read` raises EOFError for an answer that is cut off. Raises GitError, or OSError where git
        met a full or broken disk.
        """
        with self._lock:
            try:
                for _ in range(2):
                    with suppress(BrokenPipeError, EOFError):
                        return self._ask(question, read)
                    error = self._end()
            except BaseException:  # interrupted: its answer would be taken for the next one's
                self._end()
                raise
        raise error

    def close(self) -> None:
        """Stop the process; it is restarted when needed."""
        with self._lock:
            self._end()

    def _ask(self, question: bytes, read: Callable[[IO[bytes]], T]) -> T:
        process = self._process = self._process or self._git.start(*self._words)
        if process.stdin is None or process.stdout is None:
            raise EOFError
        process.stdin.write(question)
        process.stdin.flush()
        return read(process.stdout)

    def _end(self) -> Exception:
        """Stop the process, which holds no lock between two requests, and return its error."""
        process, self._process = self._process, None
        if process is None:
            return GitError(self._words[0], "", 128)
        # At the end of its input it exits by itself and removes its lock.
        outputs = _outputs(process, _PATIENCE)
        if outputs is None:
            process.kill()
            outputs = process.communicate()
        stderr = outputs[1].decode(errors="replace")
        return disk_error(stderr, self._git.folder) or GitError(
            self._words[0], stderr, process.returncode, self._git.folder
        )


def read_line(answer: IO[bytes]) -> bytes:
    """Read one line of an answer, without its end. Raises EOFError for half of one."""
    line = answer.readline()
    if not line.endswith(b"\n"):  # a process died
        raise EOFError
    return line[:-1]


class ObjectReader:
    """One `git cat-file --batch` kept running: an object costs no process. Safe for threads."""

    def __init__(self, git: Git) -> None:
        self._helper = BatchProcess(git, "cat-file", "--batch")

    def read(self, name: str) -> tuple[str, bytes] | None:
        """Return kind and content of an object, or None; the name must not contain a newline."""
        return self._helper.ask(raw(name) + b"\n", _read_object)

    def read_fresh(self, name: str) -> tuple[str, bytes] | None:
        """Read an object in a new process, which does not use outdated packs.

        One that was started before may still know the packs of a repository that was here.
        """
        self._helper.close()
        return self.read(name)

    def close(self) -> None:
        """Stop the process."""
        self._helper.close()


def _read_object(answer: IO[bytes]) -> tuple[str, bytes] | None:
    head = read_line(answer)
    words = head.split()
    if len(words) != 3 or not words[2].isdigit() or head.endswith(b" missing"):  # noqa: PLR2004 - `<oid> <type> <size>`
        return None
    # A line end follows the content in any case (git-cat-file(1), BATCH OUTPUT). Read it
    # separately: cutting it off would copy a blob of megabytes.
    content = answer.read(int(words[2]))
    if len(content) != int(words[2]) or not answer.read(1):
        raise EOFError
    return words[1].decode(), content


def _outputs(process: RunningProcess, seconds: float, stdin: bytes | None = None) -> Outputs | None:
    """Return both outputs of a process, or None at the timeout."""
    try:
        return process.communicate(stdin, timeout=seconds)
    except BaseException as error:
        # subprocess.TimeoutExpired, a name that only `process/` may import
        if type(error).__name__ != "TimeoutExpired":
            raise
        return None


def _communicate(
    process: RunningProcess, seconds: float, stdin: bytes, stopped: Callable[[], bool] | None
) -> Outputs | None:
    """Return the process's output, or None at the timeout. Raises StoppedError if stopped."""
    if stopped is None:
        return _outputs(process, seconds, stdin)
    until = effects.monotonic() + seconds
    more: bytes | None = stdin
    while (left := until - effects.monotonic()) > 0:
        if (outputs := _outputs(process, min(left, _LOOK), more)) is not None:
            return outputs
        more = None  # Popen goes on with what it was given
        if stopped():
            raise StoppedError
    return None


def _end(process: RunningProcess, patience: float) -> None:
    """Wait for a process, then terminate it, which releases git's locks, then kill its session.

    Its children go with it, those in sessions of their own, too: a signing program may start some.
    """
    children: dict[int, platform.Process | None] = {}
    for seconds, mark in ((patience, signal.SIGTERM), (_PATIENCE, signal.SIGKILL)):
        if _outputs(process, seconds) is not None:
            return
        # Before the first signal: a child without its parent is no longer a descendant.
        children |= {pid: platform.process(pid) for pid in platform.descendants(process.pid)}
        with suppress(ProcessLookupError):
            os.killpg(process.pid, mark)
        for pid, child in children.items():
            now = platform.process(pid)
            if child and now and now.started == child.started:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, mark)
    process.communicate()


def text(path: bytes) -> str:
    """Decode bytes from git reversibly."""
    return path.decode("utf-8", "surrogateescape")


def raw(path: str) -> bytes:
    """Encode text into the bytes that git uses."""
    return path.encode("utf-8", "surrogateescape")


def quote_path(path: str) -> bytes:
    """Quote a path in git's C style."""
    plain = raw(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + plain + b'"'


def _wrap_process(
    stranger: Stranger, argv: list[str], variables: Mapping[str, str], *, again: bool = True
) -> Any:
    """Start git through GitPython. Raises OSError if the system cannot start it."""
    from git.exc import GitCommandNotFound

    try:
        return stranger.execute(
            argv, istream=_PIPE, as_process=True, env=dict(variables), process_group=0
        )
    except GitCommandNotFound as error:  # raised for every OSError, of an exhausted system too
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.errno != errno.ENOENT:
            raise cause from None
        if again:  # the folder that we stand in was moved between GitPython's look and its start
            return _wrap_process(stranger, argv, variables, again=False)
        hint = "run again; if git is missing, install it"
        raise RunnerError("git could not be started", hint=hint) from error


def _stranger() -> Stranger:
    try:
        # If two threads import it at once, the second would find the package registered but not
        # loaded.
        with _LOADING:
            _name_packages()
            from git.cmd import Git as Stranger
    except ImportError as error:
        raise RunnerError("git is not installed", hint="install git") from error
    return Stranger()


def _name_packages() -> None:
    """Import `git.cmd` without the rest of GitPython, which would run `git version` twice.

    GitPython's own start asks `git version` twice, gitdb's loads what reads packs.
    """
    if "git" in sys.modules:
        return
    if which("git") is None:
        raise ImportError("git is not on PATH")
    name_package("git")
    name_package("gitdb")


_OF_THE_DISK = (
    ("No space left on device", errno.ENOSPC),
    ("Out of diskspace", errno.ENOSPC),  # csum-file.c, of a short write
    ("Disk quota exceeded", errno.EDQUOT),
    ("Input/output error", errno.EIO),
)


def disk_error(stderr: str, place: Path) -> OSError | None:
    """Return the error of the disk that git's message reports; None for any other error."""
    met = ((words, code) for words, code in _OF_THE_DISK if words in stderr)
    return next((OSError(code, words, str(place)) for words, code in met), None)
