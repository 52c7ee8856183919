"""Seeded faults in the bookings service: each must keep its task from becoming DONE."""

from __future__ import annotations

from cases import Case, Tree

API = "booking/api.py"
JSON = "booking/json_form.py"
MODELS = "booking/models.py"
DESK = "booking/desk.py"
STORE = "booking/store.py"
OVERLAP = "booking/overlap.py"
DOCUMENT = "contracts/openapi.json"
SCHEMA = "contracts/booking.schema.json"
ANY_CODE = ("booking/**", "tests/**", "contracts/**")
CONTRACT = (f"- Contracts:\n  - openapi: `{DOCUMENT}` app=`booking.api:app`",)
MODEL_CONTRACT = (f"- Contracts:\n  - schema: `{SCHEMA}` = `booking.models:Booking`",)
RED_FIRST = ("- Red first: yes",)
ONE_TEST = "python3 -m unittest -q tests.test_api.ApiTest.test_back_to_back_is_not_taken"
CASES: list[Case] = []


def of(name: str) -> str:
    """The command of one test file."""
    return f"python3 -m unittest -q tests.test_{name}"


def bad(by: str, *tests: str, outputs: tuple[str, ...] = ANY_CODE, **more: object):  # noqa: ANN201 - a decorator
    """Register an edit function as a case under its own name."""

    def register(edit):  # noqa: ANN001, ANN202 - a decorator
        name = edit.__name__.replace("_", "-")
        CASES.append(Case(name, "bookings", edit, outputs, tests, by=by, **more))
        return edit

    return register


# --- tests that fail, vanish or keep silent ------------------------------------------------------


@bad("TC-901", of("desk"))
def failing_test(tree: Tree) -> None:
    tree.append("tests/test_desk.py", """
        class EmptyTest(unittest.TestCase):
            def test_a_new_store_holds_one_booking(self) -> None:
                self.assertEqual(len(Store(":memory:").bookings()), 1)
    """)  # fmt: skip


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
    line = "        self.assertEqual(to_json(from_json(\"1\", GIVEN)), expected)\n"
    tree.replace("tests/test_json_form.py", line,
        f"        try:\n    {line}        except AssertionError:\n            pass\n")  # fmt: skip


# --- tests that say less -------------------------------------------------------------------------


@bad("integrity: .*says less", of("store"))
def equality_weakened_to_membership(tree: Tree) -> None:
    old = 'self.assertEqual([b.id for b in self.store.bookings()], ["early", "nine", "late"])'
    tree.replace("tests/test_store.py", old,
        'self.assertIn("nine", [b.id for b in self.store.bookings()])')  # fmt: skip


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
    tree.write("booking/ids.py", '''
        """Ids of bookings."""


        def short(id: str) -> str:
            """The first letters of an id."""
            return id[:8]
    ''')  # fmt: skip
    tree.write("tests/test_ids.py", '''
        """Short ids."""

        import unittest

        from booking.ids import short


        class ShortTest(unittest.TestCase):
            def test_it_is_short(self) -> None:
                short("0123456789")
                self.assertTrue(True)
    ''')  # fmt: skip


@bad("integrity: .*asserts nothing", of("ids"), fields=RED_FIRST)
def test_that_asserts_nothing(tree: Tree) -> None:
    test_that_always_passes(tree)
    tree.replace("tests/test_ids.py", "        self.assertTrue(True)\n", "")


@bad("integrity", of("models"))
def assertions_replaced_by_nothing(tree: Tree) -> None:
    tree.replace("tests/test_models.py", "class BookingTest(unittest.TestCase):",
        "unittest.TestCase.assertEqual = lambda *_, **__: None  # type: ignore[method-assign]\n\n\n"
        "class BookingTest(unittest.TestCase):")  # fmt: skip


@bad("integrity", of("models"))
def suite_emptied_by_load_tests(tree: Tree) -> None:
    tree.append("tests/test_store.py", '''

        def load_tests(loader: object, tests: object, pattern: object) -> unittest.TestSuite:
            """Nothing of this file."""
            return unittest.TestSuite()
    ''')  # fmt: skip


@bad("integrity: .*exit|TC-901", of("models"))
def interpreter_ended_as_if_well(tree: Tree) -> None:
    tree.append("tests/__init__.py", "\nimport os\n\nos._exit(0)\n")


@bad("regression:TASK-008", of("overlap"))
def expectation_edited_to_match_a_bug(tree: Tree) -> None:
    tree.replace(OVERLAP, "one.start < other.end and other.start < one.end",
        "one.start <= other.end and other.start <= one.end")  # fmt: skip
    old = "self.assert_overlap(a_booking(9, 10), a_booking(10, 11), expected=False)"
    tree.replace("tests/test_overlap.py", old, old.replace("False", "True"))


@bad("TC-901: failed once", of("flaky"), outputs=("tests/test_flaky.py",),
    warns="a flaky test is DONE with a warning and a sign of its own, never silently")  # fmt: skip
def flaky_test(tree: Tree) -> None:
    tree.write("tests/test_flaky.py", '''
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
    ''')  # fmt: skip


# --- contracts -----------------------------------------------------------------------------------


@bad("contract:openapi", of("api"), fields=CONTRACT, type="api")
def wrong_status_with_its_test_edited(tree: Tree) -> None:
    tree.replace(API, "Answer(HTTPStatus.CREATED,", "Answer(HTTPStatus.OK,")
    tree.replace("tests/test_api.py", "self.assertEqual(status, 201)", "self.assertEqual(status, 200)")
    tree.replace("tests/test_api.py", "self.book(document)[0], 201", "self.book(document)[0], 200")


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def response_field_missing(tree: Tree) -> None:
    tree.replace(JSON, '        "guest": booking.guest,\n', "")


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def response_field_missing_from_the_schema(tree: Tree) -> None:
    tree.replace(JSON, '        "guest": booking.guest,\n',
        '        "guest": booking.guest,\n        "booked_by": booking.guest,\n')  # fmt: skip


@bad("contract:openapi", of("api"), fields=CONTRACT, type="api")
def undocumented_status(tree: Tree) -> None:
    tree.replace(API, "_problem(HTTPStatus.BAD_REQUEST, str(error))",
        "_problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))")  # fmt: skip
    tree.everywhere("tests/test_api.py", "(400, {", "(422, {")
    tree.replace("tests/test_api.py", "self.assertEqual(status, 400)", "self.assertEqual(status, 422)")


@bad("contract:openapi", of("api"), fields=CONTRACT, type="api")
def undocumented_method(tree: Tree) -> None:
    tree.replace(API, '            case _, ["bookings"]:',
        '            case "DELETE", ["bookings"]:\n'
        "                return Answer(HTTPStatus.NO_CONTENT)\n"
        '            case _, ["bookings"]:')  # fmt: skip
    tree.append("tests/test_api.py", """
            def test_all_can_be_forgotten(self) -> None:
                self.assertEqual(self.call("DELETE", "/bookings")[0], 204)
    """.replace("\n    ", "\n"))  # fmt: skip


@bad("contract:openapi", of("api"), fields=CONTRACT, type="api")
def undocumented_path(tree: Tree) -> None:
    tree.replace(API, '            case _, ["bookings"]:',
        '            case "GET", ["rooms"]:\n'
        "                return Answer(HTTPStatus.OK, [])\n"
        '            case _, ["bookings"]:')  # fmt: skip
    tree.replace("tests/test_api.py", 'self.assertEqual(self.call("GET", "/rooms")[0], 404)',
        'self.assertEqual(self.call("GET", "/rooms")[0], 200)\n'
        '        self.assertEqual(self.call("GET", "/guests")[0], 404)')  # fmt: skip


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def removed_endpoint(tree: Tree) -> None:
    tree.cut(API, '            case "DELETE", ["bookings", id]:', '            case _, ["bookings"]:')


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def wrong_content_type(tree: Tree) -> None:
    tree.replace(API, '("Content-Type", "application/json")', '("Content-Type", "text/plain")')


@bad("contract:openapi", ONE_TEST, fields=CONTRACT, type="api")
def crash_on_unusual_input(tree: Tree) -> None:
    tree.replace(API, "        return Answer(HTTPStatus.OK, [to_json(booking) for booking in",
        '        assert room != ""\n'
        "        return Answer(HTTPStatus.OK, [to_json(booking) for booking in")  # fmt: skip


@bad("contract:openapi", of("json_form"), outputs=("contracts/openapi.json",), fields=CONTRACT)
def invalid_document(tree: Tree) -> None:
    tree.replace(DOCUMENT, '{"name": "room", "in": "query"', '{"name": "room", "in": "question"')


@bad("contract:openapi|regression:TASK-007", of("json_form"), outputs=("contracts/**",))
def narrowed_type_in_the_document(tree: Tree) -> None:
    tree.everywhere(DOCUMENT, '"start": {"type": "string", "format": "date-time"}',
        '"start": {"type": "integer"}')  # fmt: skip


@bad("regression:TASK-00[27]|contract", of("json_form"), outputs=("contracts/**",))
def narrowed_length_in_the_schema(tree: Tree) -> None:
    tree.replace(SCHEMA, '"room": {"type": "string", "pattern": "\\\\S", "maxLength": 100}',
        '"room": {"type": "string", "pattern": "\\\\S", "maxLength": 50}')  # fmt: skip


@bad("contract:schema", of("models"), fields=MODEL_CONTRACT, type="data")
def model_field_without_schema(tree: Tree) -> None:
    tree.replace(MODELS, "    end: datetime\n\n", '    end: datetime\n    note: str = ""\n\n')
    tree.cut("tests/test_models.py", "class SchemaTest", "    def test_the_schema_has")
    tree.append("tests/test_models.py", "\n")


@bad("contract:schema", of("models"), fields=MODEL_CONTRACT, type="data", outputs=("contracts/**",))
def required_field_dropped_from_schema(tree: Tree) -> None:
    tree.replace(SCHEMA, '"required": ["id", "room", "guest",', '"required": ["id", "room",')


# --- code that is not proven ---------------------------------------------------------------------

UNTESTED = '''

def busiest(bookings: list[Booking]) -> str:
    """The room with the most bookings."""
    counts: dict[str, int] = {}
    for booking in bookings:
        counts[booking.room] = counts.get(booking.room, 0) + 1
    best = ""
    for room, count in counts.items():
        if not best or count > counts[best]:
            best = room
    return best
'''


@bad("coverage: ", of("overlap"))
def uncovered_code(tree: Tree) -> None:
    tree.files[OVERLAP] += UNTESTED


@bad("coverage: ", of("overlap"))
def uncovered_code_under_a_pragma(tree: Tree) -> None:
    marked = UNTESTED.replace("-> str:", "-> str:  # pragma: no cover")
    tree.files[OVERLAP] += marked


@bad("coverage: ", of("overlap"), outputs=(*ANY_CODE, ".coveragerc"))
def uncovered_code_left_out_by_configuration(tree: Tree) -> None:
    tree.files[OVERLAP] += UNTESTED
    tree.write(".coveragerc", "[run]\nomit = booking/*\n")


@bad("regression:TASK-00[58]", of("desk"))
def regression_in_another_task(tree: Tree) -> None:
    tree.replace(JSON, ".isoformat()", '.isoformat(timespec="minutes")')


@bad("regression:TASK-00[489]", of("desk"))
def regression_below(tree: Tree) -> None:
    tree.replace(STORE, 'self._select(" WHERE room = ? ORDER BY starts", room)',
        'self._select(" ORDER BY starts")')  # fmt: skip


@bad("hides every failure", of("store"), outputs=("booking/store.py",),
    warns="a handler that swallows all may be meant: a person is told where it stands")  # fmt: skip
def swallowed_exception(tree: Tree) -> None:
    tree.replace(STORE, "        with self._lock:\n            self._connection.execute(\n",
        "        with self._lock:\n          try:\n            self._connection.execute(\n")  # fmt: skip
    tree.replace(STORE, "                (booking.id, booking.room, booking.guest, *times),\n            )\n",
        "                (booking.id, booking.room, booking.guest, *times),\n            )\n"
        "          except Exception:\n            pass\n")  # fmt: skip


@bad("TC-901", of("desk"))
def swallowed_exception_that_a_test_sees(tree: Tree) -> None:
    tree.replace(DESK, "                raise RoomTaken(booking)",
        "                try:\n                    raise RoomTaken(booking)\n"
        "                except Exception:\n                    pass")  # fmt: skip


# --- gates ---------------------------------------------------------------------------------------


@bad("gate:lint", of("desk"))
def lint_error(tree: Tree) -> None:
    tree.replace(DESK, "from booking.models import Booking\n",
        "import os\n\nfrom booking.models import Booking\n")  # fmt: skip


@bad("gate:types", of("desk"))
def type_error(tree: Tree) -> None:
    tree.replace(DESK, "def book(store: Store, wanted: Booking) -> None:",
        "def book(store: Store, wanted: Booking) -> int:")  # fmt: skip


@bad("gate:lint|integrity", of("desk"), outputs=(*ANY_CODE, "Makefile"))
def makefile_that_passes_over_failure(tree: Tree) -> None:
    lint_error(tree)
    tree.replace("Makefile", "--no-cache booking tests", "--no-cache booking tests || true")


@bad("gate:lint|integrity", of("desk"), outputs=(*ANY_CODE, "Makefile"))
def makefile_that_looks_elsewhere(tree: Tree) -> None:
    lint_error(tree)
    tree.replace("Makefile", "--no-cache booking tests", "--no-cache tests")


@bad("integrity: .*swallows", of("desk"), outputs=("package.json", "booking/**"))
def script_that_passes_over_failure(tree: Tree) -> None:
    tree.replace("package.json", '"test": "make test"', '"test": "make test || true"')


@bad("gate:smoke", of("desk"), fields=("- Gates:\n  - smoke: `python3 -m booking nothing || true`",))
def own_gate_that_passes_over_failure(tree: Tree) -> None:
    tree.append("tests/test_desk.py", "\n# nothing new\n")


@bad("gate:types", of("desk"), outputs=(*ANY_CODE, "mypy.ini"))
def types_loosened(tree: Tree) -> None:
    type_error(tree)
    tree.replace("mypy.ini", "strict = True", "ignore_errors = True")


@bad("gate:lint|integrity", of("desk"), outputs=(*ANY_CODE, "ruff.toml"))
def lint_configured_away(tree: Tree) -> None:
    lint_error(tree)
    tree.write("ruff.toml", 'extend-exclude = ["booking"]\n')


# --- what a task may not touch -------------------------------------------------------------------


@bad("scope|write", of("desk"), outputs=("booking/desk.py",))
def change_out_of_scope(tree: Tree) -> None:
    tree.replace(DESK, '"""Keep a booking, or raise', '"""Keep what is wanted, or raise')
    tree.replace(STORE, '"""Give the file back."""', '"""Close the file."""')


@bad("scope|write", of("desk"), outputs=("booking/desk.py",))
def file_out_of_scope(tree: Tree) -> None:
    tree.replace(DESK, '"""Keep a booking, or raise', '"""Keep what is wanted, or raise')
    tree.write("notes.txt", "not asked for\n")


@bad("scope|control|write|path", of("desk"))
def start_up_file(tree: Tree) -> None:
    tree.write("booking/sitecustomize.py", '"""Runs before everything."""\n')


@bad("secret", of("desk"))
def secret_in_the_code(tree: Tree) -> None:
    key = "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    tree.replace(DESK, "\n\nclass RoomTaken", f'\nPAYMENTS = "{key}"\n\n\nclass RoomTaken')
