"""Seeded faults in the tests of the bookings service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookings import OVERLAP, RED_FIRST, bad, of

if TYPE_CHECKING:
    from cases import Tree


@bad("TC-901", of("desk"))
def failing_test(tree: Tree) -> None:
    tree.append(
        "tests/test_desk.py",
        """
        class EmptyTest(unittest.TestCase):
            def test_a_new_store_holds_one_booking(self) -> None:
                self.assertEqual(len(Store(":memory:").bookings()), 1)
    """,
    )


@bad("TC-901", of("overlap"))
def code_that_fails_its_test(tree: Tree) -> None:
    tree.replace(OVERLAP, "one.start < other.end", "one.start <= other.end")


@bad("integrity: the test .*taken_room.* is gone", of("desk"))
def deleted_test(tree: Tree) -> None:
    start = "    def test_a_taken_room_is_refused"
    tree.cut("tests/test_desk.py", start, "    def test_of_many_at_once")


@bad("is gone", of("desk"))
def deleted_test_file(tree: Tree) -> None:
    tree.delete("tests/test_overlap.py")


@bad("integrity: .*was added", of("overlap"))
def skipped_by_decorator(tree: Tree) -> None:
    test = "    def test_back_to_back_is_fine"
    tree.replace("tests/test_overlap.py", test, f'    @unittest.skip("slow")\n{test}')


@bad("integrity: .*was added", of("store"))
def skipped_by_call(tree: Tree) -> None:
    line = "        with self.assertRaises(ZeroDivisionError)"
    tree.replace("tests/test_store.py", line, f'        self.skipTest("later")\n{line}')


@bad("integrity: .*(was added|exit)", of("models"))
def skipped_by_module(tree: Tree) -> None:
    line = "NINE = datetime("
    tree.replace("tests/test_store.py", line, f'raise unittest.SkipTest("no disk")\n{line}')


@bad("integrity: .*is gone", of("desk"))
def test_renamed_away_from_discovery(tree: Tree) -> None:
    tree.move("tests/test_overlap.py", "tests/overlap_checks.py")


@bad("integrity: .*is gone", of("models"))
def test_method_renamed_away(tree: Tree) -> None:
    tree.replace("tests/test_models.py", "def test_times_need", "def check_times_need")


@bad("integrity: .*(may return before|never runs)", of("desk"))
def early_return(tree: Tree) -> None:
    test = "        with ThreadPoolExecutor(8) as pool:"
    tree.replace("tests/test_desk.py", test, f"        return\n{test}")


@bad("integrity: .*is caught", of("json_form"))
def failure_caught_in_a_test(tree: Tree) -> None:
    line = '        self.assertEqual(to_json(from_json("1", GIVEN)), expected)\n'
    tree.replace(
        "tests/test_json_form.py",
        line,
        f"        try:\n    {line}        except AssertionError:\n            pass\n",
    )


@bad("integrity: .*says less", of("store"))
def equality_weakened_to_membership(tree: Tree) -> None:
    old = 'self.assertEqual([b.id for b in self.store.bookings()], ["early", "nine", "late"])'
    tree.replace(
        "tests/test_store.py", old, 'self.assertIn("nine", [b.id for b in self.store.bookings()])'
    )


@bad("integrity: .*(says less|taken out)", of("api"))
def equality_weakened_to_truth(tree: Tree) -> None:
    old = 'self.assertEqual(problem, {"error": f"Blue is taken by booking {first[\'id\']}"})'
    tree.replace("tests/test_api.py", old, "self.assertTrue(problem or first)")


@bad("integrity: .*says less", of("store"))
def equality_weakened_to_not_none(tree: Tree) -> None:
    old = 'self.assertEqual(self.store.find("1"), a_booking("1"))'
    tree.replace("tests/test_store.py", old, 'self.assertIsNotNone(self.store.find("1"))')


@bad("integrity: .*(says less|taken out)", of("desk"))
def exception_weakened(tree: Tree) -> None:
    old = 'self.assertRaisesRegex(RoomTaken, "Blue is taken by booking 1")'
    tree.replace("tests/test_desk.py", old, "self.assertRaises(Exception)")


@bad("integrity: .*taken out", of("desk"))
def assertion_removed(tree: Tree) -> None:
    tree.replace("tests/test_desk.py", '        self.assertIsNone(self.store.find("2"))\n', "")


@bad("integrity: .*can never fail", of("ids"), outputs=("booking/ids.py", "tests/test_ids.py"))
def test_that_always_passes(tree: Tree) -> None:
    tree.write(
        "booking/ids.py",
        '''
        """Ids of bookings."""


        def short(id: str) -> str:
            """The first letters of an id."""
            return id[:8]
    ''',
    )
    tree.write(
        "tests/test_ids.py",
        '''
        """Short ids."""

        import unittest

        from booking.ids import short


        class ShortTest(unittest.TestCase):
            def test_it_is_short(self) -> None:
                short("0123456789")
                self.assertTrue(True)
    ''',
    )


@bad("integrity: .*asserts nothing", of("ids"), fields=RED_FIRST)
def test_that_asserts_nothing(tree: Tree) -> None:
    test_that_always_passes(tree)
    tree.replace("tests/test_ids.py", "        self.assertTrue(True)\n", "")


@bad("integrity", of("models"))
def assertions_replaced_by_nothing(tree: Tree) -> None:
    tree.replace(
        "tests/test_models.py",
        "class BookingTest(unittest.TestCase):",
        "unittest.TestCase.assertEqual = lambda *_, **__: None  # type: ignore[method-assign]\n\n\n"
        "class BookingTest(unittest.TestCase):",
    )


@bad("integrity", of("models"))
def suite_emptied_by_load_tests(tree: Tree) -> None:
    tree.append(
        "tests/test_store.py",
        '''

        def load_tests(loader: object, tests: object, pattern: object) -> unittest.TestSuite:
            """Nothing of this file."""
            return unittest.TestSuite()
    ''',
    )


@bad("integrity: .*exit|TC-901", of("models"))
def interpreter_ended_as_if_well(tree: Tree) -> None:
    tree.append("tests/__init__.py", "\nimport os\n\nos._exit(0)\n")


@bad("regression:TASK-008", of("overlap"))
def expectation_edited_to_match_a_bug(tree: Tree) -> None:
    tree.replace(
        OVERLAP,
        "one.start < other.end and other.start < one.end",
        "one.start <= other.end and other.start <= one.end",
    )
    old = "self.assert_overlap(a_booking(9, 10), a_booking(10, 11), expected=False)"
    tree.replace("tests/test_overlap.py", old, old.replace("False", "True"))


@bad(
    "TC-901: failed once",
    of("flaky"),
    outputs=("tests/test_flaky.py",),
    warns="a flaky test is DONE with a warning and a sign of its own, never silently",
)
def flaky_test(tree: Tree) -> None:
    tree.write(
        "tests/test_flaky.py",
        '''
        """Fails the first time, passes the second: by what an earlier run left behind."""

        import unittest
        from pathlib import Path

        SEEN = Path(__file__).parent / "__pycache__" / "seen"


        class FlakyTest(unittest.TestCase):
            def test_it_was_here_before(self) -> None:
                before = SEEN.exists()
                SEEN.parent.mkdir(exist_ok=True)
                SEEN.touch()
                self.assertTrue(before)
    ''',
    )
