"""Board B, bad: pairs of tasks, each green alone, red together (first half)."""

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


TOTALS = '''\
"""Sums of invoices, in cents."""


def total(lines, rate=19, discount=0):
    """What is to be paid for (count, cents) lines: discount in percent first, then tax in percent."""
    net = sum(count * cents for count, cents in lines)
    net -= net * discount // 100
    return net + net * rate // 100
'''

INVOICE = '''\
"""Invoices as text."""

from billing.totals import total


def render(number, lines, discount=0):
    """The last lines of an invoice."""
    return f"Invoice {number}\\nTo pay: {total(lines, 19, discount) / 100:.2f} EUR\\n"
'''

INVOICE_TEST = '''\
import unittest

from billing.invoice import render
from billing.totals import total

LINES = [(2, 1000), (1, 500)]


class InvoiceTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total(LINES), 2975)

    def test_render(self):
        self.assertEqual(render(7, LINES, discount=10), "Invoice 7\\nTo pay: 26.77 EUR\\n")
'''


def _keyword_only() -> Case:
    """One makes arguments keyword-only and mends all callers, the other adds a caller of the old kind."""
    strict = _task(
        "keyword-only",
        "Make rate and discount keyword-only",
        "Twice now somebody mixed up `rate` and `discount` of `billing.totals.total`. Make both "
        "keyword-only, so that `total(lines, 19, 10)` is a TypeError, and mend all callers. Results stay the same. "
        "Add a test for the TypeError.",
        {
            "billing/totals.py": _swap(TOTALS, "(lines, rate=19, discount=0)", "(lines, *, rate=19, discount=0)"),
            "billing/invoice.py": _swap(INVOICE, "lines, 19, discount)", "lines, rate=19, discount=discount)"),
            "tests/test_totals.py": '''\
import unittest

from billing.totals import total


class TotalTest(unittest.TestCase):
    def test_keywords(self):
        self.assertEqual(total([(1, 1000)], rate=7, discount=10), 963)

    def test_positions_are_refused(self):
        with self.assertRaises(TypeError):
            total([(1, 1000)], 7)
''',
        },
        "python3 -m unittest tests.test_totals tests.test_invoice",
    )
    credit = _task(
        "credit-notes",
        "Credit notes",
        "Add `billing/credit.py` with `credit(lines, rate=19)`: the negative of what an invoice over these "
        "lines at that rate of tax comes to, without any discount. `credit([(1, 1000)], 7)` is -1070. No lines "
        "give 0.",
        {
            "billing/credit.py": '''\
"""Credit notes: what customers get back."""

from billing.totals import total


def credit(lines, rate=19):
    """The negative of an invoice's sum."""
    return -total(lines, rate)
''',
            "tests/test_credit.py": '''\
import unittest

from billing.credit import credit


class CreditTest(unittest.TestCase):
    def test_normal_rate(self):
        self.assertEqual(credit([(2, 1000)]), -2380)

    def test_reduced_rate(self):
        self.assertEqual(credit([(1, 1000)], 7), -1070)

    def test_nothing(self):
        self.assertEqual(credit([]), 0)
''',
        },
        "python3 -m unittest tests.test_credit",
    )
    files = {
        "README.md": "# billing\n\nAll amounts are whole cents.\n",
        "billing/__init__.py": "",
        "billing/totals.py": TOTALS,
        "billing/invoice.py": INVOICE,
        "tests/test_invoice.py": INVOICE_TEST,
    }
    return _pair("keyword-only-caller", files, credit, strict)


ROUTES = '''\
"""Distances on a grid of streets whose blocks are 100 m long."""

BLOCK = 0.1


def distance(start, end):
    """How far it is to ride from one corner (x, y) to another, in kilometres."""
    return (abs(start[0] - end[0]) + abs(start[1] - end[1])) * BLOCK
'''

FARES = '''\
"""What a courier costs, in cents."""

from courier.routes import distance

START = 350
PER_KM = 120


def fare(start, end):
    """A fixed part and a part by distance."""
    return START + round(distance(start, end) * PER_KM)
'''


def _unit() -> Case:
    """One changes the unit that a function returns, the other adds a reader which takes the old one."""
    metres = _task(
        "metres",
        "Distances in whole metres",
        "Sums of `distance` are off by tiny fractions. Let `courier.routes.distance` return whole metres as "
        "an int (a block is 100 m) and adapt `fare`, whose results stay what they are. Update "
        "tests/test_routes.py, which asks for kilometres.",
        {
            "courier/routes.py": _swap(
                _swap(ROUTES, "BLOCK = 0.1", "BLOCK = 100"), "in kilometres", "in whole metres"
            ),
            "courier/fares.py": _swap(
                FARES, "round(distance(start, end) * PER_KM)", "round(distance(start, end) * PER_KM / 1000)"
            ),
            "tests/test_routes.py": '''\
import unittest

from courier.routes import distance


class DistanceTest(unittest.TestCase):
    def test_blocks(self):
        self.assertEqual(distance((0, 0), (12, 3)), 1500)
        self.assertEqual(distance((5, 5), (4, 5)), 100)

    def test_exact(self):
        self.assertEqual(sum(distance((at, 0), (at + 1, 0)) for at in range(30)), 3000)
''',
        },
        "python3 -m unittest tests.test_routes.DistanceTest.test_exact tests.test_routes tests.test_fares",
    )
    eta = _task(
        "arrival",
        "Tell when a courier arrives",
        "Add `courier/arrival.py` with `minutes(start, end, kmh=15)`: how many minutes a ride takes at that "
        "speed, rounded up to whole minutes, plus 2 for handing over. 1.5 km at 15 km/h are 6 minutes, so the "
        "answer is 8. Use `courier.routes.distance`.",
        {
            "courier/arrival.py": '''\
"""When a courier arrives."""

import math

from courier.routes import distance

HANDING_OVER = 2


def minutes(start, end, kmh=15):
    """Whole minutes until a parcel is handed over."""
    riding = distance(start, end) / kmh * 60
    return math.ceil(round(riding, 6)) + HANDING_OVER
''',
            "tests/test_arrival.py": '''\
import unittest

from courier.arrival import minutes


class MinutesTest(unittest.TestCase):
    def test_ride(self):
        self.assertEqual(minutes((0, 0), (12, 3)), 8)

    def test_faster(self):
        self.assertEqual(minutes((0, 0), (12, 3), kmh=30), 5)

    def test_same_corner(self):
        self.assertEqual(minutes((1, 1), (1, 1)), 2)
''',
        },
        "python3 -m unittest tests.test_arrival",
    )
    files = {
        "courier/__init__.py": "",
        "courier/routes.py": ROUTES,
        "courier/fares.py": FARES,
        "tests/test_routes.py": "import unittest\n\nfrom courier.routes import distance\n\n\n"
        "class DistanceTest(unittest.TestCase):\n    def test_blocks(self):\n"
        "        self.assertAlmostEqual(distance((0, 0), (12, 3)), 1.5)\n",
        "tests/test_fares.py": "import unittest\n\nfrom courier.fares import fare\n\n\n"
        "class FareTest(unittest.TestCase):\n"
        "    def test_fare(self):\n        self.assertEqual(fare((0, 0), (12, 3)), 530)\n"
        "        self.assertEqual(fare((2, 2), (2, 2)), 350)\n",
    }
    return _pair("unit-of-result", files, metres, eta)


ACCESS = '''\
"""Reads access logs: `10.0.0.7 GET /index 200 512`."""

from collections import namedtuple

Entry = namedtuple("Entry", "address method path status size")


def read(lines):
    """All entries of a log; lines that are none are left out."""
    entries = []
    for line in lines:
        parts = line.split()
        if len(parts) == 5 and parts[3].isdigit() and parts[4].isdigit():
            entries.append(Entry(*parts[:3], int(parts[3]), int(parts[4])))
    return entries
'''

TRAFFIC = '''\
"""Sums over a log."""

from weblog.access import read


def traffic(lines):
    """Bytes by path."""
    entries, found = read(lines), {}
    for index in range(len(entries)):
        entry = entries[index]
        found[entry.path] = found.get(entry.path, 0) + entry.size
    return found
'''


def _lazy() -> Case:
    """One makes a list a generator, the other adds a reader which goes through it twice."""
    lazy = _task(
        "lazy-read",
        "Read logs without holding them in memory",
        "`weblog.access.read` builds a list of all entries, which takes gigabytes for a month. Make it a "
        "generator that yields one entry at a time, and let `traffic` go through it once. What both give stays the "
        "same. Add a test that it reads no further than asked.",
        {
            "weblog/access.py": _swap(
                _swap(ACCESS, "    entries = []\n", "").replace("    return entries\n", ""),
                "            entries.append(Entry(*parts[:3], int(parts[3]), int(parts[4])))\n",
                "            yield Entry(*parts[:3], int(parts[3]), int(parts[4]))\n",
            ),
            "weblog/traffic.py": '''\
"""Sums over a log."""

from weblog.access import read


def traffic(lines):
    """Bytes by path."""
    found = {}
    for entry in read(lines):
        found[entry.path] = found.get(entry.path, 0) + entry.size
    return found
''',
            "tests/test_lazy.py": '''\
import unittest

from weblog.access import read


class LazyTest(unittest.TestCase):
    def test_one_at_a_time(self):
        def lines():
            yield "10.0.0.7 GET / 200 5"
            raise AssertionError("read too far")

        self.assertEqual(next(iter(read(lines()))).size, 5)
''',
        },
        "python3 -m unittest tests.test_lazy tests.test_weblog",
    )
    errors = _task(
        "error-share",
        "Share of failed requests",
        "Add `weblog/errors.py` with `share(lines)`: which part of the requests in a log ended with a "
        "status of 500 or more, from 0.0 to 1.0, and 0.0 for a log without entries. A line that is no entry does "
        "not count. Two of four failed requests give 0.5.",
        {
            "weblog/errors.py": '''\
"""How often the server failed."""

from weblog.access import read


def share(lines):
    """The part of requests that failed, from 0 to 1."""
    entries = read(lines)
    if not entries:
        return 0.0
    return sum(entry.status >= 500 for entry in entries) / len(entries)
''',
            "tests/test_errors.py": '''\
import unittest

from weblog.errors import share


class ShareTest(unittest.TestCase):
    def test_half(self):
        lines = ["a GET / 200 1", "a GET / 503 1", "a GET / 404 1", "a GET / 500 1", "nonsense"]
        self.assertEqual(share(lines), 0.5)

    def test_empty(self):
        self.assertEqual(share([]), 0.0)
''',
        },
        "python3 -m unittest tests.test_errors",
    )
    files = {
        "weblog/__init__.py": "",
        "weblog/access.py": ACCESS,
        "weblog/traffic.py": TRAFFIC,
        "tests/test_weblog.py": '''\
import unittest

from weblog.access import read
from weblog.traffic import traffic

LINES = ["10.0.0.7 GET / 200 512", "-- rotated --", "10.0.0.8 GET /a 404 9", "10.0.0.8 GET / 200 8"]


class WeblogTest(unittest.TestCase):
    def test_read(self):
        self.assertEqual([entry.status for entry in read(LINES)], [200, 404, 200])

    def test_traffic(self):
        self.assertEqual(traffic(LINES), {"/": 520, "/a": 9})
''',
        "docs/format.md": "# The log\n\nAddress, method, path, status and size, with blanks between them.\n",
    }
    return _pair("list-made-lazy", files, errors, lazy)


PLANS_JSON = """{
  "basic": {"price": 5, "seats": 1},
  "team": {"price": 19, "seats": 10},
  "firm": {"price": 79, "seats": 100}
}
"""

PLANS = '''\
"""Plans that can be booked."""

import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parent.parent / "data" / "plans.json"


def load():
    """All plans by name, as they are in the file."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def price(name):
    """The price of a plan for a month, in euros."""
    return load()[name]["price"]
'''


def _renamed_key() -> Case:
    """One renames a key of a data file, the other adds a reader of the old key."""
    cents = _task(
        "price-in-cents",
        "Prices of plans in cents",
        "A plan for 4.50 is coming. In data/plans.json replace `price` (euros) by `monthly_cents` (whole "
        "cents) for each plan; `price(name)` in `saas/plans.py` goes on returning euros. The file has no other key "
        "for the price afterwards; add a test for that.",
        {
            "data/plans.json": PLANS_JSON.replace('"price": 5,', '"monthly_cents": 500,')
            .replace('"price": 19,', '"monthly_cents": 1900,')
            .replace('"price": 79,', '"monthly_cents": 7900,'),
            "saas/plans.py": _swap(PLANS, 'load()[name]["price"]', 'load()[name]["monthly_cents"] / 100'),
            "tests/test_plan_keys.py": '''\
import unittest

from saas.plans import load


class KeysTest(unittest.TestCase):
    def test_keys(self):
        for name, plan in load().items():
            with self.subTest(plan=name):
                self.assertEqual(set(plan), {"monthly_cents", "seats"})
                self.assertIsInstance(plan["monthly_cents"], int)
''',
        },
        "python3 -m unittest tests.test_plan_keys tests.test_plans",
    )
    advice = _task(
        "cheapest-plan",
        "Advise the cheapest plan",
        "Add `saas/advice.py` with `cheapest(seats)`: the name of the cheapest plan that has at least that "
        "many seats, and None if none has. For 1 it is `basic`, for 2 to 10 `team`, for 101 None. Plans come from "
        "`saas.plans.load`.",
        {
            "saas/advice.py": '''\
"""Which plan fits."""

from saas.plans import load


def cheapest(seats):
    """The cheapest plan with enough seats, or None."""
    fitting = {name: plan for name, plan in load().items() if plan["seats"] >= seats}
    return min(fitting, key=lambda name: fitting[name]["price"], default=None)
''',
            "tests/test_advice.py": '''\
import unittest

from saas.advice import cheapest


class CheapestTest(unittest.TestCase):
    def test_fits(self):
        self.assertEqual([cheapest(seats) for seats in (1, 2, 10, 11)], ["basic", "team", "team", "firm"])

    def test_too_many(self):
        self.assertIsNone(cheapest(101))
''',
        },
        "python3 -m unittest tests.test_advice tests.test_plans",
    )
    files = {
        "data/plans.json": PLANS_JSON,
        "saas/__init__.py": "",
        "saas/plans.py": PLANS,
        "saas/trial.py": '"""Trials."""\n\nDAYS = 14\n\n\n'
        'def ends(day):\n    """The last day of a trial that begins on a day."""\n    return day + DAYS - 1\n',
        "tests/test_plans.py": "import unittest\n\nfrom saas.plans import price\nfrom saas.trial import ends\n\n\n"
        "class PlansTest(unittest.TestCase):\n    def test_price(self):\n"
        '        self.assertEqual(price("team"), 19)\n\n'
        "    def test_trial(self):\n        self.assertEqual(ends(1), 14)\n",
    }
    return _pair("renamed-data-key", files, cents, advice)


CATALOG = '''\
"""The catalogue: one CSV file for each department below data/."""

import csv
import pathlib

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


class BadArticle(ValueError):
    """A line that may not be in the catalogue."""


def check(article):
    """Refuse an article without number or with a price that is no price."""
    if not article["number"]:
        raise BadArticle("no number")
    if not article["cents"].isdigit():
        raise BadArticle(f"{article['number']}: {article['cents']!r} is no price")


def department(name):
    """All articles of a department."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        articles = list(csv.DictReader(file))
    for article in articles:
        check(article)
    return articles


def departments():
    """Names of all departments."""
    return sorted(file.stem for file in DATA.glob("*.csv"))
'''


def _tightened() -> Case:
    """One tightens the check of data, the other adds data which only the old check lets pass."""
    strict = _task(
        "article-numbers",
        "Refuse article numbers that scanners cannot read",
        "A number of an article is two capital letters, a hyphen and four digits (`TL-0031`); "
        "`shop.catalog.check` shall raise `BadArticle` for anything else, with the number in the text. The files "
        "in data/ follow that already, nothing else in them changes.",
        {
            "shop/catalog.py": _swap(
                _swap(CATALOG, "import pathlib\n", "import pathlib\nimport re\n"),
                '    if not article["number"]:\n        raise BadArticle("no number")\n',
                '    if not re.fullmatch(r"[A-Z]{2}-[0-9]{4}", article["number"]):\n'
                "        raise BadArticle(f\"{article['number']!r} is no number\")\n",
            ),
            "tests/test_numbers.py": '''\
import unittest

from shop.catalog import BadArticle, check


class NumbersTest(unittest.TestCase):
    def test_right(self):
        check({"number": "TL-0031", "cents": "5"})

    def test_wrong(self):
        for number in ("", "tl-0031", "TL-31", "TL-00310", "TL0031"):
            with self.subTest(number=number), self.assertRaisesRegex(BadArticle, number):
                check({"number": number, "cents": "5"})
''',
        },
        "python3 -m unittest tests.test_numbers tests.test_catalog",
    )
    garden = _task(
        "garden",
        "Take in the department garden",
        "Add data/garden.csv with the four articles of the supplier's list, numbers as they stand there: "
        "GRD-114 spade 1990, GRD-115 rake 1490, GRD-120 hose 20 m 2490, GRD-201 gloves 590 (prices in cents), in "
        "the columns of the other files. Test that they load.",
        {
            "data/garden.csv": "number,name,cents\nGRD-114,spade,1990\nGRD-115,rake,1490\nGRD-120,hose 20 m,2490\n"
            "GRD-201,gloves,590\n",
            "tests/test_garden.py": '''\
import unittest

from shop.catalog import department


class GardenTest(unittest.TestCase):
    def test_articles(self):
        articles = {article["number"]: article for article in department("garden")}
        self.assertEqual(len(articles), 4)
        self.assertEqual(articles["GRD-120"]["name"], "hose 20 m")
        self.assertEqual(articles["GRD-201"]["cents"], "590")
''',
        },
        "python3 -m unittest tests.test_garden tests.test_catalog",
    )
    files = {
        "shop/__init__.py": "",
        "shop/catalog.py": CATALOG,
        "data/tools.csv": "number,name,cents\nTL-0031,hammer,1290\nTL-0032,saw,1590\n",
        "data/paint.csv": "number,name,cents\nPT-0001,white 5 l,2290\nPT-0107,brush,390\n",
        "tests/test_catalog.py": '''\
import unittest

from shop.catalog import BadArticle, check, department, departments


class CatalogTest(unittest.TestCase):
    def test_all_departments_load(self):
        for name in departments():
            with self.subTest(department=name):
                self.assertTrue(department(name))

    def test_no_price(self):
        with self.assertRaises(BadArticle):
            check({"number": "TL-0031", "cents": "5.00"})
''',
    }
    return _pair("tightened-check", files, garden, strict)


STATUS = '''\
"""States of an order."""

import enum


class Status(enum.Enum):
    """Where an order is."""

    NEW = "new"
    PAID = "paid"
    SENT = "sent"
    CLOSED = "closed"
'''

FLOW = '''\
"""Which state may follow which."""

from orders.status import Status

NEXT = {
    Status.NEW: {Status.PAID, Status.CLOSED},
    Status.PAID: {Status.SENT},
    Status.SENT: {Status.CLOSED},
    Status.CLOSED: set(),
}


def may_follow(now, then):
    """Whether an order may go from one state to another."""
    return then in NEXT[now]
'''


def _new_member() -> Case:
    """One adds a member to an enum and to all its tables, the other adds a table with the members of today."""
    returned = _task(
        "returned",
        "Orders can come back",
        "Add `Status.RETURNED` (value `returned`). It may follow SENT, and after it only CLOSED may come; "
        "complete the table in `orders/flow.py`, where each state must have a line.",
        {
            "orders/status.py": _swap(STATUS, '    SENT = "sent"\n', '    SENT = "sent"\n    RETURNED = "returned"\n'),
            "orders/flow.py": _swap(
                FLOW,
                "    Status.SENT: {Status.CLOSED},\n",
                "    Status.SENT: {Status.RETURNED, Status.CLOSED},\n    Status.RETURNED: {Status.CLOSED},\n",
            ),
            "tests/test_returned.py": '''\
import unittest

from orders.flow import may_follow
from orders.status import Status


class ReturnedTest(unittest.TestCase):
    def test_flow(self):
        self.assertTrue(may_follow(Status.SENT, Status.RETURNED))
        self.assertTrue(may_follow(Status.RETURNED, Status.CLOSED))
        self.assertFalse(may_follow(Status.PAID, Status.RETURNED))
''',
        },
        "python3 -m unittest tests.test_returned tests.test_flow",
    )
    mails = _task(
        "mail-subjects",
        "A mail for each state",
        "Add `orders/mails.py` with `subject(status, number)`. The subjects: NEW `We have your order 7`, "
        "PAID `Thank you for your payment (order 7)`, SENT `Order 7 is on its way`, CLOSED `Order 7 is complete`. "
        "There must be a subject for each state; test it over all of `Status`.",
        {
            "orders/mails.py": '''\
"""Subjects of mails to customers."""

from orders.status import Status

SUBJECTS = {
    Status.NEW: "We have your order {}",
    Status.PAID: "Thank you for your payment (order {})",
    Status.SENT: "Order {} is on its way",
    Status.CLOSED: "Order {} is complete",
}


def subject(status, number):
    """The subject of the mail that tells of a state."""
    return SUBJECTS[status].format(number)
''',
            "tests/test_mails.py": '''\
import unittest

from orders.mails import subject
from orders.status import Status


class SubjectTest(unittest.TestCase):
    def test_text(self):
        self.assertEqual(subject(Status.SENT, 7), "Order 7 is on its way")

    def test_every_state_has_one(self):
        for status in Status:
            with self.subTest(status=status):
                self.assertIn("12", subject(status, 12))
''',
        },
        "python3 -m unittest tests.test_mails tests.test_flow",
    )
    files = {
        "orders/__init__.py": "",
        "orders/status.py": STATUS,
        "orders/flow.py": FLOW,
        "README.md": "# orders\n\nStates are in `orders/status.py`, what may follow in `orders/flow.py`.\n",
        "tests/test_flow.py": '''\
import unittest

from orders.flow import NEXT, may_follow
from orders.status import Status


class FlowTest(unittest.TestCase):
    def test_complete(self):
        self.assertEqual(set(NEXT), set(Status))

    def test_no_way_back(self):
        self.assertFalse(may_follow(Status.SENT, Status.PAID))
''',
    }
    return _pair("member-without-line", files, mails, returned)


def cases() -> list[Case]:
    """The first six bad pairs of board B."""
    return [_keyword_only(), _unit(), _lazy(), _renamed_key(), _tightened(), _new_member()]
