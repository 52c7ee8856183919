"""A plan with held-out tests, whose files are in the person's store."""

import os

from workplace import a_task

from runner.held_out.store import FileRecord, make_store_id
from runner.model import digest_of
from runner.project import Project

TESTS = "tests/test_acceptance.py"
VISIBLE = "tests/test_visible.py"
SECRET = "a held-out sentence that nobody may read"
HELD_OUT = f'''"""{SECRET}"""
import unittest

import shop


class Prices(unittest.TestCase):
    def test_a_price_is_a_number(self):
        """A1"""
        self.assertEqual(shop.price(2), 6)

    def test_a_free_item_costs_nothing(self):
        """A2: nothing for nothing"""
        self.assertEqual(shop.price(0), 0)

    # A2: also many
    def test_many_items(self):
        self.assertEqual(shop.price(100), 300)
'''
PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q -p no:cacheprovider"
UNITTEST = "python3 -m unittest -q"
"""A test program that starts in a quarter of the time of pytest."""


def a_test(body, modules="shop"):
    """The text of a test of these modules, by unittest."""
    imports = "".join(f"import {one}\n" for one in ("unittest", *modules.split()))
    head = "class Seen(unittest.TestCase):\n    def test_price(self):\n"
    return f"{imports}\n\n{head}        {body}\n"


SEEN = a_test("self.assertEqual(shop.price(1), 3)")
RIGHT = {"shop.py": "def price(count):\n    return 3 * count\n", VISIBLE: SEEN}
WRONG = {"shop.py": "def price(count):\n    return count + 2\n", VISIBLE: SEEN}


def store_of(workplace):
    return Project.open(workplace.root, os.environ).held_out.store


def hold_out(workplace, files, task="TASK-001", *, once_in_git=False):
    """Put files into the store, as `runner hold-out` does."""
    make_store_id(Project.open(workplace.root, os.environ).folders.common)
    for path, text in files.items():
        store_of(workplace).put(task, path, text.encode(), FileRecord(once_in_git))


def a_held_out_task(files, *fields, id_="TASK-001", visible=(VISIBLE,), program=UNITTEST, **more):
    """A section whose contract TC-002 runs the first file, which is held out."""
    lines = [f"TC-001 (unit): `{program} {path}`" for path in visible]
    lines += [f"TC-002 (unit, held out): `{program} {next(iter(files))}`"]
    listed = [f"`{path}` {digest_of(text.encode())}" for path, text in files.items()]
    items = ["A1: a price is a number", "A2: nothing costs nothing"]
    own = (
        _list("Acceptance", items),
        _list("Test contracts", lines),
        _list("Held-out files", listed),
    )
    return a_task(id_, outputs=["shop.py", VISIBLE], fields=(*own, *fields), **more)


def _list(name, entries):
    return "\n  - ".join((f"{name}:", *entries))


def planned(workplace, *fields, files=None, **more):
    """A repository with one task whose tests are held out."""
    files = {TESTS: HELD_OUT} if files is None else files
    workplace.write({"tests/.keep": "", "conftest.py": ""})
    workplace.plan(a_held_out_task(files, *fields, **more))
    hold_out(workplace, files)


def failed(workplace, monkeypatch):
    """A repository whose task waits: its held-out tests failed, and the store has their output."""
    monkeypatch.setenv("RUNNER_PROOF_HELD_OUT_ROUNDS", "1")
    lines = (f"pathlib.Path({path!r}).write_text({text!r})" for path, text in WRONG.items())
    workplace.write({"build.py": "\n".join(("import pathlib", *lines))})
    planned(workplace, command="python3 build.py")
    assert workplace.run().code == 3


def told(text):
    """What a text tells of a held-out test: a line of it, its id, or how it failed."""
    return [one for one in (SECRET, "test_many_items", "102 != 300") if one in text]
