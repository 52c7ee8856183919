"""Builders for the tests of what a person types."""

import json
import os
import re
import subprocess
from typing import NamedTuple

from msgspec import Struct

from runner.cli import main
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    RunFinished,
    RunStarted,
    StatusesPublished,
    TaskBlocked,
    TaskDone,
    TaskLanded,
)
from runner.journal.log import Journal
from runner.model import Ending, Finding, Level, Proof, Reason, Status, Verdict, digest_of
from runner.project import JOURNAL, Project

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
TREE = "c" * 40


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Ground:
    """The project's folder, and what a person does in it."""

    def __init__(self, folder, home, capsys):
        self.folder = folder
        self.home = home
        self._capsys = capsys

    def git(self, *words):
        done = subprocess.run(
            ["git", *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, path, text):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, message="by hand"):
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def runner(self, *words):
        """What the runner says; times are written as `<time>`."""
        self._capsys.readouterr()
        code = main(words)
        out, err = self._capsys.readouterr()
        return Said(code, _TIME.sub("<time>", out), _TIME.sub("<time>", err))

    def project(self):
        return Project.open(self.folder, os.environ)

    def spec(self, id_):
        return next(task.spec for task in self.project().outline().tasks if task.id == id_)

    def journal(self, *happened, run="run-1"):
        """Write (event, task, attempt), or an event alone, into the journal."""
        with Journal.open(self.folder / JOURNAL, run=run) as journal:
            return [
                journal.append(one)
                if isinstance(one, Struct)
                else journal.append(one[0], task=one[1], attempt=one[2])
                for one in happened
            ]


def a_plan(text, *, title="Bookings"):
    """`A; B needs A; C is DONE` as a plan: one task each, that writes one file."""
    parts = [f"# {title}\n"]
    for sentence in text.split("; "):
        words = sentence.split(" ")
        status = words[words.index("is") + 1] if "is" in words else "PENDING"
        needs = words[words.index("needs") + 1] if "needs" in words else "none"
        number = ord(words[0]) - ord("A") + 1
        named = ", ".join(_id(one) for one in needs.split(",")) if needs != "none" else needs
        parts.append(
            f"## {_id(words[0])}: task {words[0]}\n\n- Status: {status}\n- Depends on: {named}\n"
            f"- Output files: `{words[0].lower()}.txt`\n"
            f"- Test contracts:\n  - TC-{number:03d} (unit): `true`\n\n"
            f"```text file={words[0].lower()}.txt\n{words[0]}\n```\n"
        )
    return "\n".join(parts)


def _id(letter):
    return f"TASK-{ord(letter) - ord('A') + 1:03d}"


def a_ground(ground, text="A; B needs A; C needs A,B", **more):
    """The repository with a plan, committed."""
    ground.git("init", "-q", "-b", "main")
    ground.write("TASK-GRAPH.md", a_plan(text, **more))
    ground.commit("plan")
    return ground


PROOF = Proof(
    "TC-001",
    "test",
    "true",
    Verdict.PASS,
    0,
    0.25,
    digest_of(b"out"),
    Level.UNIT,
    (("passed", 3),),
    "artifacts/build/logs/TASK-001/1/TC-001.log",
)
FINDING = Finding(
    "TC-002", "1 test failed", "b.txt", 3, hint="mend it", detail="assert 1 == 2\nlast line"
)


def began(ground):
    head = ground.git("rev-parse", "HEAD")
    return RunStarted(head=head, branch="main", plan=digest_of(b""), pid=1, settings={})


def ended(ground, code=0):
    head = ground.git("rev-parse", "HEAD")
    return RunFinished(exit=code, head=head, seconds=1.5, counts={"DONE": 1})


def started(ground, id_, attempt=1):
    event = AttemptStarted(base="", implementer="blocks", spec=ground.spec(id_))
    return event, id_, attempt


def done(ground, id_, commit="", attempt=1):
    """The records of an attempt that passed and landed."""
    finished = AttemptFinished(ending=Ending.PASSED, tree=TREE, seconds=2.0, proofs=(PROOF,))
    said = TaskDone(spec=ground.spec(id_), commit=commit, tree=TREE, proofs=(PROOF,))
    landed = [(TaskLanded(commit=commit, tree=TREE, paths=("a.txt",)), id_, attempt)]
    return [
        started(ground, id_, attempt),
        (finished, id_, attempt),
        *(landed if commit else []),
        (said, id_, attempt),
    ]


def blocked(ground, id_, attempt=1, reason=Reason.CHECKS, note="TC-002 failed 1 time", told=()):
    failed = AttemptFinished(
        ending=Ending.FAILED,
        tree=TREE,
        seconds=3.0,
        findings=(*told, FINDING),
        draft="draft/TASK-002-b",
    )
    said = TaskBlocked(
        reason=reason, note=note, draft="draft/TASK-002-b", findings=(*told, FINDING)
    )
    return [started(ground, id_, attempt), (failed, id_, attempt), (said, id_, attempt)]


def published(ground, **statuses):
    """What the runner wrote into the plan, as `published(ground, A="DONE")`; the file too."""
    file = ground.folder / "TASK-GRAPH.md"
    text = file.read_text()
    for letter, status in statuses.items():
        head, tail = text.split(f"## {_id(letter)}:")
        text = (
            head + f"## {_id(letter)}:" + re.sub(r"Status: .*", f"Status: {status}", tail, count=1)
        )
    file.write_text(text)
    said = {_id(letter): Status(status.split(" ")[0]) for letter, status in statuses.items()}
    return StatusesPublished(statuses=said, head=ground.git("rev-parse", "HEAD"), plan="")
