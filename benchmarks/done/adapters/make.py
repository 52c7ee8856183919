"""make with a stamp a task: agent, test, commit, stamp; goes on where stamps are missing."""

import shutil

from work import Work

NAME = "make"
CLASS = "floor"
PACKAGE = "make and git of the system"


def why_not(_: object) -> str:
    """Why it cannot be run here; nothing where it can."""
    return "" if shutil.which("make") else "no make"


def release() -> str:
    return "make"


def _words(work: Work) -> list[str]:
    return ["make", "-k", "-f", str(work.home / "Makefile")]


def prepare(work: Work) -> None:
    """Write the Makefile beside the clone; the stamps there are its status."""
    stamps = {task.name: work.home / f"{task.name}.stamp" for task in work.case.tasks}
    lines = [f"all: {' '.join(map(str, stamps.values()))}"]
    for task in work.case.tasks:
        lines += [
            f"{stamps[task.name]}: {' '.join(str(stamps[name]) for name in task.after)}",
            f"\t{work.implementer(task)}",
            f"\t{task.test}",
            f"\tgit add -A && git commit -q -m '{task.name}'",
            "\ttouch $@",
        ]
    (work.home / "Makefile").write_text("\n".join(lines) + "\n")


def run(work: Work) -> int:
    return work.call(_words(work))[0]


def status_of(work: Work) -> dict[str, str]:
    names = [task.name for task in work.case.tasks]
    return {name: "done" if (work.home / f"{name}.stamp").exists() else "open" for name in names}


def kill_here(work: Work, seconds: float) -> bool:
    return work.call_and_kill(_words(work), seconds)
