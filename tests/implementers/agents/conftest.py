import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import stand_in
from settings_of import settings_of

from runner.context.brief import Brief
from runner.implementers.agents import agent_session
from runner.implementers.base import ImplementerContext, Mode
from runner.implementers.registry import IMPLEMENTERS
from runner.model import Spec, Task
from runner.process.base import Place, command_environment
from runner.process.limits import Limits
from runner.process.sandbox import NoSandbox, choose_sandbox


class Office:
    """A scratch tree, a box and a person's HOME in real folders, and agents that work there."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.tree, self.box, self.home = (folder / name for name in ("tree", "box", "home"))
        for path in (self.tree, self.box, self.home):
            path.mkdir()
        subprocess.run(["git", "init", "-q", str(self.tree)], check=True)
        self.told = []
        self.events = []
        self.cancelled = threading.Event()
        self.log = folder / "logs" / "implementer.log"
        self.sandbox = NoSandbox()
        self.settings = settings_of(sandbox="none")
        self.environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.program = Path(stand_in.install(folder))
        monkeypatch.setattr(agent_session, "environment", lambda: self.environ)

    def enclosed(self):
        """Work in bubblewrap, which sees the test's folder for the stand-in's sake."""
        if shutil.which("bwrap") is None:
            pytest.skip("bubblewrap is not installed")
        read = (self.program, self.folder / "script.json", Path(stand_in.__file__))
        self.sandbox = choose_sandbox("bubblewrap", read)
        self.settings = settings_of(sandbox="bubblewrap")

    def script(self, *attempts, **fields):
        """What the stand-in will do, attempt by attempt; the settings name it."""
        path = self.folder / "script.json"
        task = {"attempts": attempts or [[]], **fields}
        path.write_text(json.dumps({"tasks": {"TASK-002": task}}))
        line = shlex.join([sys.executable, str(self.program), str(path)])
        self.settings = settings_of(
            agent_command=line,
            sandbox=self.settings.sandbox.kind,
            agent_env=("MY_LOGIN_TOKEN",),
            agent_files=(".my/login.json",),
            model_plan="planner",
            model_execute="writer",
            model_review="reviewer",
        )

    def runs(self, line):
        """A person's own shell line instead of the stand-in."""
        self.settings = settings_of(agent_command=line, sandbox=self.settings.sandbox.kind)

    def task(self, **fields):
        fields = {"outputs": ("src/app.py",), **fields}
        return Task(id="TASK-002", title="Model", line=1, spec=Spec("", ""), **fields)

    def brief(self, attempt=1, previous="", **fields):
        task = self.task(**fields)
        return Brief(task, attempt, (), (), previous=previous, text="# TASK-002: Model\n\nDo it.")

    def context(self, mode=Mode.EXECUTE, **fields):
        fields = {"limits": Limits(soft=30, idle=60, hard=60), **fields}
        return ImplementerContext(
            place=Place(tree=self.tree, shown=self.tree, box=self.box),
            sandbox=self.sandbox,
            environment=command_environment(self.environ),
            tell=self.told.append,
            cancelled=self.cancelled,
            log=self.log,
            mode=mode,
            record=self.events.append,
            **fields,
        )

    def agent(self, name="agent"):
        return IMPLEMENTERS[name].for_task(self.task(), self.settings)

    def implement(self, mode=Mode.EXECUTE, name="agent", attempt=1, previous="", **fields):
        brief = self.brief(attempt, previous)
        return self.agent(name).implement(brief, self.context(mode, **fields))

    def files(self):
        return {
            path.relative_to(self.tree).as_posix(): path.read_text()
            for path in sorted(self.tree.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }


@pytest.fixture
def office(tmp_path, monkeypatch):
    return Office(tmp_path, monkeypatch)
