"""Board B, bad: pairs of tasks, each green alone, red together (second half)."""

from case import Case, Task

SUITE = "python3 -m unittest discover -s tests -t ."


def _swap(text: str, old: str, new: str) -> str:
    """A text with one piece replaced, which must be there once."""
    assert text.count(old) == 1, old
    return text.replace(old, new)


def _task(name: str, title: str, prose: str, edits: dict[str, str | None], test: str) -> Task:
    """A task whose outputs are what it edits."""
    return Task(name=name, title=title, prose=prose, outputs=tuple(edits), test=test, edits=edits)


def _pair(family: str, files: dict[str, str], *tasks: Task) -> Case:
    """A case of two tasks that do not fit together."""
    return Case(
        board="B",
        name=f"B-{family}-others-2",
        family=family,
        kind="bad",
        files={"tests/__init__.py": "", **files},
        tasks=tasks,
        together=SUITE,
    )


MIGRATE = '''\
"""Applies migrations: modules `m0001_name` with `up(tables)`, where tables are dicts of columns."""

import importlib
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent


def found():
    """(number, module name) of all migrations in order."""
    names = sorted(file.stem for file in HERE.glob("m*.py") if re.match(r"m\\d{4}_", file.stem))
    return [(int(name[1:5]), name) for name in names]


def migrate(tables, version=0):
    """Apply what is newer than a version, one number after the other; the new version."""
    for number, name in found():
        if number <= version:
            continue
        if number != version + 1:
            raise RuntimeError(f"{name}: expected number {version + 1}")
        importlib.import_module(f"{__package__}.{name}").up(tables)
        version = number
    return version
'''

MIGRATE_TEST = '''\
import unittest

from store.migrations import migrate


class MigrateTest(unittest.TestCase):
    def test_numbers_are_unique(self):
        numbers = [number for number, _ in migrate.found()]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_from_nothing(self):
        tables = {}
        self.assertEqual(migrate.migrate(tables), len(migrate.found()))
        self.assertLessEqual({"id", "name"}, set(tables["customer"]))

    def test_nothing_to_do(self):
        tables = {}
        last = migrate.migrate(tables)
        self.assertEqual(migrate.migrate(tables, last), last)
'''


def _same_number() -> Case:
    """Both add a migration with the next number."""
    mail = _task(
        "customer-mail",
        "Keep the mail address of customers",
        "Add the next migration below `store/migrations`: table `customer` gets a column `mail` of type "
        "`text`. Migrations have numbers without gaps and are applied one after the other; see `migrate.py`. Test "
        "it in tests/test_mail.py.",
        {
            "store/migrations/m0003_customer_mail.py": '"""Mail address of customers."""\n\n\ndef up(tables):\n'
            '    """Add the column."""\n    tables["customer"]["mail"] = "text"\n',
            "tests/test_mail.py": '''\
import unittest

from store.migrations.migrate import migrate


class MailTest(unittest.TestCase):
    def test_column(self):
        tables = {"customer": {"id": "int"}, "purchase": {}}
        migrate(tables, version=2)
        self.assertEqual(tables["customer"]["mail"], "text")
''',
        },
        "python3 -m unittest tests.test_mail tests.test_migrate",
    )
    index = _task(
        "purchase-day",
        "Keep the day of a purchase",
        "Add the next migration below `store/migrations`: table `purchase` gets a column `day` of type "
        "`date`. Migrations have numbers without gaps and are applied one after the other; see `migrate.py`. Test "
        "it in tests/test_purchase_day.py.",
        {
            "store/migrations/m0003_purchase_day.py": '"""Day of a purchase."""\n\n\ndef up(tables):\n'
            '    """Add the column."""\n    tables["purchase"]["day"] = "date"\n',
            "tests/test_purchase_day.py": '''\
import unittest

from store.migrations.migrate import migrate


class PurchaseDayTest(unittest.TestCase):
    def test_column(self):
        tables = {"customer": {"id": "int"}, "purchase": {"id": "int"}}
        migrate(tables, version=2)
        self.assertEqual(tables["purchase"]["day"], "date")
''',
        },
        "python3 -m unittest tests.test_purchase_day tests.test_migrate",
    )
    files = {
        "store/__init__.py": "",
        "store/migrations/__init__.py": "",
        "store/migrations/migrate.py": MIGRATE,
        "store/migrations/m0001_customer.py": '"""Customers."""\n\n\ndef up(tables):\n    """Make the table."""\n'
        '    tables["customer"] = {"id": "int", "name": "text"}\n',
        "store/migrations/m0002_purchase.py": '"""Purchases."""\n\n\ndef up(tables):\n    """Make the table."""\n'
        '    tables["purchase"] = {"id": "int", "customer": "int", "cents": "int"}\n',
        "tests/test_migrate.py": MIGRATE_TEST,
    }
    return _pair("one-number-twice", files, mail, index)


STAMPS = '''\
"""Times as our devices send them: `2026-05-01T08:30:00`, always UTC."""

import datetime


def parse(text):
    """The time of a message."""
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S")


def show(moment):
    """A time as it is sent."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S")
'''

MESSAGES = '''\
"""Messages of devices."""

from devices import stamps


def newest(messages):
    """The message that was sent last."""
    return max(messages, key=lambda message: stamps.parse(message["at"]))
'''


def _aware() -> Case:
    """One gives times a zone, the other compares them with times that have none."""
    aware = _task(
        "aware-times",
        "Times with a time zone",
        "`devices.stamps.parse` returns datetimes without a zone, which the export to the calendar takes "
        "for local time. Return them with `datetime.timezone.utc`. `show` of a time in another zone shall print it "
        "in UTC; all texts stay as they are.",
        {
            "devices/stamps.py": '''\
"""Times as our devices send them: `2026-05-01T08:30:00`, always UTC."""

import datetime

FORM = "%Y-%m-%dT%H:%M:%S"


def parse(text):
    """The time of a message, in UTC."""
    return datetime.datetime.strptime(text, FORM).replace(tzinfo=datetime.timezone.utc)


def show(moment):
    """A time as it is sent."""
    return moment.astimezone(datetime.timezone.utc).strftime(FORM)
''',
            "tests/test_zone.py": '''\
import datetime
import unittest

from devices import stamps


class ZoneTest(unittest.TestCase):
    def test_parse(self):
        moment = stamps.parse("2026-05-01T08:30:00")
        self.assertEqual(moment.utcoffset(), datetime.timedelta(0))

    def test_show_in_utc(self):
        east = datetime.timezone(datetime.timedelta(hours=2))
        moment = datetime.datetime(2026, 5, 1, 10, 30, tzinfo=east)
        self.assertEqual(stamps.show(moment), "2026-05-01T08:30:00")
''',
        },
        "python3 -m unittest tests.test_zone tests.test_devices",
    )
    silent = _task(
        "silent-devices",
        "List devices that went silent",
        "Add `devices/silent.py` with `silent(messages, now, hours=24)`: names of devices, in order, whose "
        "last message is more than that many hours before `now`. `now` is the text of a time or a `datetime` in "
        "UTC as `datetime.utcnow()` gives it. Exactly 24 hours is not silent.",
        {
            "devices/silent.py": '''\
"""Devices of which nothing is heard any more."""

import datetime

from devices import stamps


def silent(messages, now, hours=24):
    """Names of devices whose last message is older than that."""
    now = datetime.datetime.fromisoformat(now) if isinstance(now, str) else now
    last = {}
    for message in messages:
        moment = stamps.parse(message["at"])
        last[message["device"]] = max(moment, last.get(message["device"], moment))
    limit = now - datetime.timedelta(hours=hours)
    return sorted(device for device, moment in last.items() if moment < limit)
''',
            "tests/test_silent.py": '''\
import datetime
import unittest

from devices.silent import silent

MESSAGES = [
    {"device": "door", "at": "2026-05-01T08:00:00"},
    {"device": "attic", "at": "2026-04-29T08:00:00"},
    {"device": "attic", "at": "2026-04-30T07:59:59"},
    {"device": "cellar", "at": "2026-04-30T08:00:00"},
]


class SilentTest(unittest.TestCase):
    def test_text(self):
        self.assertEqual(silent(MESSAGES, "2026-05-01T08:00:00"), ["attic"])

    def test_datetime(self):
        self.assertEqual(silent(MESSAGES, datetime.datetime(2026, 5, 1, 8), hours=1), ["attic", "cellar"])
''',
        },
        "python3 -m unittest tests.test_silent",
    )
    files = {
        "README.md": "# devices\n\nWhat our devices send, and when.\n",
        "devices/__init__.py": "",
        "devices/stamps.py": STAMPS,
        "devices/messages.py": MESSAGES,
        "tests/test_devices.py": '''\
import unittest

from devices import messages, stamps


class DevicesTest(unittest.TestCase):
    def test_there_and_back(self):
        self.assertEqual(stamps.show(stamps.parse("2026-05-01T08:30:00")), "2026-05-01T08:30:00")

    def test_newest(self):
        sent = [{"at": "2026-05-01T08:30:00"}, {"at": "2026-05-02T00:00:00"}, {"at": "2025-12-31T23:59:59"}]
        self.assertEqual(messages.newest(sent)["at"], "2026-05-02T00:00:00")
''',
    }
    return _pair("aware-and-naive", files, silent, aware)


COMMANDS = '''\
"""Commands of the tool: each module of this package has `run(words)`."""

import importlib
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def names():
    """All commands in order."""
    return sorted(file.stem for file in HERE.glob("*.py") if not file.stem.startswith("_"))


def run(name, words):
    """What a command prints."""
    if name not in names():
        return f"no command {name}; there are {', '.join(names())}"
    return importlib.import_module(f"{__name__}.{name}").run(words)
'''


def _policy() -> Case:
    """One adds a test that every command has a page, the other adds a command without one."""
    pages = _task(
        "page-for-each-command",
        "A page for each command",
        "Every command below `tool/commands` shall have a page docs/NAME.md whose first line is `# NAME`. "
        "`count` has none yet: write it. Add tests/test_docs.py, which checks this for all commands that there "
        "are, so that none is forgotten in future.",
        {
            "docs/count.md": "# count\n\nPrints how many words it was given.\n",
            "tests/test_docs.py": '''\
import pathlib
import unittest

from tool import commands

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"


class DocsTest(unittest.TestCase):
    def test_every_command_has_a_page(self):
        for name in commands.names():
            with self.subTest(command=name):
                page = DOCS / f"{name}.md"
                self.assertTrue(page.exists(), f"{page} is missing")
                self.assertEqual(page.read_text(encoding="utf-8").splitlines()[0], f"# {name}")
''',
        },
        "python3 -m unittest tests.test_docs",
    )
    longest = _task(
        "longest",
        "A command for the longest word",
        "Add the command `longest`: it prints the longest of the words it was given, the first one of those "
        "that are equally long, and nothing if there are no words. `run('longest', ['of', 'bread', 'salty'])` is "
        "`bread`. Test it in tests/test_longest.py.",
        {
            "tool/commands/longest.py": '"""The longest word."""\n\n\n'
            'def run(words):\n    """The first of the longest words."""\n'
            '    return max(words, key=len, default="")\n',
            "tests/test_longest.py": '''\
import unittest

from tool import commands


class LongestTest(unittest.TestCase):
    def test_first_of_equals(self):
        self.assertEqual(commands.run("longest", ["of", "bread", "salty"]), "bread")

    def test_nothing(self):
        self.assertEqual(commands.run("longest", []), "")
''',
        },
        "python3 -m unittest tests.test_longest tests.test_commands",
    )
    files = {
        "tool/__init__.py": "",
        "tool/commands/__init__.py": COMMANDS,
        "tool/commands/count.py": '"""Counts words."""\n\n\n'
        'def run(words):\n    """How many there are."""\n    return str(len(words))\n',
        "tool/commands/upper.py": '"""Shouts."""\n\n\n'
        'def run(words):\n    """All words in capitals."""\n    return " ".join(words).upper()\n',
        "docs/upper.md": "# upper\n\nPrints all words in capital letters.\n",
        "tests/test_commands.py": '''\
import unittest

from tool import commands


class CommandsTest(unittest.TestCase):
    def test_run(self):
        self.assertEqual(commands.run("count", ["a", "b"]), "2")
        self.assertEqual(commands.run("upper", ["a", "b"]), "A B")

    def test_unknown(self):
        self.assertIn("no command fly", commands.run("fly", []))
''',
    }
    return _pair("rule-and-newcomer", files, pages, longest)


BOOKING = '''\
"""Bookings of rooms."""

from dataclasses import dataclass, field


@dataclass
class Booking:
    """A room for a guest from one night to another."""

    room: int
    guest: str
    first: int
    last: int
    notes: list = field(default_factory=list)

    @property
    def nights(self):
        """How many nights the guest stays."""
        return self.last - self.first + 1
'''

DESK = '''\
"""What is done at the desk."""


def extend(booking, nights):
    """Let a guest stay longer."""
    booking.last += nights
    return booking


def overlap(one, other):
    """Whether two bookings want one room in the same night."""
    return one.room == other.room and one.first <= other.last and other.first <= one.last
'''


def _frozen() -> Case:
    """One freezes a class, the other adds code that assigns to its fields."""
    frozen = _task(
        "frozen-bookings",
        "Freeze bookings",
        "Bookings are used as keys of the plan, and some changed under its hands. Make `Booking` frozen, "
        "with `notes` a tuple (empty by default) so that it can be hashed; `extend` returns a new booking and "
        "leaves the old one alone. Adapt the tests of `extend`.",
        {
            "hotel/booking.py": _swap(
                _swap(
                    _swap(BOOKING, "@dataclass\n", "@dataclass(frozen=True)\n"),
                    "    notes: list = field(default_factory=list)\n",
                    "    notes: tuple = ()\n",
                ),
                "import dataclass, field\n",
                "import dataclass\n",
            ),
            "hotel/desk.py": _swap(
                _swap(
                    DESK,
                    "    booking.last += nights\n    return booking\n",
                    "    return replace(booking, last=booking.last + nights)\n",
                ),
                '"""What is done at the desk."""\n',
                '"""What is done at the desk."""\n\nfrom dataclasses import replace\n',
            ),
            "tests/test_desk.py": '''\
import dataclasses
import unittest

from hotel.booking import Booking
from hotel.desk import extend, overlap


class DeskTest(unittest.TestCase):
    def test_extend(self):
        old = Booking(7, "Lee", 1, 3)
        self.assertEqual(extend(old, 2), Booking(7, "Lee", 1, 5))
        self.assertEqual(old.nights, 3)

    def test_overlap(self):
        self.assertTrue(overlap(Booking(7, "Lee", 1, 3), Booking(7, "Kim", 3, 4)))
        self.assertFalse(overlap(Booking(7, "Lee", 1, 3), Booking(8, "Kim", 3, 4)))

    def test_key(self):
        self.assertEqual({Booking(7, "Lee", 1, 3): "x"}[Booking(7, "Lee", 1, 3)], "x")
        with self.assertRaises(dataclasses.FrozenInstanceError):
            Booking(7, "Lee", 1, 3).room = 8
''',
        },
        "python3 -m unittest tests.test_desk.DeskTest.test_key tests.test_desk",
    )
    move = _task(
        "move-guest",
        "Move a guest to another room",
        "Add `hotel/moving.py` with `move(booking, room)`: the booking gets the other room and a note "
        "`moved from 7`; it is returned. Moving to the same room does nothing, also no note. `nights` stays the "
        "same.",
        {
            "hotel/moving.py": '''\
"""Guests who get another room."""


def move(booking, room):
    """Give a booking another room, and note the old one."""
    if room != booking.room:
        booking.notes.append(f"moved from {booking.room}")
        booking.room = room
    return booking
''',
            "tests/test_moving.py": '''\
import unittest

from hotel.booking import Booking
from hotel.moving import move


class MoveTest(unittest.TestCase):
    def test_move(self):
        moved = move(Booking(7, "Lee", 1, 3), 12)
        self.assertEqual((moved.room, list(moved.notes), moved.nights), (12, ["moved from 7"], 3))

    def test_same_room(self):
        self.assertEqual(list(move(Booking(7, "Lee", 1, 3), 7).notes), [])
''',
        },
        "python3 -m unittest tests.test_moving tests.test_desk",
    )
    files = {
        "hotel/__init__.py": "",
        "hotel/booking.py": BOOKING,
        "hotel/desk.py": DESK,
        "tests/test_desk.py": '''\
import unittest

from hotel.booking import Booking
from hotel.desk import extend, overlap


class DeskTest(unittest.TestCase):
    def test_extend(self):
        booking = Booking(7, "Lee", 1, 3)
        extend(booking, 2)
        self.assertEqual(booking.nights, 5)

    def test_overlap(self):
        self.assertTrue(overlap(Booking(7, "Lee", 1, 3), Booking(7, "Kim", 3, 4)))
        self.assertFalse(overlap(Booking(7, "Lee", 1, 3), Booking(8, "Kim", 3, 4)))
''',
        "README.md": "# hotel\n\nNights are numbered through the year.\n",
    }
    return _pair("frozen-and-assigned", files, move, frozen)


PROFILES = '''\
"""Profiles of printing: JSON files below presets/, each may be based on another one."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent / "presets"


def load(name):
    """All settings of a profile, those of its base included."""
    own = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    base = own.pop("base", None)
    return {**(load(base) if base else {}), **own}
'''


def _shared() -> Case:
    """One caches what a function returns, the other changes what it was given."""
    cached = _task(
        "cache-profiles",
        "Read each profile once",
        "A run loads the same profiles thousands of times. Let `printing.profiles.load` keep what it has "
        "read, so that a file is opened once in a process, also as the base of others. Add a test which counts how "
        "often files are read.",
        {
            "printing/profiles.py": _swap(
                _swap(PROFILES, "import json\n", "import functools\nimport json\n"),
                "def load(name):\n",
                "@functools.lru_cache(maxsize=None)\ndef load(name):\n",
            ),
            "tests/test_cache.py": '''\
import pathlib
import unittest
from unittest import mock

from printing import profiles


class CacheTest(unittest.TestCase):
    def test_one_read_a_file(self):
        profiles.load.cache_clear()
        real = pathlib.Path.read_text
        with mock.patch.object(pathlib.Path, "read_text", autospec=True, side_effect=real) as read:
            for _ in range(3):
                profiles.load("photo")
                profiles.load("plain")
        self.assertEqual(read.call_count, 2)
''',
        },
        "python3 -m unittest tests.test_cache tests.test_profiles",
    )
    options = _task(
        "options",
        "Options on the command line",
        "Add `printing/options.py` with `settings(words)`: the first word names the profile, each further "
        "one `key=value` replaces a setting and `-key` removes it. Values of whole numbers become ints. "
        "`settings(['photo', 'dpi=1200', '-tray'])` is the profile photo with 1200 dpi and no tray.",
        {
            "printing/options.py": '''\
"""Settings from the words of a command line."""

from printing import profiles


def settings(words):
    """A profile with the changes that the words ask for."""
    found = profiles.load(words[0])
    for word in words[1:]:
        if word.startswith("-"):
            found.pop(word[1:], None)
            continue
        key, _, value = word.partition("=")
        found[key] = int(value) if value.isdigit() else value
    return found
''',
            "tests/test_options.py": '''\
import unittest

from printing.options import settings


class SettingsTest(unittest.TestCase):
    def test_changes(self):
        wanted = {"dpi": 1200, "colour": "yes"}
        self.assertEqual(settings(["photo", "dpi=1200", "-tray"]), wanted)

    def test_plain_photo(self):
        self.assertEqual(settings(["photo"]), {"dpi": 600, "colour": "yes", "tray": "b"})
''',
        },
        "python3 -m unittest tests.test_options",
    )
    files = {
        "printing/__init__.py": "",
        "printing/profiles.py": PROFILES,
        "printing/presets/plain.json": '{"dpi": 300, "colour": "no", "tray": "a"}\n',
        "printing/presets/photo.json": '{"base": "plain", "dpi": 600, "colour": "yes", "tray": "b"}\n',
        "printing/pages.py": '''\
"""Pages of a job."""


def sheets(pages, both_sides=False):
    """How many sheets of paper a number of pages takes."""
    return -(-pages // 2) if both_sides else pages
''',
        "tests/test_pages.py": '''\
import unittest

from printing.pages import sheets


class SheetsTest(unittest.TestCase):
    def test_sides(self):
        self.assertEqual([sheets(5), sheets(5, both_sides=True)], [5, 3])
''',
        "tests/test_profiles.py": '''\
import unittest

from printing import profiles


class ProfilesTest(unittest.TestCase):
    def test_base(self):
        self.assertEqual(profiles.load("photo"), {"dpi": 600, "colour": "yes", "tray": "b"})
        self.assertEqual(profiles.load("plain")["dpi"], 300)

    def test_missing(self):
        with self.assertRaises(FileNotFoundError):
            profiles.load("nothing")
''',
    }
    return _pair("cached-and-changed", files, options, cached)


MEMBERS = '''\
"""Members of the library."""


class Members:
    """Members by the number of their card."""

    def __init__(self):
        self._names = {}

    def join(self, card, name):
        """Take a member in."""
        self._names[card] = name

    def find(self, card):
        """The name on a card; None if there is no such card."""
        return self._names.get(card)
'''

LOANS = '''\
"""Who has which book."""


class Loans:
    """Books that are out."""

    def __init__(self, members):
        self._members = members
        self._out = {}

    def lend(self, book, card):
        """Give a book to a member; False if the card is not known or the book is out."""
        if self._members.find(card) is None or book in self._out:
            return False
        self._out[book] = card
        return True

    def reader(self, book):
        """The card of who has a book."""
        return self._out.get(book)
'''


def _raises() -> Case:
    """One lets a search raise where it returned None, the other adds a caller which looks for None."""
    raising = _task(
        "unknown-card",
        "An unknown card is an error",
        "Callers forget that `Members.find` may return None, and letters went out to `Dear None`. Raise "
        "`UnknownCard` (a `LookupError`, with the card in its text) instead. `Loans.lend` goes on returning False "
        "for such a card.",
        {
            "library/members.py": _swap(
                _swap(
                    MEMBERS,
                    '        """The name on a card; None if there is no such card."""\n'
                    "        return self._names.get(card)\n",
                    '        """The name on a card."""\n        try:\n            return self._names[card]\n'
                    "        except KeyError:\n            raise UnknownCard(card) from None\n",
                ),
                "class Members:\n",
                'class UnknownCard(LookupError):\n    """There is no such card."""\n\n\nclass Members:\n',
            ),
            "library/loans.py": _swap(
                _swap(
                    LOANS,
                    "        if self._members.find(card) is None or book in self._out:\n            return False\n",
                    "        try:\n            self._members.find(card)\n"
                    "        except UnknownCard:\n            return False\n"
                    "        if book in self._out:\n            return False\n",
                ),
                '"""Who has which book."""\n',
                '"""Who has which book."""\n\nfrom library.members import UnknownCard\n',
            ),
            "tests/test_unknown.py": '''\
import unittest

from library.members import Members, UnknownCard


class UnknownTest(unittest.TestCase):
    def test_raises(self):
        with self.assertRaisesRegex(UnknownCard, "X9"):
            Members().find("X9")
        self.assertTrue(issubclass(UnknownCard, LookupError))
''',
        },
        "python3 -m unittest tests.test_unknown tests.test_library",
    )
    reminder = _task(
        "reminders",
        "Reminders",
        "Add `library/reminders.py` with `reminder(members, card, book)`, the text of a reminder. For a "
        "member it is `Dear Ada, please bring back Emma.` If the card is not known any more, the text is for the "
        "desk: `Card X9 has Emma and is not known.`",
        {
            "library/reminders.py": '''\
"""Letters to those who keep books for too long."""


def reminder(members, card, book):
    """The text of a reminder."""
    name = members.find(card)
    if name is None:
        return f"Card {card} has {book} and is not known."
    return f"Dear {name}, please bring back {book}."
''',
            "tests/test_reminders.py": '''\
import unittest

from library.members import Members
from library.reminders import reminder


class ReminderTest(unittest.TestCase):
    def setUp(self):
        self.members = Members()
        self.members.join("A1", "Ada")

    def test_member(self):
        self.assertEqual(reminder(self.members, "A1", "Emma"), "Dear Ada, please bring back Emma.")

    def test_unknown(self):
        self.assertEqual(reminder(self.members, "X9", "Emma"), "Card X9 has Emma and is not known.")
''',
        },
        "python3 -m unittest tests.test_reminders",
    )
    files = {
        "library/__init__.py": "",
        "library/members.py": MEMBERS,
        "library/loans.py": LOANS,
        "docs/desk.md": "# At the desk\n\nScan the card first, then the book.\n",
        "tests/test_library.py": '''\
import unittest

from library.loans import Loans
from library.members import Members


class LibraryTest(unittest.TestCase):
    def setUp(self):
        members = Members()
        members.join("A1", "Ada")
        self.loans = Loans(members)

    def test_lend(self):
        self.assertTrue(self.loans.lend("Emma", "A1"))
        self.assertFalse(self.loans.lend("Emma", "A1"))
        self.assertEqual(self.loans.reader("Emma"), "A1")

    def test_unknown_card(self):
        self.assertFalse(self.loans.lend("Emma", "X9"))
''',
    }
    return _pair("raises-not-none", files, reminder, raising)


def cases() -> list[Case]:
    """The other six bad pairs of board B."""
    return [_same_number(), _aware(), _policy(), _frozen(), _shared(), _raises()]
