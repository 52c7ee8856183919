"""Delivery Workbench 1.15.0 of PyPI (`dw`): a commit gate, used by its manual's daily loop.

It captures evidence of the test, sets the story done, ticks the contract's boxes (that is left to
the agent: "no command or tool does it") and commits. As in every case it claims success whatever
the test said; what counts is whether the gate refuses the story or the commit.
"""

import os
from pathlib import Path

from case import git
from work import Work

NAME = "dw"
CLASS = "gate"
PACKAGE = (
    "PyPI delivery-workbench 1.15.0, wheel "
    "sha256:ae8ab8bc8c6ba29c58a1d4c6541c2eb1eb9c2dd35a4bd39102d841b4189b52aa, "
    "github.com/karolswdev/delivery-workbench"
)


def why_not(peers: Path) -> str:
    """Why it cannot be run here; nothing where it can."""
    if (peers / "dw/bin/dw").exists():
        return ""
    return "`python -m venv PEERS/dw` and `pip install delivery-workbench==1.15.0` there"


def release() -> str:
    return "1.15.0"


def prepare(work: Work) -> None:
    """Install it into the clone: one phase, a story a task; the session as a script."""
    program = str(work.peers / "dw/bin/dw")
    work.must([program, "install", ".", "--skip-bootstrap"])
    work.must([program, "new-project", ".", "bench", "Bench", "BN"])
    work.must([program, "phase", "create", "bench", "1", "Work"])
    lines = []
    for at, task in enumerate(work.case.tasks, 1):
        work.must([program, "story", "create", "bench", "1", task.title])
        told, here = f"bench 1 {at}", ".githooks/dw"
        lines += [
            f"if ! {here} story list bench | grep -q -- '-1-{at:02d}.done'; then",
            f"  {here} story status {told} in-progress",
            f"  {work.implementer(task)}",
            f"  {here} evidence capture {told} -- {task.test}",
            f"  {here} story status {told} done",
            f"  git add -A; {here} contract new --force",
            "  sed -i 's/^- \\[ \\]/- [x]/' .tmp/CONTRACT.md",
            f"  git commit -q -m 'Story {at}'",
            "fi",
        ]
    (work.home / "session.sh").write_text("\n".join(lines) + "\n")
    git(work.repo, "add", "-A")
    git(work.repo, "commit", "-q", "-m", "The roadmap")
    work.more["PATH"] = os.environ["PATH"]


def run(work: Work) -> int:
    return work.call(["sh", str(work.home / "session.sh")])[0]


def status_of(work: Work) -> dict[str, str]:
    """What its own list says."""
    listed = work.must([".githooks/dw", "story", "list", "bench"]).splitlines()
    found = {}
    for at, task in enumerate(work.case.tasks, 1):
        is_done = any(f"-1-{at:02d}\tdone\t" in line for line in listed)
        found[task.name] = "done" if is_done else "open"
    return found


def kill_here(work: Work, seconds: float) -> bool:
    return work.call_and_kill(["sh", str(work.home / "session.sh")], seconds)
