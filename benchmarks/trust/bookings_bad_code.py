"""Seeded faults in code, gates and scope of the bookings service."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from bookings import ANY_CODE, DESK, JSON, OVERLAP, STORE, bad, of

if TYPE_CHECKING:
    from cases import Tree

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


@bad("regression:TASK-00[58]", of("desk"), fields=("- Coverage: 0%",))
def regression_in_another_task(tree: Tree) -> None:
    tree.replace(JSON, ".isoformat()", '.isoformat(timespec="minutes")')


@bad("regression:TASK-00[489]", of("desk"))
def regression_below(tree: Tree) -> None:
    tree.replace(
        STORE,
        'self._select(" WHERE room = ? ORDER BY starts", room)',
        'self._select(" ORDER BY starts")',
    )


@bad("gate:lint|hides every failure", of("store"), outputs=("booking/store.py",))
def swallowed_exception(tree: Tree) -> None:
    tree.replace(
        STORE,
        "        with self._lock:\n            self._connection.execute(\n",
        "        with self._lock:\n          try:\n            self._connection.execute(\n",
    )
    tree.replace(
        STORE,
        "                (booking.id, booking.room, booking.guest, *times),\n            )\n",
        "                (booking.id, booking.room, booking.guest, *times),\n            )\n"
        "          except Exception:\n            pass\n",
    )


@bad("TC-901", of("desk"))
def swallowed_exception_that_a_test_sees(tree: Tree) -> None:
    tree.replace(
        DESK,
        "                raise RoomTaken(booking)",
        "                try:\n                    raise RoomTaken(booking)\n"
        "                except Exception:\n                    pass",
    )


@bad("gate:lint", of("desk"))
def lint_error(tree: Tree) -> None:
    tree.replace(
        DESK,
        "from booking.models import Booking\n",
        "import os\n\nfrom booking.models import Booking\n",
    )


@bad("gate:types", of("desk"))
def type_error(tree: Tree) -> None:
    tree.replace(
        DESK,
        "def book(store: Store, wanted: Booking) -> None:",
        "def book(store: Store, wanted: Booking) -> int:",
    )


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


@bad(
    "gate smoke .*joins commands",
    of("desk"),
    fields=("- Gates:\n  - smoke: `python3 -m booking nothing || true`",),
)
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
    key = f"sk_live_{sha256(b'a key').hexdigest()[:24]}"
    tree.replace(DESK, "\n\nclass RoomTaken", f'\nPAYMENTS = "{key}"\n\n\nclass RoomTaken')
