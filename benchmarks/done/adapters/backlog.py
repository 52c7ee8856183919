"""Backlog.md 1.52.0 of npm: a planner. The agent sets the status itself, as its manual tells it."""

import json
from pathlib import Path

from work import Work

NAME = "backlog"
CLASS = "planner"
PACKAGE = (
    "npm backlog.md 1.52.0, integrity sha512-GIKgZmoGtIqekRLf9YzPkPqvZKkTen88UrSUv3ibNTLIDcp"
    "xY1oNZ5pBlBWmvO+T+2ZmLmT5csMJ+eTvlp4g+Q==, github.com/MrLesk/Backlog.md"
)
_PROGRAM = "planners/node_modules/.bin/backlog"


def why_not(peers: Path) -> str:
    """Why it cannot be run here; nothing where it can."""
    if (peers / _PROGRAM).exists():
        return ""
    return "`npm install --prefix PEERS/planners backlog.md@1.52.0`"


def release() -> str:
    return "1.52.0"


def prepare(work: Work) -> None:
    """Its own files, by its own commands; the agent's session as a script."""
    program = str(work.peers / _PROGRAM)
    work.must([program, "init", "bench", "--defaults"])
    lines = []
    for at, task in enumerate(work.case.tasks, 1):
        proof = f"`{task.test}` passes"
        work.must([program, "task", "create", task.title, "-d", task.prose, "--ac", proof])
        lines += [
            f"if ! grep -q '^status: Done' backlog/tasks/task-{at}\\ *; then",
            f"  {program} task edit {at} -s 'In Progress' --plain",
            f"  {work.implementer(task)}",
            f"  {program} task edit {at} -s Done --check-ac 1 --plain",
            f"  git add -A; git commit -q -m {json.dumps(task.title)}",
            "fi",
        ]
    (work.home / "session.sh").write_text("\n".join(lines) + "\n")
    work.commit("The backlog")


def run(work: Work) -> int:
    return work.call(["sh", str(work.home / "session.sh")])[0]


def status_of(work: Work) -> dict[str, str]:
    found = {}
    for at, task in enumerate(work.case.tasks, 1):
        said = work.must([str(work.peers / _PROGRAM), "task", str(at), "--plain"])
        line = next(one for one in said.splitlines() if one.startswith("Status:"))
        found[task.name] = "done" if "Done" in line else "open"
    return found


def kill_here(work: Work, seconds: float) -> bool:
    return work.call_and_kill(["sh", str(work.home / "session.sh")], seconds)
