"""A person's repository in a temporary folder, and the runner as that person would type it."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from template_repository import begin_repository

from runner.cli import main
from runner.errors import RunnerError
from runner.process.sandbox import choose_sandbox

FENCE = "```"
PASSES = "python3 -c pass"
NO_PROOF = "Proof: none — what is written here is looked at by the test"
"""The field of a task whose story is not about its proof."""


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def said(self):
        return self.out + self.err

    @property
    def document(self):
        return json.loads(self.out)


@dataclass(frozen=True)
class Workplace:
    """The project's folder `root`, which may lie below the repository's `top`."""

    root: Path
    home: Path

    @classmethod
    def begin(cls, root, home, *, name="Ada", branch="main"):
        root.mkdir(parents=True, exist_ok=True)
        begin_repository(root, name=name, branch=branch)
        return cls(root, home)

    # --- what the person does ---

    def git(self, *words, check=True, **variables):
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            capture_output=True,
            check=False,
            env={**os.environ, **variables},
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def write(self, files):
        for path, content in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def read(self, path):
        return (self.root / path).read_text("utf-8")

    def has(self, path):
        return (self.root / path).exists()

    def commit(self, files=None, message="mine"):
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    def plan(self, *tasks, title="Shop", commit=True):
        """Write the plan of these sections, and commit all that is there."""
        self.write({"TASK-GRAPH.md": f"# {title}\n\n" + "\n".join(tasks)})
        if commit:
            self.commit(message="plan")

    def settle(self, text="", **values):
        """Write the person's own settings: a text, or values by their names."""
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in values.items()]
        file = self.home / "config/runner/runner.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "".join(lines))
        return file

    def cloned(self, name="clone", *words):
        """Give a clone beside it, in which somebody called Bo commits."""
        folder = self.root.with_name(name)
        self.git("clone", "-q", *words, str(self.root), str(folder))
        clone = Workplace(folder, self.home)
        clone.git("config", "user.name", "Bo")
        clone.git("config", "user.email", "bo@example.org")
        return clone

    def edit_plan(self, old, new):
        text = self.read("TASK-GRAPH.md")
        assert old in text, text
        self.write({"TASK-GRAPH.md": text.replace(old, new, 1)})

    # --- the runner ---

    def run(self, *words, trust=True, here="."):
        """`runner run …` in this process."""
        return self.runner("run", *(["--trust"] if trust else []), *words, here=here)

    def runner(self, *words, here="."):
        """`runner …` in this process."""
        out, err = io.StringIO(), io.StringIO()
        before = Path.cwd()
        os.chdir(self.root / here)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    code = main(words)
                except SystemExit as ended:  # argparse, after --help
                    code = ended.code
        finally:
            os.chdir(before)
        return Ended(code, out.getvalue(), err.getvalue())

    def start(self, *words, **variables):
        """`python -m runner …` as a process of its own, in the project's folder."""
        return subprocess.Popen(
            [sys.executable, "-m", "runner", *words],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )

    # --- how it stands ---

    @property
    def head(self):
        return self.git("rev-parse", "HEAD")

    @property
    def subjects(self):
        """Subjects of all commits of HEAD, the oldest first."""
        return self.git("log", "--reverse", "--format=%s").splitlines()

    @property
    def landings(self):
        """Ids of the tasks that landed, in that order."""
        found = self.git("log", "--reverse", "--format=%(trailers:key=Task,valueonly)")
        return [line for line in found.splitlines() if line]

    @property
    def statuses(self):
        """Status and note of each task, as the plan says them."""
        listed = self.runner("list", "--json").document
        return {task["id"]: task["status"] for task in listed["tasks"]}

    @property
    def dirt(self):
        """What `git status` says, a line a file."""
        return self.git("status", "--porcelain").splitlines()

    @property
    def branches(self):
        return self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()

    @property
    def events(self):
        journal = self.root / "artifacts/build/journal.jsonl"
        return [json.loads(line) for line in journal.read_text("utf-8").splitlines()]

    def status_line(self, id_, level="##"):
        """The line of the plan that says a task's status."""
        section = self.read("TASK-GRAPH.md").split(f"{level} {id_}", 1)[1]
        return next(line for line in section.splitlines() if "Status" in line)

    def happened(self, kind, task=None):
        """Events of a kind, of one task perhaps."""
        return [e for e in self.events if e["type"] == kind and task in (None, e["task"])]

    def everything(self):
        """Every file and folder with its bytes and times, `.git` too."""
        found = {}
        for at, folders, names in os.walk(self.root):
            for name in (*folders, *names):
                path = Path(at, name)
                seen = path.lstat()
                content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                found[str(path)] = (seen.st_mode, seen.st_mtime_ns, seen.st_size, content)
        return found

    def objects(self):
        """Every object of the repository in one text: nothing hides in a pack."""
        listed = self.git("cat-file", "--batch-check", "--batch-all-objects")
        names = "\n".join(line.split()[0] for line in listed.splitlines())
        done = subprocess.run(
            ["git", "cat-file", "--batch"],
            cwd=self.root,
            input=names.encode(),
            capture_output=True,
            check=True,
        )
        return done.stdout


def with_sandbox(name):
    """The word of a sandbox that works here; else the test is skipped."""
    try:
        choose_sandbox(name)
    except RunnerError as missing:
        pytest.skip(missing.message)
    return name


# --- plans ----------------------------------------------------------------------------


def a_task(
    id_,
    title="Work",
    *,
    status="PENDING",
    needs=(),
    outputs=None,
    blocks=None,
    command="",
    tests=(),
    fields=(),
    prose="",
):
    """A section of the plan; its output files are its blocks' where none are named."""
    blocks = blocks or {}
    outputs = tuple(blocks) if outputs is None else outputs
    lines = [f"## {id_}: {title}", "", f"- Status: {status}"]
    lines += [f"- Depends on: {', '.join(needs)}"] if needs else []
    lines += [f"- Output files: {', '.join(f'`{path}`' for path in outputs)}"] if outputs else []
    lines += [f"- Command: `{command}`"] if command else []
    lines += ["- Test contracts:"] if tests else []
    lines += [f"  - TC-{id_[-3:]}{n or ''} (unit): `{line}`" for n, line in enumerate(tests)]
    lines += [f"- {field}" for field in fields]
    lines += ["", prose] if prose else []
    for path, text in blocks.items():
        end = "" if text.endswith("\n") else "\n"
        lines += ["", f"{FENCE}text file={path}", f"{text}{end}{FENCE}"]
    return "\n".join(lines) + "\n"
