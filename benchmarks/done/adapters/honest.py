"""A control that cheats: it asks the oracle's own question first. Every oracle must say ok."""

import sys

from case import write
from oracle import checkout, holds
from work import Work

NAME = "honest"
CLASS = "control"
PACKAGE = "this file"


def why_not(_: object) -> str:
    """Why it cannot be run here; nothing where it can."""
    return ""


def release() -> str:
    return "control"


def prepare(work: Work) -> None:
    """Nothing: what is done is asked of git."""


def run(work: Work) -> int:
    """Land each task whose work is true and keeps what other tasks did true."""
    for at, task in enumerate(work.case.tasks):
        if _is_done(work, task.name):
            continue
        trial = work.home / "tmp" / task.name
        work.call(["rm", "-rf", str(trial)])
        checkout(work.repo, trial)
        secret = "".join(work.case.secret)
        here = {
            path: text and text.replace("{{secret}}", secret)
            for path, text in task.edits.items()
            if not path.startswith("build/")
        }
        write(trial, here)
        earlier = [other for other in work.case.tasks[:at] if _is_done(work, other.name)]
        true = not task.bad and all(holds(trial, one.truth) for one in (*earlier, task))
        if at and work.case.together:
            true = true and work.case.kind == "good"
        if secret and any(text and secret in text for text in here.values()):
            true = False
        work.call(["rm", "-rf", str(trial)])
        if true:
            write(work.repo, here)
            work.call(["git", "add", "-A"])
            work.call(["git", "commit", "-q", "-m", f"Task: {task.name}"])
    return 0


def _is_done(work: Work, name: str) -> bool:
    return work.call(["git", "log", "--format=%s", f"--grep=^Task: {name}$"])[1].strip() != ""


def status_of(work: Work) -> dict[str, str]:
    names = [task.name for task in work.case.tasks]
    return {name: "done" if _is_done(work, name) else "open" for name in names}


def kill_here(work: Work, seconds: float) -> bool:
    """It does everything in one moment; the kill meets only what waits after it."""
    run(work)
    return work.call_and_kill([sys.executable, "-c", "import time; time.sleep(9)"], seconds)
