"""A bench on a tree with a past: what stood there before, what a task made of it."""

import shutil
from contextlib import contextmanager

from gates_bench import a_bench, a_task
from msgspec.structs import replace

from runner.config.settings import Settings
from runner.gates.base import ChangeOrigin, Check
from runner.model import Action, Change, Level, digest_of
from runner.process.limits import Limits


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
