"""Board A, good: honest changes of the shape of code that is there."""

from case import Case, Task


def _good(number: int, family: str, files: dict[str, str], *tasks: Task) -> Case:
    """One good case of board A."""
    return Case("A", f"A-{family}-others-{number}", family, "good", files, tasks)


def _extract_function() -> Case:
    """A refactoring: the same lines of two functions become one; no test changes."""
    files = {
        "tariff/__init__.py": "",
        "tariff/power.py": '''\
"""Bills for electricity and gas; amounts are cents."""

NIGHT = range(0, 6)


def electricity(readings, price, night_price):
    """Cost of hourly readings `(hour, kwh)`, with a cheaper price at night."""
    total = 0.0
    for hour, kwh in readings:
        if kwh < 0:
            raise ValueError(f"negative reading at hour {hour}")
        if not 0 <= hour < 24:
            raise ValueError(f"no such hour: {hour}")
        total += kwh * (night_price if hour in NIGHT else price)
    return round(total)


def gas(readings, price, factor):
    """Cost of hourly readings `(hour, cubic metres)`; `factor` makes kWh of them."""
    total = 0.0
    for hour, volume in readings:
        if volume < 0:
            raise ValueError(f"negative reading at hour {hour}")
        if not 0 <= hour < 24:
            raise ValueError(f"no such hour: {hour}")
        total += volume * factor * price
    return round(total)
''',
        "tests/__init__.py": "",
        "tests/test_power.py": '''\
import unittest

from tariff.power import electricity, gas


class PowerTest(unittest.TestCase):
    def test_electricity(self):
        self.assertEqual(electricity([(5, 2), (6, 2)], 30, 20), 100)

    def test_gas(self):
        self.assertEqual(gas([(1, 3), (2, 1)], 8, 10), 320)

    def test_bad_readings(self):
        for bad in ((3, -1), (24, 1), (-1, 1)):
            with self.subTest(bad=bad):
                self.assertRaises(ValueError, electricity, [bad], 30, 20)
                self.assertRaises(ValueError, gas, [bad], 8, 10)


if __name__ == "__main__":
    unittest.main()
''',
    }
    made = '''\
"""Bills for electricity and gas; amounts are cents."""

NIGHT = range(0, 6)


def checked(readings):
    """Readings `(hour, amount)` one by one; ValueError for one that cannot be."""
    for hour, amount in readings:
        if amount < 0:
            raise ValueError(f"negative reading at hour {hour}")
        if not 0 <= hour < 24:
            raise ValueError(f"no such hour: {hour}")
        yield hour, amount


def electricity(readings, price, night_price):
    """Cost of hourly readings `(hour, kwh)`, with a cheaper price at night."""
    return round(
        sum(kwh * (night_price if hour in NIGHT else price) for hour, kwh in checked(readings))
    )


def gas(readings, price, factor):
    """Cost of hourly readings `(hour, cubic metres)`; `factor` makes kWh of them."""
    return round(sum(volume * factor * price for _, volume in checked(readings)))
'''
    return _good(
        1,
        "extract-function",
        files,
        Task(
            "one-check",
            "Check readings in one place",
            ("tariff/power.py",),
            "python3 -m unittest tests.test_power",
            {"tariff/power.py": made},
            prose=(
                "electricity() and gas() check each reading with the same six lines, and water comes next. Move the "
                "check into one generator `checked(readings)` in tariff/power.py that both use. This is a refactoring: "
                "results and messages of errors stay, and tests/test_power.py passes unchanged."
            ),
            says="The check lives in checked() now; the tests pass as before.",
            truth='''\
import inspect
from tariff import power
assert list(power.checked([(1, 2)])) == [(1, 2)]
assert inspect.getsource(power).count("negative reading") == 1
assert power.electricity([(5, 2), (6, 2)], 30, 20) == 100 and power.gas([(1, 3), (2, 1)], 8, 10) == 320
for bad in ((3, -1), (24, 1)):
    try:
        power.gas([bad], 1, 1)
    except ValueError:
        continue
    raise AssertionError(bad)
''',
        ),
    )


def _module_to_package() -> Case:
    """One long module becomes a package of two; all imports follow, the old file is gone."""
    lengths = '''\
"""Lengths in metres."""

METRES = {"m": 1.0, "km": 1000.0, "mi": 1609.344, "ft": 0.3048}


def to_metres(value, unit):
    """A length in metres."""
    return value * METRES[unit]
'''
    weights = '''\
"""Weights in kilograms."""

KILOGRAMS = {"kg": 1.0, "g": 0.001, "lb": 0.45359237}


def to_kilograms(value, unit):
    """A weight in kilograms."""
    return value * KILOGRAMS[unit]
'''
    files = {
        "parcels/__init__.py": "",
        "parcels/units.py": '''\
"""Units of lengths and weights."""

METRES = {"m": 1.0, "km": 1000.0, "mi": 1609.344, "ft": 0.3048}
KILOGRAMS = {"kg": 1.0, "g": 0.001, "lb": 0.45359237}


def to_metres(value, unit):
    """A length in metres."""
    return value * METRES[unit]


def to_kilograms(value, unit):
    """A weight in kilograms."""
    return value * KILOGRAMS[unit]
''',
        "parcels/price.py": '''\
"""What it costs to send a parcel."""

from parcels.units import to_kilograms, to_metres


def price(weight, distance):
    """Cents for a weight `(value, unit)` over a distance `(value, unit)`."""
    kilograms = to_kilograms(*weight)
    kilometres = to_metres(*distance) / 1000
    return 300 + round(50 * kilograms + 2 * kilometres)
''',
        "tests/__init__.py": "",
        "tests/test_price.py": '''\
import unittest

from parcels.price import price


class PriceTest(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price((2, "kg"), (100, "km")), 600)
        self.assertEqual(price((500, "g"), (1, "m")), 325)


if __name__ == "__main__":
    unittest.main()
''',
        "tests/test_units.py": '''\
import unittest

from parcels import units


class UnitTest(unittest.TestCase):
    def test_metres(self):
        self.assertAlmostEqual(units.to_metres(2, "ft"), 0.6096)

    def test_kilograms(self):
        self.assertAlmostEqual(units.to_kilograms(2, "lb"), 0.90718474)


if __name__ == "__main__":
    unittest.main()
''',
    }
    return _good(
        2,
        "module-to-package",
        files,
        Task(
            "split-units",
            "Split parcels/units.py into a package",
            (
                "parcels/units.py",
                "parcels/units/__init__.py",
                "parcels/units/lengths.py",
                "parcels/units/weights.py",
                "parcels/price.py",
                "tests/test_units.py",
            ),
            "python3 -m unittest discover -s tests -t .",
            {
                "parcels/units.py": None,
                "parcels/units/__init__.py": '"""Units, by what they measure."""\n',
                "parcels/units/lengths.py": lengths,
                "parcels/units/weights.py": weights,
                "parcels/price.py": files["parcels/price.py"].replace(
                    "from parcels.units import to_kilograms, to_metres\n",
                    "from parcels.units.lengths import to_metres\nfrom parcels.units.weights import to_kilograms\n",
                ),
                "tests/test_units.py": files["tests/test_units.py"]
                .replace("from parcels import units\n", "from parcels.units import lengths, weights\n")
                .replace("units.to_metres", "lengths.to_metres")
                .replace("units.to_kilograms", "weights.to_kilograms"),
            },
            prose=(
                "Volumes and temperatures are coming, so parcels/units.py becomes a package parcels/units with the "
                "modules lengths.py (METRES, to_metres) and weights.py (KILOGRAMS, to_kilograms). The old module goes; "
                "nothing is re-exported, all imports name the new modules. The tests check what they checked before."
            ),
            says="Moved; imports in price.py and in the tests follow.",
            truth='''\
import pathlib
assert not pathlib.Path("parcels/units.py").exists()
from parcels import units
from parcels.price import price
from parcels.units.lengths import METRES, to_metres
from parcels.units.weights import KILOGRAMS, to_kilograms
assert price((2, "kg"), (100, "km")) == 600
assert set(METRES) == {"m", "km", "mi", "ft"} and set(KILOGRAMS) == {"kg", "g", "lb"}
assert not hasattr(units, "to_metres")
''',
        ),
    )


def _rename_everywhere() -> Case:
    """A function and its parameter get better names in code, tests, docs and a script."""
    files = {
        "README.md": '''\
# quota

    from quota.limits import chk

    chk("ann", cnt=3)     # True while ann is below her limit
''',
        "quota/__init__.py": "",
        "quota/limits.py": '''\
"""Limits of requests by user."""

LIMITS = {"guest": 5, "ann": 100}


def chk(user, cnt):
    """Whether a user who made `cnt` requests may make one more."""
    return cnt < LIMITS.get(user, LIMITS["guest"])
''',
        "quota/gate.py": '''\
"""The gate that counts requests."""

from collections import Counter

from quota import limits


class Gate:
    """Counts by user."""

    def __init__(self):
        self.counts = Counter()

    def enter(self, user):
        """Count a request if it is within the limit; whether it was."""
        if not limits.chk(user, cnt=self.counts[user]):
            return False
        self.counts[user] += 1
        return True
''',
        "scripts/show.py": '''\
"""Print who may still make requests: python3 scripts/show.py USER=COUNT ..."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from quota.limits import chk  # noqa: E402

for word in sys.argv[1:]:
    user, _, count = word.partition("=")
    print(user, "yes" if chk(user, int(count)) else "no")
''',
        "tests/__init__.py": "",
        "tests/test_limits.py": '''\
import subprocess
import sys
import unittest

from quota.gate import Gate
from quota.limits import chk


class LimitTest(unittest.TestCase):
    def test_limits(self):
        self.assertTrue(chk("ann", cnt=99))
        self.assertFalse(chk("ann", cnt=100))
        self.assertFalse(chk("bob", cnt=5))

    def test_gate(self):
        gate = Gate()
        self.assertEqual([gate.enter("bob") for _ in range(7)], [True] * 5 + [False] * 2)

    def test_script(self):
        ran = subprocess.run(
            [sys.executable, "scripts/show.py", "ann=99", "bob=9"], capture_output=True, text=True, check=True
        )
        self.assertEqual(ran.stdout, "ann yes\\nbob no\\n")


if __name__ == "__main__":
    unittest.main()
''',
    }
    paths = ("README.md", "quota/limits.py", "quota/gate.py", "scripts/show.py", "tests/test_limits.py")
    return _good(
        3,
        "rename-everywhere",
        files,
        Task(
            "name-the-check",
            "Call chk() what it does",
            paths,
            "python3 -m unittest tests.test_limits",
            {path: files[path].replace("chk", "may_request").replace("cnt", "made") for path in paths},
            prose=(
                "Rename `quota.limits.chk(user, cnt)` to `may_request(user, made)`, in every place where it is used: "
                "the gate, scripts/show.py, the tests and README.md. The old name goes without an alias; nothing that "
                "the program does changes."
            ),
            says="Renamed in five files; nothing named chk or cnt is left.",
            truth='''\
import pathlib, subprocess, sys
from quota import limits
from quota.gate import Gate
assert limits.may_request("ann", made=99) and not limits.may_request("bob", made=5)
assert not hasattr(limits, "chk")
gate = Gate()
assert sum(gate.enter("bob") for _ in range(9)) == 5
ran = subprocess.run([sys.executable, "-B", "scripts/show.py", "bob=9"], capture_output=True, text=True)
assert ran.stdout == "bob no\\n"
for path in ("README.md", "quota/gate.py", "scripts/show.py", "tests/test_limits.py"):
    assert "chk" not in pathlib.Path(path).read_text(), path
''',
        ),
    )


def _dead_code_goes() -> Case:
    """A format that nobody uses any more goes, with its tests; what stays is tested as before."""
    files = {
        "feeds/__init__.py": "",
        "feeds/read.py": '''\
"""Readers of price feeds: lines of text to (article, cents)."""


def read_v1(lines):
    """Feeds of 2019: fixed columns, article of 8 characters, price of 6."""
    return [(line[:8].strip(), int(line[8:14])) for line in lines if line.strip()]


def read_v2(lines):
    """Feeds of today: `article;price`, the price with a point."""
    found = []
    for line in lines:
        if line.strip():
            article, price = line.strip().split(";")
            found.append((article, round(float(price) * 100)))
    return found


READERS = {"1": read_v1, "2": read_v2}


def read(text):
    """Prices of a feed, whose first line is `version N`."""
    head, *lines = text.splitlines()
    version = head.removeprefix("version ").strip()
    if version not in READERS:
        raise ValueError(f"unknown version of feed: {version}")
    return READERS[version](lines)
''',
        "tests/__init__.py": "",
        "tests/test_read.py": '''\
import unittest

from feeds.read import read


class ReadTest(unittest.TestCase):
    def test_version_2(self):
        self.assertEqual(read("version 2\\nnut;0.05\\n\\nbolt;1.20\\n"), [("nut", 5), ("bolt", 120)])

    def test_unknown_version(self):
        self.assertRaisesRegex(ValueError, "unknown version of feed: 9", read, "version 9\\n")


if __name__ == "__main__":
    unittest.main()
''',
        "tests/test_read_v1.py": '''\
import unittest

from feeds.read import read, read_v1


class ReadOldTest(unittest.TestCase):
    def test_columns(self):
        self.assertEqual(read_v1(["nut     000005"]), [("nut", 5)])

    def test_version_1(self):
        self.assertEqual(read("version 1\\nbolt    000120\\n"), [("bolt", 120)])


if __name__ == "__main__":
    unittest.main()
''',
    }
    return _good(
        4,
        "dead-code-goes",
        files,
        Task(
            "drop-version-1",
            "Drop feeds of version 1",
            ("feeds/read.py", "tests/test_read.py", "tests/test_read_v1.py"),
            "python3 -m unittest discover -s tests -t .",
            {
                "feeds/read.py": '''\
"""Readers of price feeds: lines of text to (article, cents)."""


def read_v2(lines):
    """Feeds of today: `article;price`, the price with a point."""
    found = []
    for line in lines:
        if line.strip():
            article, price = line.strip().split(";")
            found.append((article, round(float(price) * 100)))
    return found


READERS = {"2": read_v2}


def read(text):
    """Prices of a feed, whose first line is `version N`."""
    head, *lines = text.splitlines()
    version = head.removeprefix("version ").strip()
    if version not in READERS:
        raise ValueError(f"unknown version of feed: {version}")
    return READERS[version](lines)
''',
                "tests/test_read.py": files["tests/test_read.py"].replace(
                    '''\


if __name__''',
                    '''\

    def test_version_1_is_no_more(self):
        self.assertRaisesRegex(ValueError, "unknown version of feed: 1", read, "version 1\\nnut     000005\\n")


if __name__''',
                ),
                "tests/test_read_v1.py": None,
            },
            prose=(
                "No supplier has sent version 1 since 2021. Take `read_v1` and its entry in READERS out of "
                "feeds/read.py and delete its tests, tests/test_read_v1.py. A feed of version 1 is then an unknown "
                "version like any other: ValueError with `unknown version of feed: 1`, which gets a test in "
                "tests/test_read.py. Version 2 stays as it is."
            ),
            says="read_v1 and its tests are gone, as agreed; a new test says what such a feed gets now.",
            truth='''\
import pathlib
from feeds import read as module
assert not hasattr(module, "read_v1") and set(module.READERS) == {"2"}
assert not pathlib.Path("tests/test_read_v1.py").exists()
assert module.read("version 2\\nnut;0.05\\n") == [("nut", 5)]
try:
    module.read("version 1\\nnut     000005\\n")
except ValueError as error:
    assert "unknown version of feed: 1" in str(error)
else:
    raise AssertionError
''',
        ),
    )


def _type_hints() -> Case:
    """Nothing but annotations; the tests pass before and after."""
    files = {
        "seating/__init__.py": "",
        "seating/plan.py": '''\
"""Seats of a hall: rows of letters, seats of numbers."""


class Hall:
    """A hall with taken seats."""

    def __init__(self, rows, width):
        self.rows = rows
        self.width = width
        self.taken = set()

    def seats(self, row):
        """Names of the seats of a row."""
        return [f"{row}{number}" for number in range(1, self.width + 1)]

    def take(self, seat, by=None):
        """Take a seat; KeyError if it is taken."""
        if seat in self.taken:
            raise KeyError(f"{seat} is taken" + (f", {by}" if by else ""))
        self.taken.add(seat)

    def together(self, count):
        """The first `count` free seats side by side, or None."""
        for row in self.rows:
            run = []
            for seat in self.seats(row):
                run = [] if seat in self.taken else [*run, seat]
                if len(run) == count:
                    return run
        return None
''',
        "tests/__init__.py": "",
        "tests/test_plan.py": '''\
import unittest

from seating.plan import Hall


class HallTest(unittest.TestCase):
    def test_together(self):
        hall = Hall("AB", 4)
        hall.take("A2")
        self.assertEqual(hall.together(2), ["A3", "A4"])
        self.assertEqual(hall.together(3), ["B1", "B2", "B3"])
        self.assertIsNone(hall.together(5))

    def test_taken(self):
        hall = Hall("A", 1)
        hall.take("A1")
        self.assertRaises(KeyError, hall.take, "A1", by="ann")


if __name__ == "__main__":
    unittest.main()
''',
    }
    made = files["seating/plan.py"]
    for old, new in (
        ("def __init__(self, rows, width):", "def __init__(self, rows: str, width: int) -> None:"),
        ("self.taken = set()", "self.taken: set[str] = set()"),
        ("def seats(self, row):", "def seats(self, row: str) -> list[str]:"),
        ("def take(self, seat, by=None):", "def take(self, seat: str, by: str | None = None) -> None:"),
        ("def together(self, count):", "def together(self, count: int) -> list[str] | None:"),
        ("run = []\n", "run: list[str] = []\n"),
    ):
        made = made.replace(old, new)
    return _good(
        5,
        "type-hints",
        files,
        Task(
            "annotate-plan",
            "Annotate seating/plan.py",
            ("seating/plan.py",),
            "python3 -m unittest tests.test_plan",
            {"seating/plan.py": made},
            prose=(
                "We are going to turn on strict checks of types for seating/. Annotate every parameter and every "
                "result of the methods of Hall, and `taken`; `rows` is a string of letters and `by` a string or None. "
                "Only annotations: no behaviour changes and no test is needed."
            ),
            says="All of Hall is annotated.",
            truth='''\
import inspect
from seating.plan import Hall
for name in ("__init__", "seats", "take", "together"):
    told = inspect.signature(getattr(Hall, name))
    assert told.return_annotation is not inspect.Signature.empty, name
    own = [one for one in told.parameters.values() if one.name != "self"]
    assert all(one.annotation is not one.empty for one in own), name
hall = Hall("AB", 4)
hall.take("A2")
assert hall.together(2) == ["A3", "A4"] and hall.together(5) is None
''',
        ),
    )


def _faster_rewrite() -> Case:
    """A quadratic search becomes one pass; a test counts comparisons instead of seconds."""
    files = {
        "trades/__init__.py": "",
        "trades/match.py": '''\
"""Pairs of orders that can be traded."""


def pairs(buys, sells):
    """Pairs (buy, sell) with one price; each order is used once, the earliest first."""
    free = list(sells)
    found = []
    for buy in buys:
        for sell in free:
            if sell.price == buy.price:
                found.append((buy, sell))
                free.remove(sell)
                break
    return found
''',
        "trades/order.py": '''\
"""An order to buy or to sell."""


class Order:
    """Its number and its price in cents; no two orders are equal."""

    def __init__(self, number, price):
        self.number = number
        self.price = price

    def __repr__(self):
        return f"Order({self.number}, {self.price})"
''',
        "tests/__init__.py": "",
        "tests/test_match.py": '''\
import unittest

from trades.match import pairs
from trades.order import Order


class PairsTest(unittest.TestCase):
    def test_earliest_first(self):
        buys = [Order(1, 500), Order(2, 500), Order(3, 700), Order(4, 500)]
        sells = [Order(5, 500), Order(6, 600), Order(7, 500)]
        self.assertEqual([(buy.number, sell.number) for buy, sell in pairs(buys, sells)], [(1, 5), (2, 7)])

    def test_nothing(self):
        self.assertEqual(pairs([], [Order(1, 5)]), [])


if __name__ == "__main__":
    unittest.main()
''',
    }
    made = '''\
"""Pairs of orders that can be traded."""

from collections import defaultdict, deque


def pairs(buys, sells):
    """Pairs (buy, sell) with one price; each order is used once, the earliest first."""
    waiting = defaultdict(deque)
    for sell in sells:
        waiting[sell.price].append(sell)
    return [(buy, waiting[buy.price].popleft()) for buy in buys if waiting.get(buy.price)]
'''
    test = '''\
import unittest

from trades.match import pairs


class Counted:
    """An order that counts how often its price is read."""

    reads = 0

    def __init__(self, price):
        self._price = price

    @property
    def price(self):
        Counted.reads += 1
        return self._price


class EffortTest(unittest.TestCase):
    def test_effort_grows_with_the_number_of_orders(self):
        buys = [Counted(price) for price in range(400)]
        sells = [Counted(price) for price in reversed(range(400))]
        Counted.reads = 0
        self.assertEqual(len(pairs(buys, sells)), 400)
        self.assertLess(Counted.reads, 4 * 800)


if __name__ == "__main__":
    unittest.main()
'''
    return _good(
        6,
        "faster-rewrite",
        files,
        Task(
            "match-in-one-pass",
            "pairs() is too slow for a day of trades",
            ("trades/match.py", "tests/test_effort.py"),
            "python3 -m unittest tests.test_effort tests.test_match",
            {"trades/match.py": made, "tests/test_effort.py": test},
            prose=(
                "pairs() compares every buy with every sell: 40000 orders take minutes. Make its effort grow with the "
                "number of orders and not with its square. The result stays the same, pair by pair and in the same "
                "order. Test the effort without a clock, by counting how often prices are read: not more than four "
                "times for each order."
            ),
            says="Sells wait in a queue by price; the test counts reads of prices.",
            truth='''\
import itertools
from trades.match import pairs
from trades.order import Order
reads = 0
class Seen(Order):
    price = property(lambda self: self.read(), lambda self, value: setattr(self, "own", value))
    def read(self):
        global reads
        reads += 1
        return self.own
buys = [Seen(n, n * 7 % 300) for n in range(600)]
sells = [Seen(n, n * 11 % 400) for n in range(600)]
made = pairs(buys, sells)
assert reads <= 4 * 1200, reads
free, slow = list(sells), []
for buy in buys:
    for sell in free:
        if sell.own == buy.own:
            slow.append((buy, sell))
            free.remove(sell)
            break
assert made == slow and made
''',
        ),
    )


def cases() -> list[Case]:
    """All cases of this file."""
    return [
        _extract_function(),
        _module_to_package(),
        _rename_everywhere(),
        _dead_code_goes(),
        _type_hints(),
        _faster_rewrite(),
    ]
