"""A control: commits whatever is there and says that all is done. Every oracle must catch it."""

import subprocess

from work import Work

NAME = "liar"
CLASS = "control"
PACKAGE = "this file"


def why_not(_: object) -> str:
    """Why it cannot be run here; nothing where it can."""
    return ""


def release() -> str:
    return "control"


def prepare(work: Work) -> None:
    """Nothing: it keeps no status."""


def run(work: Work) -> int:
    for task in work.case.tasks:
        work.call(["sh", "-c", work.implementer(task)])
        work.call(["sh", "-c", task.test])
    work.call(["git", "add", "-A"])
    return work.call(["git", "commit", "-q", "-m", "done"])[0]


def status_of(work: Work) -> dict[str, str]:
    return {task.name: "done" for task in work.case.tasks}


def kill_here(work: Work, seconds: float) -> bool:
    """It is never there when it is ended: nothing it says it did is in git."""
    subprocess.run(("true",), check=True, timeout=seconds + 9)
    return True
