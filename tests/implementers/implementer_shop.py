"""A folder in which an implementer works without a run."""

import threading

from msgspec.structs import replace

from runner.context.brief import Parts, compose_brief
from runner.implementers.base import ImplementerContext
from runner.model import Spec, Task
from runner.process.base import Place, command_environment
from runner.process.limits import Limits
from runner.process.sandbox import NoSandbox


class Shop:
    """A scratch tree and a box in real folders, and tasks worked on in them."""

    def __init__(self, folder):
        self.tree = folder / "tree"
        self.box = folder / "box"
        self.tree.mkdir()
        self.box.mkdir()
        self.told = []
        self.context = ImplementerContext(
            place=Place(tree=self.tree, shown=self.tree, box=self.box),
            sandbox=NoSandbox(),
            limits=Limits(soft=5, idle=10, hard=10),
            environment=command_environment({"PATH": "/usr/bin:/bin"}),
            tell=self.told.append,
            cancelled=threading.Event(),
            log=folder / "logs" / "implementer.log",
        )
        (folder / "logs").mkdir()

    def limits(self, **fields):
        self.context = replace(self.context, limits=replace(self.context.limits, **fields))

    def brief(self, attempt=1, previous="", findings=(), **fields):
        task = Task(id="TASK-002", title="Model", line=1, spec=Spec("", ""), **fields)
        return compose_brief(Parts(task, attempt, previous=previous, findings=findings))

    def write(self, path, text):
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def files(self):
        return {
            path.relative_to(self.tree).as_posix(): path.read_text()
            for path in sorted(self.tree.rglob("*"))
            if path.is_file()
        }
