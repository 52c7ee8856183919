"""One run of one tool on one case: a clone, a home, an agent, and processes that can be ended."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from case import BRANCH, Case, Task, bundle, git

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
LIMIT = 240.0
"""Seconds that one call of a tool may take; longer is an error, not a failure."""
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "SSL_CERT_FILE")


class ToolError(Exception):
    """The tool gave way, or the harness cannot drive it: counted apart from what it decided."""


@dataclass
class Work:
    """A clone of the case at `repo`; `home` is all that the tool has outside of it."""

    case: Case
    root: Path
    peers: Path
    """Folder in which peers are installed, each in a folder of its own."""
    limit: float = LIMIT
    more: dict[str, str] = field(default_factory=dict)
    """More of the environment, set by an adapter."""

    @property
    def repo(self) -> Path:
        """The clone."""
        return self.root / "repo"

    @property
    def home(self) -> Path:
        """The tool's HOME."""
        return self.root / "home"

    def begin(self, bundles: Path) -> None:
        """Clone the case anew; nothing of an earlier run is left."""
        shutil.rmtree(self.root, ignore_errors=True)
        (self.home / "tmp").mkdir(parents=True)
        made = bundle(self.case, bundles / self.case.digest)
        git(self.root, "clone", "-q", "-b", BRANCH, str(made), str(self.repo))
        git(self.repo, "remote", "remove", "origin")
        for word, value in (("name", "A person"), ("email", "person@example.org")):
            git(self.repo, "config", f"user.{word}", value)
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = A person\n\temail = person@example.org\n"
            f"[init]\n\tdefaultBranch = {BRANCH}\n"
        )

    def implementer(self, task: Task) -> str:
        """The shell command that is the scripted implementer of a task; it needs no file."""
        order = {
            "edits": task.edits,
            "commands": task.commands,
            "says": task.says,
            "secret": self.case.secret,
        }
        source = (HERE / "implement.py").read_text(encoding="utf-8")
        packed = zlib.compress(f"{source}\n\nimplement({json.dumps(order)!r})\n".encode(), 9)
        text = base64.b64encode(packed).decode()
        return (
            f"python3 -c \"import base64,zlib;exec(zlib.decompress(base64.b64decode('{text}')))\""
        )

    @property
    def environment(self) -> dict[str, str]:
        """What the tool is started with: no more of this machine than it needs."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        own = {"HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1", "NO_COLOR": "1"}
        return {**kept, **own, **self.more}

    def call(self, words: Sequence[str], *, limit: float = 0) -> tuple[int, str]:
        """Exit code and output of a command in the clone, ended with all it started."""
        process = self._start(words)
        try:
            said, _ = process.communicate(timeout=limit or self.limit)
        except subprocess.TimeoutExpired:
            end(process.pid)
            process.communicate()
            raise ToolError(f"{words[0]} took longer than {limit or self.limit:.0f} s") from None
        finally:
            end(process.pid)
        with (self.home / "bench.log").open("ab") as log:
            log.write(said)
        return process.returncode, said.decode(errors="replace")

    def must(self, words: Sequence[str], *, limit: float = 0) -> str:
        """The output of a command that has to succeed before a case can begin."""
        code, said = self.call(words, limit=limit)
        if code:
            raise ToolError(f"{' '.join(words[:4])} ended with {code}: {said[-600:]}")
        return said

    def call_detached(self, words: Sequence[str]) -> None:
        """Run a command that leaves a daemon behind, which the adapter ends itself."""
        with (self.home / "bench.log").open("ab") as log:
            subprocess.run(
                list(words),
                cwd=self.repo,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=self.limit,
                start_new_session=True,
                check=False,
            )

    def call_and_kill(self, words: Sequence[str], seconds: float) -> bool:
        """Start a command and SIGKILL all of it after a time; whether it still ran."""
        process = self._start(words)
        time.sleep(seconds)
        ran = process.poll() is None
        end(process.pid)
        process.communicate()
        return ran

    def _start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            list(words),
            cwd=self.repo,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def commit(self, message: str) -> None:
        """Commit what an adapter put into the clone before the tool begins."""
        git(self.repo, "add", "-A")
        git(self.repo, "commit", "-q", "--allow-empty", "-m", message)


def children(root: int) -> list[int]:
    """Processes that came from one, itself first, by /proc; whatever session they are in."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            told = (entry / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(told[1]), []).append(int(entry.name))
    found, left = [], [root]
    while left:
        one = left.pop()
        found.append(one)
        left += parents.get(one, [])
    return found


def end(root: int) -> None:
    """End what this harness started, all at once: stopped first, so that nobody cleans up."""
    known: list[int] = []
    for wanted in (signal.SIGSTOP, signal.SIGKILL):
        known = sorted({*known, *children(root)})
        for one in known:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, wanted)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(root, signal.SIGKILL)
