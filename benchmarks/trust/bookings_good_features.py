"""Good changes to the bookings service: more of it."""

# ruff: noqa: E501 - code is quoted as it stands

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bookings import (
    API,
    CODE,
    CONTRACT,
    DESK,
    DOCUMENT,
    MODEL_CONTRACT,
    MODELS,
    OVERLAP,
    RED_FIRST,
    SCHEMA,
    STORE,
    good,
    of,
)

if TYPE_CHECKING:
    from cases import Tree


@good(of("overlap"), fields=RED_FIRST)
def function_with_its_test(tree: Tree) -> None:
    tree.files[OVERLAP] += '''

def touches(one: Booking, other: Booking) -> bool:
    """Whether one ends when the other starts, in the same room."""
    return one.room == other.room and (one.end == other.start or other.end == one.start)
'''
    tree.replace("tests/test_overlap.py", "import overlap\n", "import overlap, touches\n")
    tree.files["tests/test_overlap.py"] += """

class TouchTest(unittest.TestCase):
    def test_back_to_back_touches(self) -> None:
        self.assertIs(touches(a_booking(9, 10), a_booking(10, 11)), True)
        self.assertIs(touches(a_booking(10, 11), a_booking(9, 10)), True)

    def test_apart_or_elsewhere_does_not(self) -> None:
        self.assertIs(touches(a_booking(9, 10), a_booking(11, 12)), False)
        self.assertIs(touches(a_booking(9, 10), a_booking(10, 11, room="Red")), False)
"""


@good(of("hours"), fields=RED_FIRST, outputs=("booking/hours.py", "tests/test_hours.py"))
def module_with_its_test(tree: Tree) -> None:
    tree.write(
        "booking/hours.py",
        '''
        """How long rooms are held."""

        from booking.models import Booking


        def hours(booking: Booking) -> float:
            """Length of a booking in hours."""
            return (booking.end - booking.start).total_seconds() / 3600
    ''',
    )
    tree.write(
        "tests/test_hours.py",
        '''
        """Lengths of bookings."""

        import unittest
        from datetime import UTC, datetime, timedelta

        from booking.hours import hours
        from booking.models import Booking

        NINE = datetime(2026, 1, 5, 9, tzinfo=UTC)


        class HoursTest(unittest.TestCase):
            def test_a_length_is_in_hours(self) -> None:
                booking = Booking("1", "Blue", "Ada", NINE, NINE + timedelta(minutes=90))
                self.assertAlmostEqual(hours(booking), 1.5)
    ''',
    )


@good(of("api"), fields=CONTRACT, outputs=(*CODE, "contracts/**"), type="api")
def documented_endpoint(tree: Tree) -> None:
    tree.replace(
        API,
        '            case _, ["bookings"]:',
        '            case "GET", ["rooms"]:\n                return self._rooms()\n'
        '            case _, ["bookings"]:',
    )
    tree.replace(
        API,
        "    def _show(self",
        """    def _rooms(self) -> Answer:
        rooms = sorted({booking.room for booking in self._store.bookings()})
        return Answer(HTTPStatus.OK, rooms)

    def _show(self""",
    )
    document = json.loads(tree.files[DOCUMENT])
    document["paths"]["/rooms"] = {
        "get": {
            "operationId": "listRooms",
            "summary": "Rooms that have bookings",
            "responses": {
                "200": {
                    "description": "The rooms",
                    "content": {
                        "application/json": {
                            "schema": {"type": "array", "items": {"type": "string"}}
                        }
                    },
                }
            },
        }
    }
    tree.files[DOCUMENT] = json.dumps(document, indent=2) + "\n"
    tree.replace(
        "tests/test_openapi.py",
        '"listBookings", "showBooking"]',
        '"listBookings", "listRooms", "showBooking"]',
    )
    tree.replace(
        "tests/test_openapi.py",
        'self.assertEqual(sorted(names), ["book", ',
        'self.assertEqual(\n            sorted(names), ["book", ',
    )
    tree.replace(
        "tests/test_openapi.py",
        '"listRooms", "showBooking"])',
        '"listRooms", "showBooking"]\n        )',
    )
    tree.replace(
        "tests/test_api.py",
        'self.call("GET", "/rooms")[0], 404',
        'self.call("GET", "/guests")[0], 404',
    )
    tree.replace(
        "tests/test_api.py",
        "    def test_a_bad_booking_is",
        """    def test_rooms_are_listed_once(self) -> None:
        for document in (NEXT, MORNING, {**MORNING, "room": "Aqua"}):
            self.book(document)
        self.assertEqual(self.call("GET", "/rooms")[::2], (200, ["Aqua", "Blue"]))

    def test_a_bad_booking_is""",
    )


@good(of("api"), fields=CONTRACT, outputs=(*CODE, "contracts/**"), type="api")
def documented_parameter(tree: Tree) -> None:
    document = json.loads(tree.files[DOCUMENT])
    parameters = document["paths"]["/bookings"]["get"]["parameters"]
    parameters.append(
        {"name": "guest", "in": "query", "required": False, "schema": {"type": "string"}}
    )
    tree.files[DOCUMENT] = json.dumps(document, indent=2) + "\n"
    tree.replace(
        API,
        "        return Answer(HTTPStatus.OK, [to_json(booking) for booking in self._store.bookings(room)])",
        '        guest = query["guest"][0] if "guest" in query else None\n'
        "        found = [b for b in self._store.bookings(room) if guest in (None, b.guest)]\n"
        "        return Answer(HTTPStatus.OK, [to_json(booking) for booking in found])",
    )
    tree.replace(
        "tests/test_api.py",
        "    def test_a_bad_booking_is",
        """    def test_bookings_are_listed_by_guest(self) -> None:
        ada, grace = self.book(MORNING)[2], self.book({**NEXT, "guest": "Grace"})[2]
        self.assertEqual(self.call("GET", "/bookings?guest=Grace")[2], [grace])
        self.assertEqual(self.call("GET", "/bookings?guest=Ada&room=Blue")[2], [ada])
        self.assertEqual(self.call("GET", "/bookings?guest=Ada&room=Red")[2], [])

    def test_a_bad_booking_is""",
    )


@good(of("api"), of("openapi"), fields=CONTRACT, outputs=(*CODE, "contracts/**"), type="api")
def documented_status(tree: Tree) -> None:
    document = json.loads(tree.files[DOCUMENT])
    answers = document["paths"]["/bookings"]["post"]["responses"]
    answers["413"] = answers["400"]
    tree.files[DOCUMENT] = json.dumps(document, indent=2) + "\n"
    tree.replace(
        API,
        '            raise InvalidBooking(f"the body must have',
        '            raise TooLarge(f"the body must have',
    )
    tree.replace(
        API,
        "class Api:\n",
        'class TooLarge(InvalidBooking):\n    """A body beyond the bound."""\n\n\nclass Api:\n',
    )
    tree.replace(
        API,
        "        except InvalidBooking as error:\n",
        "        except TooLarge as error:\n"
        "            return _problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))\n"
        "        except InvalidBooking as error:\n",
    )
    tree.replace(
        "tests/test_api.py", "self.assertEqual(status, 400)", "self.assertEqual(status, 413)"
    )


@good(
    of("models"),
    of("json_form"),
    fields=MODEL_CONTRACT,
    outputs=(*CODE, "contracts/**"),
    type="data",
)
def optional_field(tree: Tree) -> None:
    tree.replace(MODELS, "    end: datetime\n\n", '    end: datetime\n    note: str = ""\n\n')
    for path in (SCHEMA, DOCUMENT):
        tree.replace(path, '"required": ["id", ', '"required": ["id", ')
        document = json.loads(tree.files[path])
        schema = document if path == SCHEMA else document["components"]["schemas"]["Booking"]
        schema["properties"]["note"] = {"type": "string"}
        tree.files[path] = json.dumps(document, indent=2) + "\n"
    tree.replace(
        "tests/test_models.py",
        '        self.assertEqual(schema["required"], fields)\n',
        '        self.assertEqual(schema["required"], [name for name in fields if name != "note"])\n',
    )
    tree.replace("tests/test_openapi.py", 'if k != "id"}', 'if k not in ("id", "note")}')


@good(of("cli"), outputs=(*CODE, "docs/usage.txt"), fields=("- Network: loopback",))
def command_with_its_test(tree: Tree) -> None:
    tree.replace(
        "booking/cli.py",
        '    serve = commands.add_parser("serve"',
        '''    count = commands.add_parser("count", help="count bookings")
    count.set_defaults(run=_count)

    serve = commands.add_parser("serve"''',
    )
    tree.replace(
        "booking/cli.py",
        "def _serve(",
        """def _count(store: Store, options: argparse.Namespace) -> None:
    print(len(store.bookings()))


def _serve(""",
    )
    tree.replace(
        "tests/test_cli.py",
        "    def test_what_is_refused",
        """    def test_bookings_are_counted(self) -> None:
        self.assertEqual(self.booking("count"), (0, "0\\n", ""))
        self.booking("add", *MORNING)
        self.assertEqual(self.booking("count"), (0, "1\\n", ""))

    def test_what_is_refused""",
    )
    usage = tree.files["docs/usage.txt"]
    line = next(one for one in usage.splitlines() if one.lstrip().startswith("serve"))
    start = line[: line.index("answer")]
    tree.files["docs/usage.txt"] = usage.replace(
        line, f"{start.replace('serve', 'count')}count bookings\n{line}"
    )


@good(of("store"))
def index_for_speed(tree: Tree) -> None:
    tree.replace(
        STORE,
        "        self._connection.execute(_SCHEMA)\n",
        "        self._connection.execute(_SCHEMA)\n        self._connection.execute(_INDEX)\n",
    )
    tree.replace(
        STORE,
        '_SELECT = "SELECT',
        '_INDEX = "CREATE INDEX IF NOT EXISTS by_start ON bookings (room, starts)"\n_SELECT = "SELECT',
    )


@good(of("models"), type="bugfix")
def stricter_name(tree: Tree) -> None:
    tree.replace(
        MODELS,
        "    if len(text) > LONGEST_NAME:",
        """    if "\\0" in text:
        raise InvalidBooking(f"{field} must not hold a null character")
    if len(text) > LONGEST_NAME:""",
    )
    tree.replace(
        "tests/test_models.py",
        '        self.assert_refused("guest must not be empty", guest="")\n',
        '        self.assert_refused("guest must not be empty", guest="")\n'
        '        self.assert_refused("room must not hold a null", room="Bl\\0ue")\n',
    )


@good(of("cli"), outputs=("booking/cli.py", "tests/test_cli.py"))
def better_message_with_its_test(tree: Tree) -> None:
    tree.replace(
        "booking/cli.py", 'f"no booking {options.id}"', 'f"there is no booking {options.id}"'
    )
    tree.replace(
        "tests/test_cli.py",
        'f"booking: no booking {id}\\n"',
        'f"booking: there is no booking {id}\\n"',
    )


@good(of("desk"), type="feature")
def logging(tree: Tree) -> None:
    tree.replace(
        DESK,
        "from booking.models import Booking\n",
        "import logging\n\nfrom booking.models import Booking\n",
    )
    tree.replace(
        DESK,
        "        store.add(wanted)\n",
        '        store.add(wanted)\n    logging.getLogger(__name__).info("booked %s", wanted.room)\n',
    )
