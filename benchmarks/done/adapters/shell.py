"""A loop in sh, as people write it: agent, test, commit, next; it stops at the first failure."""

import shutil

from work import Work

NAME = "shell"
CLASS = "floor"
PACKAGE = "sh and git of the system"
_FILE = "loop.sh"


def why_not(_: object) -> str:
    """Why it cannot be run here; nothing where it can."""
    return "" if shutil.which("sh") else "no sh"


def release() -> str:
    return "sh"


def prepare(work: Work) -> None:
    """Write the loop beside the clone; `done.txt` there is its status."""
    done = work.home / "done.txt"
    lines = ["set -e"]
    for task in work.case.tasks:
        lines += [
            f"if ! grep -qx {task.name} {done} 2>/dev/null; then",
            f"  {work.implementer(task)}",
            f"  {task.test}",
            "  git add -A",
            f"  git commit -q -m '{task.name}'",
            f"  echo {task.name} >> {done}",
            "fi",
        ]
    (work.home / _FILE).write_text("\n".join(lines) + "\n")


def run(work: Work) -> int:
    return work.call(["sh", str(work.home / _FILE)])[0]


def status_of(work: Work) -> dict[str, str]:
    file = work.home / "done.txt"
    done = file.read_text().split() if file.exists() else []
    return {task.name: "done" if task.name in done else "open" for task in work.case.tasks}


def kill_here(work: Work, seconds: float) -> bool:
    return work.call_and_kill(["sh", str(work.home / _FILE)], seconds)
