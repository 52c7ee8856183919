"""Good changes to the bookings service: the same in other words."""

# ruff: noqa: E501 - code is quoted as it stands

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bookings import (
    API,
    CONTRACT,
    DESK,
    DOCUMENT,
    JSON,
    MODEL_CONTRACT,
    MODELS,
    OVERLAP,
    SCHEMA,
    STORE,
    good,
    of,
)

if TYPE_CHECKING:
    from cases import Tree


@good(outputs=("README.md",), type="docs")
def readme(tree: Tree) -> None:
    tree.files["README.md"] += "\nBookings are kept in UTC.\n"


@good(outputs=("docs/**",), type="docs")
def new_document(tree: Tree) -> None:
    tree.write(
        "docs/times.md", "# Times\n\nEvery time has a UTC offset; bookings are kept in UTC.\n"
    )


@good(of("store"), type="docs")
def comments(tree: Tree) -> None:
    tree.replace(
        STORE, "    def remove(self", "    # Removing twice is no failure.\n    def remove(self"
    )


@good(of("desk"), type="docs")
def docstring(tree: Tree) -> None:
    tree.replace(
        DESK,
        '"""Keep a booking, or raise `RoomTaken`."""',
        '"""Keep a booking that nothing is in the way of; raises `RoomTaken`."""',
    )


@good(of("openapi"), outputs=("contracts/**",), fields=CONTRACT, type="docs")
def descriptions_in_the_document(tree: Tree) -> None:
    tree.replace(
        DOCUMENT,
        '"summary": "One booking",',
        '"summary": "One booking",\n        "description": "By the id that booking it gave.",',
    )


@good(of("models"), outputs=("contracts/**",), fields=MODEL_CONTRACT, type="docs")
def description_in_the_schema(tree: Tree) -> None:
    tree.replace(
        SCHEMA,
        '"description": "A room held for a guest',
        '"description": "One room held for a guest',
    )


@good(of("openapi"), outputs=("contracts/**",), fields=CONTRACT, type="docs")
def document_laid_out_anew(tree: Tree) -> None:
    tree.files[DOCUMENT] = json.dumps(json.loads(tree.files[DOCUMENT]), indent=4) + "\n"


@good(of("desk"), type="refactor")
def local_renamed(tree: Tree) -> None:
    tree.cut(DESK, "        for booking in store", "        store.add(wanted)")
    tree.replace(
        DESK,
        "        store.add(wanted)",
        "        for other in store.bookings(wanted.room):\n"
        "            if overlap(wanted, other):\n                raise RoomTaken(other)\n"
        "        store.add(wanted)",
    )


@good(of("api"), fields=CONTRACT, type="refactor")
def function_extracted(tree: Tree) -> None:
    tree.replace(
        API,
        '        query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)\n'
        '        room = query["room"][0] if "room" in query else None\n',
        '        room = _asked(environ, "room")\n',
    )
    tree.replace(
        API,
        "def _problem(",
        '''def _asked(environ: WSGIEnvironment, name: str) -> str | None:
    """A parameter of the query."""
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    return query[name][0] if name in query else None


def _problem(''',
    )


@good(of("api"), fields=CONTRACT, type="refactor")
def constant_extracted(tree: Tree) -> None:
    tree.replace(
        API, "LARGEST_BODY = 64 * 1024\n", "KIBIBYTE = 1024\nLARGEST_BODY = 64 * KIBIBYTE\n"
    )


@good(of("json_form"), type="refactor")
def faster_rewrite(tree: Tree) -> None:
    tree.replace(
        JSON,
        "    unknown = sorted(document.keys() - set(_GIVEN))\n    if unknown:\n"
        '        raise InvalidBooking(f"unknown field {unknown[0]!r}")\n',
        "    if len(document) > len(_GIVEN) or not document.keys() <= _KNOWN:\n"
        "        unknown = min(document.keys() - _KNOWN)\n"
        '        raise InvalidBooking(f"unknown field {unknown!r}")\n',
    )
    tree.replace(
        JSON,
        '_GIVEN = ("room", "guest", "start", "end")\n',
        '_GIVEN = ("room", "guest", "start", "end")\n_KNOWN = frozenset(_GIVEN)\n',
    )


@good(of("models"), type="refactor")
def annotations(tree: Tree) -> None:
    tree.replace(MODELS, "LONGEST_NAME = 100\n", "LONGEST_NAME: Final = 100\n")
    tree.replace(
        MODELS,
        "from datetime import datetime\n",
        "from datetime import datetime\nfrom typing import Final\n",
    )


@good(of("overlap"), type="refactor")
def formatting(tree: Tree) -> None:
    tree.replace(
        OVERLAP,
        "    return one.room == other.room and one.start < other.end and other.start < one.end",
        "    return (\n        one.room == other.room\n        and one.start < other.end\n"
        "        and other.start < one.end\n    )",
    )


@good(of("store"), type="refactor")
def method_inlined(tree: Tree) -> None:
    tree.replace(STORE, "        times = _text(booking.start), _text(booking.end)\n", "")
    tree.replace(
        STORE,
        "(booking.id, booking.room, booking.guest, *times)",
        "(booking.id, booking.room, booking.guest, _text(booking.start), _text(booking.end))",
    )


@good(of("desk"), of("overlap"), type="refactor")
def function_moved_to_a_module_of_its_own(tree: Tree) -> None:
    tree.write("booking/rules.py", tree.files[OVERLAP])
    tree.write(
        OVERLAP,
        '"""The rule, where it was."""\n\nfrom booking.rules import overlap\n\n__all__ = ["overlap"]\n',
    )


@good(of("cli"), type="refactor")
def branch_simplified(tree: Tree) -> None:
    tree.replace(
        STORE,
        '        if room is None:\n            return self._select(" ORDER BY starts")\n'
        '        return self._select(" WHERE room = ? ORDER BY starts", room)\n',
        '        which, values = ("", ()) if room is None else (" WHERE room = ?", (room,))\n'
        '        return self._select(f"{which} ORDER BY starts", *values)\n',
    )


@good(of("store"), type="refactor")
def narrower_handler(tree: Tree) -> None:
    tree.replace(
        STORE,
        "        self._connection.execute(_SCHEMA)\n",
        "        try:\n            self._connection.execute(_SCHEMA)\n        except BaseException:\n"
        "            self._connection.close()\n            raise\n",
    )
    tree.files["tests/test_store.py"] += """
    def test_what_is_no_database_is_refused(self) -> None:
        with tempfile.NamedTemporaryFile(suffix=".db") as file:
            file.write(b"no database at all, " * 100)
            file.flush()
            with self.assertRaises(sqlite3.DatabaseError):
                Store(file.name)
"""
    tree.replace("tests/test_store.py", "import tempfile\n", "import sqlite3\nimport tempfile\n")
