"""A place to run checks in, without a sandbox, and tasks to check."""

import os
import threading

from runner.config.settings import Settings
from runner.gates.base import GateContext, make_own_check
from runner.gates.registry import FAMILIES
from runner.model import Spec, Task
from runner.process.base import Place, command_environment
from runner.process.sandbox import NoSandbox

_PYTEST = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""The plug-ins that lie here take a pytest three times as long to start as itself."""


def a_task(**fields):
    return Task(id="TASK-001", title="T", line=1, spec=Spec("w", "p"), **fields)


def own_check(name, context):
    """The one check of a family that runs no command."""
    family = next(one for one in FAMILIES if one.name == name)
    return make_own_check(family.own, context.task, context.settings)


def checks_of_family(name, task, settings):
    return next(one for one in FAMILIES if one.name == name).checks(task, settings)


def a_bench(folder, *, cancelled=False, shares=(), **variables):
    """Its tree is `folder/tree`, and the repository it stands for is `folder/real`."""
    for name in ("tree", "real", "box", "logs"):
        (folder / name).mkdir(exist_ok=True)
    event = threading.Event()
    if cancelled:
        event.set()
    place = Place(tree=folder / "tree", shown=folder / "real", box=folder / "box", shares=shares)
    return GateContext(
        task=a_task(),
        settings=Settings(),
        place=place,
        sandbox=NoSandbox(),
        environment=command_environment(os.environ, extra={**_PYTEST, **variables}),
        logs=folder / "logs",
        logs_shown="artifacts/build/logs/TASK-001/1",
        tell=lambda _: None,
        cancelled=event,
    )
