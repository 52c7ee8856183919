"""A place to run checks in, without a sandbox: tasks to check, and trees with a past."""

import os
import shutil
import threading
from contextlib import contextmanager

from msgspec.structs import replace

from runner.config.settings import Settings
from runner.gates.base import ChangeOrigin, Check, GateContext, make_own_check
from runner.gates.registry import FAMILIES
from runner.model import Action, Change, Level, Spec, Task, digest_of
from runner.process.base import Place, command_environment
from runner.process.limits import Limits
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


def a_check(command, *, id_="TC-001", seconds=30, **fields):
    limits = fields.pop("limits", Limits(seconds, seconds, seconds))
    return Check(id=id_, kind="test", command=command, limits=limits, level=Level.UNIT, **fields)


ORIGIN = ("reviewed", "by_person", "red_first", "taken_back", "revised")


def a_gate(command, name="lint", **fields):
    return Check(id=f"gate:{name}", kind="gate", command=command, limits=Limits(30, 30, 30))


def changes_between(before, after):
    def change(path):
        old, new = before.get(path), after.get(path)
        action = Action.CREATE if old is None else Action.MODIFY if new else Action.DELETE
        content = None if new is None else new.encode()
        return Change(
            path=path,
            action=action,
            mode=0 if new is None else 0o100644,
            before=None if old is None else digest_of(old.encode()),
            after=None if content is None else digest_of(content),
            content=content,
        )

    differing = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
    return tuple(change(path) for path in differing)


def put(tree, files):
    """Make the folder hold these files and no others."""
    for entry in tree.iterdir():
        plain = entry.is_dir() and not entry.is_symlink()
        shutil.rmtree(entry) if plain else entry.unlink()
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)


def a_story(folder, before, after, *, settings=None, task=None, base="b" * 40, start="", **fields):
    """A bench whose tree holds `after`, and whose base held `before`, both below `start`."""
    context = a_bench(folder)
    tree = folder / "tree" / start
    tree.mkdir(exist_ok=True)
    put(tree, after)
    visits = []

    @contextmanager
    def on_base(changes):
        visits.append([one.path for one in changes])
        made = {one.path: one.content for one in changes}
        files = {**before, **{path: c.decode() for path, c in made.items() if c is not None}}
        put(tree, {path: text for path, text in files.items() if made.get(path, "") is not None})
        try:
            yield
        finally:
            put(tree, after)

    mine = {name: fields.pop(name) for name in ORIGIN if name in fields}
    told = replace(
        context,
        origin=ChangeOrigin(**mine),
        place=replace(context.place, start=start),
        task=task or a_task(),
        settings=settings or Settings(),
        changes=changes_between(before, after),
        before=lambda path: before[path].encode() if path in before else None,
        base=base,
        on_base=on_base,
        kept=folder / "kept",
        **fields,
    )
    return told, visits
