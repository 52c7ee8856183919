"""Board B, good: pairs of tasks which touch neighbouring things and are green together."""

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
    """A case of two tasks that fit together."""
    return Case(
        board="B",
        name=f"B-{family}-others-2",
        family=family,
        kind="good",
        files={"tests/__init__.py": "", **files},
        tasks=tasks,
        together=SUITE,
    )


TABLE = '''\
"""Tables of plain text."""


def table(rows, gap=2):
    """Rows of texts in columns that are as wide as their longest text."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    lines = [(" " * gap).join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows]
    return "\\n".join(lines)
'''


def _optional() -> Case:
    """One adds an optional keyword, the other a caller that does not use it."""
    right = _task(
        "right-columns",
        "Columns of numbers to the right",
        "`table(rows, gap=2)` gets a keyword `right`, the set of columns (counted from 0) whose texts are "
        "put to the right; empty by default, and then nothing changes. With `right={1}` the rows `a 5` and `b 12` "
        "have their last digits below each other.",
        {
            "plain/table.py": '''\
"""Tables of plain text."""


def table(rows, gap=2, *, right=frozenset()):
    """Rows of texts in columns that are as wide as their longest text; some put to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if at in right else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths))
        ]
        lines.append((" " * gap).join(cells).rstrip())
    return "\\n".join(lines)
''',
            "tests/test_right.py": '''\
import unittest

from plain.table import table


class RightTest(unittest.TestCase):
    def test_right(self):
        self.assertEqual(table([["a", "5"], ["b", "12"]], right={1}), "a   5\\nb  12")

    def test_default(self):
        self.assertEqual(table([["a", "5"], ["b", "12"]]), "a  5\\nb  12")
''',
        },
        "python3 -m unittest tests.test_right tests.test_table",
    )
    sizes = _task(
        "size-listing",
        "A listing of sizes",
        "Add `plain/listing.py` with `listing(sizes)`: a table of names and sizes from a dict, largest "
        "first and equal ones by name, with the head `name` and `bytes`. Columns are three blanks apart; use "
        "`plain.table.table`.",
        {
            "plain/listing.py": '''\
"""Listings of files."""

from plain.table import table


def listing(sizes):
    """Names and sizes, largest first."""
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return table([["name", "bytes"], *([name, str(size)] for name, size in ordered)], 3)
''',
            "tests/test_listing.py": '''\
import unittest

from plain.listing import listing


class ListingTest(unittest.TestCase):
    def test_largest_first(self):
        text = listing({"b.txt": 7, "a.txt": 7, "photo.png": 900})
        wanted = ["name        bytes", "photo.png   900", "a.txt       7", "b.txt       7"]
        self.assertEqual(text.splitlines(), wanted)

    def test_nothing(self):
        self.assertEqual(listing({}), "name   bytes")
''',
        },
        "python3 -m unittest tests.test_listing",
    )
    files = {
        "README.md": "# plain\n\nPlain text for terminals.\n",
        "plain/__init__.py": "",
        "plain/table.py": TABLE,
        "plain/box.py": '''\
"""Boxes of plain text."""


def box(text):
    """Lines of a text with a frame around them."""
    lines = text.splitlines()
    width = max(map(len, lines), default=0)
    rule = "+" + "-" * (width + 2) + "+"
    return "\\n".join([rule, *(f"| {line.ljust(width)} |" for line in lines), rule])
''',
        "tests/test_box.py": '''\
import unittest

from plain.box import box


class BoxTest(unittest.TestCase):
    def test_box(self):
        self.assertEqual(box("ab\\nc").splitlines(), ["+----+", "| ab |", "| c  |", "+----+"])
''',
        "tests/test_table.py": "import unittest\n\nfrom plain.table import table\n\n\n"
        "class TableTest(unittest.TestCase):\n"
        '    def test_columns(self):\n        self.assertEqual(table([["ab", "c"], ["d", "ef"]]), "ab  c\\nd   ef")\n\n'
        '    def test_empty(self):\n        self.assertEqual(table([]), "")\n',
    }
    return _pair("optional-keyword", files, right, sizes)


ANGLES = '''\
"""Angles in degrees."""


def normal(degrees):
    """The same angle from 0 up to, not including, 360."""
    return degrees % 360


def turn(start, end):
    """The shorter way from one heading to another: above -180, at most 180."""
    return 180 - (180 - (end - start)) % 360
'''


def _moved() -> Case:
    """One moves a module and leaves a re-export, the other imports it by its old name."""
    move = _task(
        "move-angles",
        "Move angles into the package of mathematics",
        "`sailing/angles.py` becomes `sailing/maths/angles.py`. Scripts of other people import the old "
        "name, so `sailing/angles.py` stays and hands on `normal` and `turn`. `sailing/course.py` imports from the "
        "new place.",
        {
            "sailing/maths/__init__.py": '"""Mathematics of sailing."""\n',
            "sailing/maths/angles.py": ANGLES,
            "sailing/angles.py": '"""The old name of `sailing.maths.angles`, kept for scripts of others."""\n\n'
            'from sailing.maths.angles import normal, turn\n\n__all__ = ["normal", "turn"]\n',
            "sailing/course.py": '"""Courses."""\n\nfrom sailing.maths.angles import normal\n\n\n'
            'def opposite(heading):\n    """The way back."""\n    return normal(heading + 180)\n',
            "tests/test_maths.py": '''\
import unittest

from sailing import angles as old
from sailing.maths import angles


class MovedTest(unittest.TestCase):
    def test_both_names(self):
        self.assertIs(old.turn, angles.turn)
        self.assertIs(old.normal, angles.normal)
''',
        },
        "python3 -m unittest tests.test_maths tests.test_course",
    )
    wind = _task(
        "points-of-sail",
        "Name the point of sail",
        "Add `sailing/wind.py` with `point(heading, wind)`, both in degrees, `wind` being where it comes "
        "from. The angle between them, whichever side: below 40 `no sail`, below 80 `close`, below 100 `beam`, "
        "below 160 `broad`, else `running`. Use `turn`.",
        {
            "sailing/wind.py": '''\
"""How a boat lies to the wind."""

from sailing.angles import turn

POINTS = ((40, "no sail"), (80, "close"), (100, "beam"), (160, "broad"))


def point(heading, wind):
    """The name of the point of sail."""
    angle = abs(turn(heading, wind))
    return next((name for limit, name in POINTS if angle < limit), "running")
''',
            "tests/test_wind.py": '''\
import unittest

from sailing.wind import point


class PointTest(unittest.TestCase):
    def test_points(self):
        found = [point(heading, 350) for heading in (10, 30, 80, 200, 165, 260)]
        self.assertEqual(found, ["no sail", "close", "beam", "broad", "running", "beam"])
''',
        },
        "python3 -m unittest tests.test_wind",
    )
    files = {
        "sailing/__init__.py": "",
        "sailing/angles.py": ANGLES,
        "sailing/course.py": '"""Courses."""\n\nfrom sailing.angles import normal\n\n\n'
        'def opposite(heading):\n    """The way back."""\n    return normal(heading + 180)\n',
        "tests/test_course.py": '''\
import unittest

from sailing.angles import turn
from sailing.course import opposite


class CourseTest(unittest.TestCase):
    def test_opposite(self):
        self.assertEqual(opposite(270), 90)

    def test_turn(self):
        self.assertEqual([turn(350, 10), turn(10, 350), turn(0, 180)], [20, -20, 180])
''',
    }
    return _pair("moved-with-old-name", files, wind, move)


REGISTRY = '''\
"""Effects for sound: each module of this package has KEY, a letter, and `apply(samples)`."""

import importlib
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def effects():
    """All effects by key; no two may have the same one."""
    found = {}
    for file in sorted(HERE.glob("[a-z]*.py")):
        module = importlib.import_module(f"{__name__}.{file.stem}")
        if module.KEY in found:
            raise ValueError(f"{file.stem}: key {module.KEY} is taken")
        found[module.KEY] = module
    return found


def chain(keys, samples):
    """Apply effects in the order of their keys."""
    known = effects()
    for key in keys:
        samples = known[key].apply(samples)
    return samples
'''


def _plugins() -> Case:
    """Both add a plugin, with keys that differ."""
    gain = _task(
        "clip",
        "An effect which clips",
        "Add the effect `clip` with the key `c` below `sound/effects`: samples above 100 become 100 and "
        "those below -100 become -100. Keys of effects must be unique; the package finds new modules by itself.",
        {
            "sound/effects/clip.py": '"""Cuts what is too loud."""\n\nKEY = "c"\n\n\ndef apply(samples):\n'
            '    """No sample is beyond 100."""\n    return [max(-100, min(100, sample)) for sample in samples]\n',
            "tests/test_clip.py": '''\
import unittest

from sound.effects import chain


class ClipTest(unittest.TestCase):
    def test_clip(self):
        self.assertEqual(chain("c", [5, 101, -300]), [5, 100, -100])

    def test_after_double(self):
        self.assertEqual(chain("dc", [60]), [100])
''',
        },
        "python3 -m unittest tests.test_clip tests.test_effects",
    )
    smooth = _task(
        "smooth",
        "An effect which smooths",
        "Add the effect `smooth` with the key `s` below `sound/effects`: each sample becomes the mean, "
        "rounded down, of itself and the one before; the first stays. Keys of effects must be unique; the package "
        "finds new modules by itself.",
        {
            "sound/effects/smooth.py": '"""Takes the edges off."""\n\nKEY = "s"\n\n\ndef apply(samples):\n'
            '    """The mean of each sample and the one before."""\n'
            "    pairs = zip(samples, samples[1:])\n"
            "    return samples[:1] + [(one + two) // 2 for one, two in pairs]\n",
            "tests/test_smooth.py": '''\
import unittest

from sound.effects import chain


class SmoothTest(unittest.TestCase):
    def test_smooth(self):
        self.assertEqual(chain("s", [10, 20, 5]), [10, 15, 12])

    def test_silence(self):
        self.assertEqual(chain("s", []), [])
''',
        },
        "python3 -m unittest tests.test_smooth tests.test_effects",
    )
    files = {
        "sound/__init__.py": "",
        "sound/effects/__init__.py": REGISTRY,
        "sound/effects/double.py": '"""Twice as loud."""\n\nKEY = "d"\n\n\ndef apply(samples):\n'
        '    """Each sample times two."""\n    return [2 * sample for sample in samples]\n',
        "sound/effects/reverse.py": '"""Backwards."""\n\nKEY = "r"\n\n\ndef apply(samples):\n'
        '    """The last sample first."""\n    return samples[::-1]\n',
        "tests/test_effects.py": '''\
import unittest

from sound.effects import chain, effects


class EffectsTest(unittest.TestCase):
    def test_chain(self):
        self.assertEqual(chain("dr", [1, 2]), [4, 2])

    def test_keys_are_letters(self):
        for key in effects():
            self.assertRegex(key, "^[a-z]$")
''',
    }
    return _pair("two-plugins", files, gain, smooth)


LEVELS = '''\
"""How urgent an alert is."""

import enum


class Level(enum.IntEnum):
    """From quiet to loud."""

    INFO = 10
    WARNING = 20
    FATAL = 40
'''


def _fallback() -> Case:
    """One adds a member to an enum, the other a table which has an answer for the rest."""
    error = _task(
        "level-error",
        "A level between warning and fatal",
        "Add `Level.ERROR` with the value 30 to `alerts/levels.py`. `page` in `alerts/route.py` wakes "
        "people from ERROR on; so far it was FATAL.",
        {
            "alerts/levels.py": _swap(LEVELS, "    FATAL = 40\n", "    ERROR = 30\n    FATAL = 40\n"),
            "alerts/route.py": '"""Where alerts go."""\n\nfrom alerts.levels import Level\n\n\n'
            'def page(level):\n    """Whether somebody is woken."""\n    return level >= Level.ERROR\n',
            "tests/test_error.py": '''\
import unittest

from alerts.levels import Level
from alerts.route import page


class ErrorTest(unittest.TestCase):
    def test_order(self):
        self.assertEqual(sorted(Level, key=int)[-2:], [Level.ERROR, Level.FATAL])

    def test_wakes(self):
        self.assertTrue(page(Level.ERROR))
        self.assertFalse(page(Level.WARNING))
''',
        },
        "python3 -m unittest tests.test_error tests.test_route",
    )
    colour = _task(
        "colours",
        "Colours of alerts",
        "Add `alerts/colours.py` with `colour(level)`: INFO `grey`, WARNING `yellow`, FATAL `red`. For a "
        "level that is not named here, the colour of the next one below, so that new levels need no change; below "
        "INFO `grey`. Test that each level has one of the three.",
        {
            "alerts/colours.py": '''\
"""Colours of alerts on the wall."""

from alerts.levels import Level

COLOURS = ((Level.FATAL, "red"), (Level.WARNING, "yellow"))


def colour(level):
    """The colour of the highest level named here that is not above this one."""
    return next((name for limit, name in COLOURS if level >= limit), "grey")
''',
            "tests/test_colours.py": '''\
import unittest

from alerts.colours import colour
from alerts.levels import Level


class ColourTest(unittest.TestCase):
    def test_named(self):
        found = [colour(level) for level in (Level.INFO, Level.WARNING, Level.FATAL)]
        self.assertEqual(found, ["grey", "yellow", "red"])

    def test_all_levels(self):
        for level in Level:
            with self.subTest(level=level):
                self.assertIn(colour(level), {"grey", "yellow", "red"})

    def test_between(self):
        self.assertEqual([colour(5), colour(25)], ["grey", "yellow"])
''',
        },
        "python3 -m unittest tests.test_colours tests.test_route",
    )
    files = {
        "alerts/__init__.py": "",
        "alerts/levels.py": LEVELS,
        "alerts/route.py": '"""Where alerts go."""\n\nfrom alerts.levels import Level\n\n\n'
        'def page(level):\n    """Whether somebody is woken."""\n    return level >= Level.FATAL\n',
        "docs/levels.md": "# Levels\n\nThe numbers leave room for more.\n",
        "tests/test_route.py": "import unittest\n\nfrom alerts.levels import Level\nfrom alerts.route import page\n\n\n"
        "class PageTest(unittest.TestCase):\n    def test_page(self):\n        self.assertTrue(page(Level.FATAL))\n"
        "        self.assertFalse(page(Level.INFO))\n",
    }
    return _pair("member-with-fallback", files, error, colour)


TOURS = '''\
"""Tours of a museum: one JSON file for each below tours/."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tours"


class BadTour(ValueError):
    """A tour that cannot be offered."""


def check(tour):
    """Refuse a tour without stops."""
    if not tour["stops"]:
        raise BadTour(f"{tour['name']}: no stops")


def tours():
    """All tours by name of their file."""
    found = {}
    for file in sorted(FOLDER.glob("*.json")):
        tour = json.loads(file.read_text(encoding="utf-8"))
        check(tour)
        found[file.stem] = tour
    return found
'''


def _fulfilled() -> Case:
    """One tightens the check of data, the other adds data that fulfils the new check too."""
    strict = _task(
        "check-rooms",
        "Refuse tours that cannot be walked",
        "`museum.tours.check` shall also refuse (`BadTour`) a tour of more than 90 minutes, and one that "
        "stops in the same room twice. All tours that exist are fine; their files are not touched.",
        {
            "museum/tours.py": _swap(
                TOURS,
                "        raise BadTour(f\"{tour['name']}: no stops\")\n",
                "        raise BadTour(f\"{tour['name']}: no stops\")\n"
                '    if tour["minutes"] > 90:\n'
                "        raise BadTour(f\"{tour['name']}: too long\")\n"
                '    if len(set(tour["stops"])) < len(tour["stops"]):\n'
                "        raise BadTour(f\"{tour['name']}: a room twice\")\n",
            ),
            "tests/test_check.py": '''\
import unittest

from museum.tours import BadTour, check


class CheckTest(unittest.TestCase):
    def test_limit(self):
        check({"name": "x", "minutes": 90, "stops": [1, 2]})

    def test_too_long(self):
        with self.assertRaisesRegex(BadTour, "too long"):
            check({"name": "x", "minutes": 91, "stops": [1, 2]})

    def test_room_twice(self):
        with self.assertRaisesRegex(BadTour, "twice"):
            check({"name": "x", "minutes": 10, "stops": [1, 2, 1]})
''',
        },
        "python3 -m unittest tests.test_check tests.test_tours",
    )
    children = _task(
        "tour-for-children",
        "A tour for children",
        "Add tours/children.json: name `Dragons and knights`, 45 minutes, stops in the rooms 3, 11 and 12 "
        "in this order. Test that it is among the tours and is the shortest one.",
        {
            "tours/children.json": '{\n  "name": "Dragons and knights",\n  "minutes": 45,\n  "stops": [3, 11, 12]\n}\n',
            "tests/test_children.py": '''\
import unittest

from museum.tours import tours


class ChildrenTest(unittest.TestCase):
    def test_tour(self):
        found = tours()
        self.assertEqual(found["children"]["stops"], [3, 11, 12])
        self.assertEqual(min(found, key=lambda name: found[name]["minutes"]), "children")
''',
        },
        "python3 -m unittest tests.test_children tests.test_tours",
    )
    files = {
        "museum/__init__.py": "",
        "museum/tours.py": TOURS,
        "tours/masters.json": '{\n  "name": "Old masters",\n  "minutes": 90,\n  "stops": [1, 2, 4, 7, 9]\n}\n',
        "tours/short.json": '{\n  "name": "In an hour",\n  "minutes": 60,\n  "stops": [2, 3, 9]\n}\n',
        "tests/test_tours.py": '''\
import unittest

from museum.tours import BadTour, check, tours


class ToursTest(unittest.TestCase):
    def test_all_are_fine(self):
        self.assertLessEqual({"masters", "short"}, set(tours()))

    def test_no_stops(self):
        with self.assertRaises(BadTour):
            check({"name": "x", "minutes": 10, "stops": []})
''',
    }
    return _pair("check-fulfilled", files, strict, children)


TODO = '''\
"""Things to do."""

from collections import namedtuple

Item = namedtuple("Item", "text due urgent")


class Todo:
    """Items in the order in which they were added."""

    def __init__(self):
        self._items = []

    def add(self, text, due, urgent=False):
        """Add an item that is due on a day, which is a number."""
        self._items.append(Item(text, due, urgent))

    def items(self):
        """All items."""
        return list(self._items)
'''


def _order() -> Case:
    """One changes the order of a result, the other reads it without relying on an order."""
    urgent = _task(
        "urgent-first",
        "Urgent items first",
        "`Todo.items` lists items as they were added. List urgent ones first, then by the day they are due; "
        "equal ones stay as they were added. The list is still a copy.",
        {
            "desk/todo.py": _swap(
                _swap(TODO, "Items in the order in which they were added.", "Items, the urgent ones first."),
                '        """All items."""\n        return list(self._items)\n',
                '        """All items: urgent ones first, then by day."""\n'
                "        return sorted(self._items, key=lambda item: (not item.urgent, item.due))\n",
            ),
            "tests/test_urgent.py": '''\
import unittest

from desk.todo import Todo


class UrgentTest(unittest.TestCase):
    def test_order(self):
        todo = Todo()
        for text, due, urgent in (("a", 3, False), ("b", 9, True), ("c", 1, False), ("d", 3, False), ("e", 2, True)):
            todo.add(text, due, urgent)
        self.assertEqual([item.text for item in todo.items()], ["e", "b", "c", "a", "d"])
''',
        },
        "python3 -m unittest tests.test_urgent tests.test_todo",
    )
    agenda = _task(
        "agenda",
        "An agenda by day",
        "Add `desk/agenda.py` with `agenda(todo, first, last)`: texts of the items that are due from one "
        "day to another, both included, as a dict from day to a list in alphabetical order. Days come in order, "
        "and without days on which nothing is due.",
        {
            "desk/agenda.py": '''\
"""What is due when."""


def agenda(todo, first, last):
    """Texts by day."""
    found = {}
    for item in sorted(todo.items(), key=lambda item: (item.due, item.text)):
        if first <= item.due <= last:
            found.setdefault(item.due, []).append(item.text)
    return found
''',
            "tests/test_agenda.py": '''\
import unittest

from desk.agenda import agenda
from desk.todo import Todo


class AgendaTest(unittest.TestCase):
    def test_days(self):
        todo = Todo()
        for text, due, urgent in (("tax", 5, False), ("post", 3, True), ("call", 5, True), ("rent", 9, False)):
            todo.add(text, due, urgent)
        found = agenda(todo, 3, 8)
        self.assertEqual(list(found.items()), [(3, ["post"]), (5, ["call", "tax"])])
''',
        },
        "python3 -m unittest tests.test_agenda tests.test_todo",
    )
    files = {
        "README.md": "# desk\n\nDays are numbered through the year.\n",
        "desk/__init__.py": "",
        "desk/todo.py": TODO,
        "tests/test_todo.py": '''\
import unittest

from desk.todo import Todo


class TodoTest(unittest.TestCase):
    def test_items_are_a_copy(self):
        todo = Todo()
        todo.add("post", 3)
        todo.items().clear()
        self.assertEqual(len(todo.items()), 1)

    def test_fields(self):
        todo = Todo()
        todo.add("post", 3, urgent=True)
        self.assertEqual(todo.items()[0], ("post", 3, True))
''',
    }
    return _pair("order-not-relied-on", files, urgent, agenda)


def cases() -> list[Case]:
    """The fair pairs of board B."""
    return [_optional(), _moved(), _plugins(), _fallback(), _fulfilled(), _order()]
