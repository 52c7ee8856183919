"""OpenSpec 1.13.2 of npm: a planner. A change with a list of tasks, which the agent marks."""

import json
import re
from pathlib import Path

from work import Work

NAME = "openspec"
CLASS = "planner"
PACKAGE = (
    "npm @fission-ai/openspec 1.13.2, integrity sha512-HzBaN9C1/ET+tgm/pxbWQYY4Kf+X9/1MSVEGQ"
    "8ZT3g4ZpdHn6v82CHkN+zmt9qv98Ghw0MDpmURasjJD2f90bg==, github.com/Fission-AI/OpenSpec"
)
_PROGRAM = "planners/node_modules/.bin/openspec"
_TASKS = "openspec/changes/work/tasks.md"


def why_not(peers: Path) -> str:
    """Why it cannot be run here; nothing where it can."""
    if (peers / _PROGRAM).exists():
        return ""
    return "`npm install --prefix PEERS/planners @fission-ai/openspec@1.13.2`"


def release() -> str:
    return "1.13.2"


def prepare(work: Work) -> None:
    """One change; its tasks as the manual has them; the agent's session as a script."""
    work.more["OPENSPEC_TELEMETRY"] = "0"
    work.must([str(work.peers / _PROGRAM), "init", "--tools", "none", "."])
    file = work.repo / _TASKS
    file.parent.mkdir(parents=True)
    reason = "The people who use this package have asked for what the tasks say, each by itself."
    (file.parent / "proposal.md").write_text(
        f"## Why\n\n{reason}\n\n## What Changes\n\n- The tasks of this change\n"
    )
    lines, steps = ["## 1. Work\n"], []
    for at, task in enumerate(work.case.tasks, 1):
        lines.append(f"- [ ] 1.{at} {task.title}; `{task.test}` passes")
        steps += [
            f"if grep -q '^- \\[ \\] 1.{at} ' {_TASKS}; then",
            f"  {work.implementer(task)}",
            f"  sed -i 's/^- \\[ \\] 1.{at} /- [x] 1.{at} /' {_TASKS}",
            f"  git add -A; git commit -q -m {json.dumps(task.title)}",
            "fi",
        ]
    file.write_text("\n".join(lines) + "\n")
    (work.home / "session.sh").write_text("\n".join(steps) + "\n")
    work.commit("The change")


def run(work: Work) -> int:
    return work.call(["sh", str(work.home / "session.sh")])[0]


def status_of(work: Work) -> dict[str, str]:
    """What its own list counts as completed, told by task from the marks that it counts."""
    said = work.must([str(work.peers / _PROGRAM), "list", "--json"])
    (change,) = json.loads(said[said.index("{") :])["changes"]
    marked = re.findall(r"(?m)^- \[x\] 1\.(\d+) ", (work.repo / _TASKS).read_text())
    counted = len(marked) == change["completedTasks"]
    return {
        task.name: "done" if counted and str(at) in marked else "open"
        for at, task in enumerate(work.case.tasks, 1)
    }


def kill_here(work: Work, seconds: float) -> bool:
    return work.call_and_kill(["sh", str(work.home / "session.sh")], seconds)
