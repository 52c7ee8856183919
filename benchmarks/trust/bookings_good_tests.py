"""Good changes to the tests of the bookings service, and to what is around it."""

# ruff: noqa: E501 - code is quoted as it stands

from __future__ import annotations

from typing import TYPE_CHECKING

from bookings import good, of

if TYPE_CHECKING:
    from cases import Tree


@good(of("desk"), outputs=("tests/**",), type="test")
def test_for_what_is_there(tree: Tree) -> None:
    tree.replace(
        "tests/test_desk.py",
        "    def test_of_many_at_once",
        """    def test_a_room_is_free_again_when_it_was_given_back(self) -> None:
        book(self.store, a_booking("1", 9, 10))
        self.store.remove("1")
        book(self.store, a_booking("2", 9, 10))
        self.assertEqual([b.id for b in self.store.bookings()], ["2"])

    def test_of_many_at_once""",
    )


@good(of("store"), outputs=("tests/**",), type="test")
def assertions_added(tree: Tree) -> None:
    tree.replace(
        "tests/test_store.py",
        '        self.assertFalse(self.store.remove("1"))\n',
        '        self.assertFalse(self.store.remove("1"))\n        self.assertEqual(self.store.bookings(), [])\n',
    )


@good(of("api"), outputs=("tests/**",), type="test")
def assertion_made_stronger(tree: Tree) -> None:
    tree.replace(
        "tests/test_api.py",
        'self.assertEqual(self.call("GET", "/bookings?room=")[2], [])',
        'self.assertEqual(self.call("GET", "/bookings?room=")[::2], (200, []))',
    )


@good(of("overlap"), outputs=("tests/**",), type="test")
def test_renamed(tree: Tree) -> None:
    tree.replace(
        "tests/test_overlap.py", "test_apart_is_fine", "test_bookings_that_are_apart_are_fine"
    )


@good(of("store"), of("store_file"), outputs=("tests/**",), type="test")
def test_moved_to_another_file(tree: Tree) -> None:
    text = tree.files["tests/test_store.py"]
    head, _, moved = text.partition("class FileTest(")
    helpers = (
        head[: head.index("class StoreTest")]
        .replace('"""Bookings survive in SQLite."""', '"""Bookings survive in a file."""')
        .replace(", timezone", "")
    )
    tree.files["tests/test_store_file.py"] = f"{helpers}class FileTest({moved}"
    tree.files["tests/test_store.py"] = (
        head.rstrip().replace("import tempfile\n", "").replace("from pathlib import Path\n", "")
        + "\n"
    )


@good(of("store"), of("desk"), outputs=("tests/**",), type="test")
def helper_shared_by_tests(tree: Tree) -> None:
    tree.write(
        "tests/builders.py",
        '''
        """Bookings for tests."""

        from datetime import UTC, datetime

        from booking.models import Booking


        def a_blue_booking(id: str, start: int, end: int) -> Booking:
            """Of the blue room, on one day, from hour to hour."""
            hours = (datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in (start, end))
            return Booking(id, "Blue", "Ada", *hours)
    ''',
    )
    tree.cut("tests/test_desk.py", "def a_booking(", "class DeskTest")
    tree.replace("tests/test_desk.py", "from datetime import UTC, datetime\n", "")
    tree.replace("tests/test_desk.py", "from booking.models import Booking\n", "")
    tree.replace(
        "tests/test_desk.py",
        "from booking.store import Store\n",
        "from booking.store import Store\nfrom tests.builders import a_blue_booking as a_booking\n",
    )


@good(of("overlap"), outputs=("tests/**",), type="test")
def tests_as_a_table(tree: Tree) -> None:
    tree.append(
        "tests/test_overlap.py",
        """

        class TableTest(unittest.TestCase):
            def test_every_pair_of_short_bookings(self) -> None:
                for start in range(6, 12):
                    with self.subTest(start=start):
                        expected = start in (8, 9, 10)
                        found = overlap(a_booking(9, 11), a_booking(start, start + 2))
                        self.assertIs(found, expected)
    """,
    )


@good(of("locks"), outputs=("tests/**",), type="test")
def new_test_for_some_systems(tree: Tree) -> None:
    tree.write(
        "tests/test_locks.py",
        '''
        """Two processes and one file."""

        import os
        import tempfile
        import unittest
        from pathlib import Path

        from booking.store import Store


        class LockTest(unittest.TestCase):
            @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
            def test_another_process_sees_the_file(self) -> None:
                with tempfile.TemporaryDirectory() as folder:
                    path = str(Path(folder) / "bookings.db")
                    Store(path).close()
                    child = os.fork()
                    if child == 0:
                        os._exit(0 if Store(path).bookings() == [] else 1)
                    _, status = os.waitpid(child, 0)
                    self.assertEqual(status, 0)
    ''',
    )


@good(outputs=("Makefile",), type="infra")
def make_target(tree: Tree) -> None:
    tree.append("Makefile", "\nclean:\n\trm -f *.db\n")


@good(outputs=("package.json",), type="infra")
def package_script(tree: Tree) -> None:
    tree.replace(
        "package.json",
        '"lint": "make lint",',
        '"check": "make lint test",\n    "lint": "make lint",',
    )


@good(outputs=("mypy.ini",), type="infra")
def stricter_types(tree: Tree) -> None:
    tree.files["mypy.ini"] += "warn_unreachable = True\n"


@good(outputs=("ruff.toml",), type="infra")
def stricter_lint(tree: Tree) -> None:
    tree.write("ruff.toml", 'line-length = 120\nlint.extend-select = ["I", "B"]\n')


@good(
    of("package"),
    outputs=("pyproject.toml", "booking/__init__.py", "contracts/openapi.json"),
    type="infra",
)
def next_version(tree: Tree) -> None:
    tree.replace("pyproject.toml", 'version = "1.0.0"', 'version = "1.1.0"')
    tree.replace("booking/__init__.py", '"1.0.0"', '"1.1.0"')
