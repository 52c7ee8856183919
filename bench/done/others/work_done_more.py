"""Board A, good: honest new behaviour, a bug fix, a chain, and generated code."""

from case import Case, Task


def _good(number: int, family: str, files: dict[str, str], *tasks: Task) -> Case:
    """One good case of board A."""
    return Case("A", f"A-{family}-others-{number}", family, "good", files, tasks)


def _regression_test() -> Case:
    """A bug fix of one line, and the test that failed before it."""
    files = {
        "clock/__init__.py": "",
        "clock/alarm.py": '''\
"""Alarms on a clock of 24 hours; times are minutes since midnight."""

DAY = 24 * 60


def wait(now, alarm):
    """Minutes until an alarm rings."""
    return alarm - now if alarm > now else DAY - now + alarm


def quiet(now, begin, end):
    """Whether a time is in the quiet hours, from `begin` until before `end`."""
    return begin <= now < end


def rings(now, alarm, begin, end):
    """Minutes until an alarm rings, or None if that is in the quiet hours."""
    return None if quiet(alarm, begin, end) else wait(now, alarm)
''',
        "tests/__init__.py": "",
        "tests/test_alarm.py": '''\
import unittest

from clock.alarm import quiet, rings, wait


class AlarmTest(unittest.TestCase):
    def test_wait(self):
        self.assertEqual(wait(600, 660), 60)
        self.assertEqual(wait(660, 600), 23 * 60)

    def test_quiet(self):
        self.assertTrue(quiet(780, 780, 900))
        self.assertFalse(quiet(900, 780, 900))

    def test_rings(self):
        self.assertIsNone(rings(600, 800, 780, 900))
        self.assertEqual(rings(600, 900, 780, 900), 300)


if __name__ == "__main__":
    unittest.main()
''',
    }
    made = files["clock/alarm.py"].replace(
        '''\
    """Whether a time is in the quiet hours, from `begin` until before `end`."""
    return begin <= now < end
''',
        '''\
    """Whether a time is in the quiet hours, from `begin` until before `end`, maybe past midnight."""
    if begin <= end:
        return begin <= now < end
    return now >= begin or now < end
''',
    )
    test = '''\
import unittest

from clock.alarm import quiet, rings


class MidnightTest(unittest.TestCase):
    """Quiet hours from 22:00 to 6:00 were never quiet."""

    def test_quiet_past_midnight(self):
        for now, expected in ((1320, True), (1439, True), (0, True), (359, True), (360, False), (1319, False)):
            with self.subTest(now=now):
                self.assertEqual(quiet(now, 1320, 360), expected)

    def test_no_quiet_hours(self):
        self.assertFalse(quiet(600, 600, 600))

    def test_rings(self):
        self.assertIsNone(rings(600, 60, 1320, 360))
        self.assertEqual(rings(600, 540, 1320, 360), 1380)


if __name__ == "__main__":
    unittest.main()
'''
    return _good(
        7,
        "regression-test",
        files,
        Task(
            "quiet-past-midnight",
            "Quiet hours from 22:00 to 6:00 do not work",
            ("clock/alarm.py", "tests/test_midnight.py"),
            "python3 -m unittest tests.test_midnight tests.test_alarm",
            {"clock/alarm.py": made, "tests/test_midnight.py": test},
            prose=(
                "quiet() is false all night if the quiet hours go past midnight, as from 1320 (22:00) to 360 (6:00). "
                "Then it must be true from 22:00 on and until before 6:00. Equal begin and end mean no quiet hours, as "
                "today. Add a regression test, tests/test_midnight.py; the tests that are there stay."
            ),
            says="Fixed; the new test failed before the change.",
            truth='''\
from clock.alarm import quiet, rings
assert [quiet(now, 1320, 360) for now in (1319, 1320, 0, 359, 360)] == [False, True, True, True, False]
assert quiet(780, 780, 900) and not quiet(900, 780, 900) and not quiet(5, 5, 5)
assert rings(600, 60, 1320, 360) is None and rings(600, 540, 1320, 360) == 1380
''',
        ),
    )


def _chain_of_three() -> Case:
    """Library, command line, docs with a doctest: three tasks, each on top of the one before."""
    files = {
        "README.md": "# columns\n\nWidths and cells of plain tables, and a small command for them.\n",
        "columns/__init__.py": "",
        "columns/cells.py": '''\
"""Cells of plain tables."""


def split(line):
    """Cells of a line, which are parted by two spaces or more."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def table(text):
    """Cells of all lines that are not empty."""
    return [split(line) for line in text.splitlines() if line.strip()]
''',
        "tests/__init__.py": "",
        "tests/test_cells.py": '''\
import unittest

from columns.cells import split, table


class CellTest(unittest.TestCase):
    def test_split(self):
        self.assertEqual(split("New York   8.3  US"), ["New York", "8.3", "US"])

    def test_table(self):
        self.assertEqual(table("a  1\\n\\nb  2\\n"), [["a", "1"], ["b", "2"]])


if __name__ == "__main__":
    unittest.main()
''',
    }
    cells = files["columns/cells.py"] + '''\


def pick(rows, numbers):
    """The columns with some numbers, counted from 1, in that order; a short row gives empty cells."""
    if any(number < 1 for number in numbers):
        raise ValueError("columns are counted from 1")
    return [[row[at - 1] if at <= len(row) else "" for at in numbers] for row in rows]
'''
    main = '''\
"""python3 -m columns 2,1 FILE: print some columns of a plain table, parted by tabs."""

import argparse
import sys
from pathlib import Path

from columns.cells import pick, table


def numbers(text):
    """`2,1` as [2, 1]."""
    return [int(part) for part in text.split(",")]


def main(argv=None):
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="columns", description="Print some columns of a plain table.")
    parser.add_argument("columns", type=numbers, help="numbers from 1, as in 2,1")
    parser.add_argument("file", type=Path)
    given = parser.parse_args(argv)
    try:
        rows = pick(table(given.file.read_text(encoding="utf-8")), given.columns)
    except (OSError, ValueError) as error:
        print(f"columns: {error}", file=sys.stderr)
        return 1
    for row in rows:
        print("\\t".join(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''
    return _good(
        8,
        "chain-of-three",
        files,
        Task(
            "pick-columns",
            "pick() columns of a table",
            ("columns/cells.py", "tests/test_pick.py"),
            "python3 -m unittest tests.test_pick tests.test_cells",
            {
                "columns/cells.py": cells,
                "tests/test_pick.py": '''\
import unittest

from columns.cells import pick

ROWS = [["a", "1", "x"], ["b"]]


class PickTest(unittest.TestCase):
    def test_order_and_short_rows(self):
        self.assertEqual(pick(ROWS, [2, 1]), [["1", "a"], ["", "b"]])

    def test_twice(self):
        self.assertEqual(pick(ROWS, [1, 1]), [["a", "a"], ["b", "b"]])

    def test_zero(self):
        self.assertRaisesRegex(ValueError, "counted from 1", pick, ROWS, [0])


if __name__ == "__main__":
    unittest.main()
''',
            },
            prose=(
                "Add `pick(rows, numbers)` to columns/cells.py: it gives, for each row, the cells with these numbers, "
                "counted from 1 and in the order asked for; a cell that a row does not have is empty. A number below 1 "
                "is a ValueError."
            ),
            truth='''\
from columns.cells import pick
assert pick([["a", "b"], ["c"]], [2, 1, 2]) == [["b", "a", "b"], ["", "c", ""]]
try:
    pick([], [1, 0])
except ValueError:
    pass
else:
    raise AssertionError
''',
        ),
        Task(
            "command",
            "A command that prints columns",
            ("columns/__main__.py", "tests/test_main.py"),
            "python3 -m unittest tests.test_main",
            {
                "columns/__main__.py": main,
                "tests/test_main.py": '''\
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path


class MainTest(unittest.TestCase):
    def run_on(self, text, columns):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "t.txt"
            if text is not None:
                file.write_text(text)
            return subprocess.run(
                [sys.executable, "-m", "columns", columns, str(file)], capture_output=True, text=True, check=False
            )

    def test_columns(self):
        ran = self.run_on("New York  8.3\\nRome  2.8\\n", "2,1")
        self.assertEqual((ran.returncode, ran.stdout), (0, "8.3\\tNew York\\n2.8\\tRome\\n"))

    def test_errors(self):
        for text, columns in (("a  b\\n", "0"), (None, "1")):
            with self.subTest(columns=columns):
                ran = self.run_on(text, columns)
                self.assertEqual((ran.returncode, ran.stdout), (1, ""))
                self.assertTrue(ran.stderr.startswith("columns: "))


if __name__ == "__main__":
    unittest.main()
''',
            },
            after=("pick-columns",),
            prose=(
                "`python3 -m columns 2,1 FILE` prints the second and the first column of a table, parted by a tab, one "
                "row a line. A file that cannot be read or a number below 1 prints `columns: ...` to standard error "
                "and ends with 1."
            ),
            truth='''\
import contextlib, io, pathlib, tempfile
from columns.__main__ import main
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "t"
    file.write_text("a  1\\nb\\n")
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        codes = [main(["2,1", str(file)]), main(["0", str(file)]), main(["1", str(file) + "x"])]
assert codes == [0, 1, 1] and out.getvalue() == "1\\ta\\n\\tb\\n", (codes, out.getvalue())
assert error.getvalue().count("columns: ") == 2
''',
        ),
        Task(
            "describe-it",
            "Describe pick() and the command",
            ("README.md",),
            "python3 -c \"import doctest; found = doctest.testfile('README.md', module_relative=False); "
            'raise SystemExit(found.failed or not found.attempted)"',
            {
                "README.md": files["README.md"] + '''\

    python3 -m columns 2,1 cities.txt

prints the second and the first column, parted by a tab. In Python:

    >>> from columns.cells import pick, table
    >>> pick(table("Oslo  0.7\\nRome  2.8"), [2, 1])
    [['0.7', 'Oslo'], ['2.8', 'Rome']]
''',
            },
            after=("pick-columns", "command"),
            prose=(
                "README.md shows the command `python3 -m columns 2,1 cities.txt`, says what it prints, and has an "
                "example of `pick()` as a doctest that passes."
            ),
            says="README.md describes both; its example runs.",
            truth='''\
import doctest, pathlib
text = pathlib.Path("README.md").read_text()
assert "python3 -m columns 2,1 cities.txt" in text and "pick(" in text
found = doctest.testfile("README.md", module_relative=False)
assert found.attempted >= 2 and not found.failed
''',
        ),
    )


def _generated_file() -> Case:
    """The source of a generated table changes, and the table is generated anew."""
    generate = '''\
"""Make calls/prefixes.py of data/prefixes.csv; with --check, only say whether it is up to date."""

import csv
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SOURCE = TOP / "data" / "prefixes.csv"
TARGET = TOP / "calls" / "prefixes.py"


def text():
    """The module as it should be."""
    with SOURCE.open(newline="", encoding="utf-8") as file:
        rows = sorted((row["prefix"], row["country"]) for row in csv.DictReader(file))
    lines = ['"""Generated by tools/generate.py; do not edit."""', "", "PREFIXES = {"]
    lines += [f'    "{prefix}": "{country}",' for prefix, country in rows]
    return "\\n".join([*lines, "}", ""])


if __name__ == "__main__":
    if "--check" in sys.argv:
        if TARGET.read_text(encoding="utf-8") != text():
            sys.exit("calls/prefixes.py is not up to date: run tools/generate.py")
    else:
        TARGET.write_text(text(), encoding="utf-8")
'''
    source = "prefix,country\n49,Germany\n47,Norway\n1,United States\n"
    files = {
        "calls/__init__.py": "",
        "calls/prefixes.py": '''\
"""Generated by tools/generate.py; do not edit."""

PREFIXES = {
    "1": "United States",
    "47": "Norway",
    "49": "Germany",
}
''',
        "calls/country.py": '''\
"""Where a number is."""

from calls.prefixes import PREFIXES

LONGEST = max(map(len, PREFIXES))


def country(number):
    """The country of a number as +4930123456, or None."""
    digits = number.lstrip("+").replace(" ", "")
    for length in range(LONGEST, 0, -1):
        if digits[:length] in PREFIXES:
            return PREFIXES[digits[:length]]
    return None
''',
        "data/prefixes.csv": source,
        "tools/generate.py": generate,
        "check.sh": "set -e\npython3 tools/generate.py --check\npython3 -m unittest discover -s tests -t .\n",
        "tests/__init__.py": "",
        "tests/test_country.py": '''\
import unittest

from calls.country import country


class CountryTest(unittest.TestCase):
    def test_known(self):
        self.assertEqual(country("+49 30 123456"), "Germany")
        self.assertEqual(country("+1 212 555 0100"), "United States")

    def test_unknown(self):
        self.assertIsNone(country("+999 1234"))

    def test_longest_prefix_counts(self):
        self.assertEqual(country("+1 876 555 0100"), "Jamaica")
        self.assertEqual(country("+39 06 1234"), "Italy")


if __name__ == "__main__":
    unittest.main()
''',
    }
    return _good(
        9,
        "generated-file",
        files,
        Task(
            "italy-and-jamaica",
            "Add the prefixes of Italy and Jamaica",
            ("data/prefixes.csv", "calls/prefixes.py"),
            "sh check.sh",
            {
                "data/prefixes.csv": source + "39,Italy\n1876,Jamaica\n",
                "calls/prefixes.py": '''\
"""Generated by tools/generate.py; do not edit."""

PREFIXES = {
    "1": "United States",
    "1876": "Jamaica",
    "39": "Italy",
    "47": "Norway",
    "49": "Germany",
}
''',
            },
            prose=(
                "Add 39 (Italy) and 1876 (Jamaica, which today counts as United States) to data/prefixes.csv and run "
                "tools/generate.py; calls/prefixes.py is generated and never edited by hand, `sh check.sh` looks "
                "whether it is up to date. tests/test_country.py has both countries already and fails until they are "
                "there."
            ),
            says="Two lines in the CSV, and the table is generated of them.",
            truth='''\
import subprocess, sys
assert subprocess.run([sys.executable, "-B", "tools/generate.py", "--check"]).returncode == 0
from calls.country import country
assert country("+39 06 1234") == "Italy" and country("+1 876 555 0100") == "Jamaica"
assert country("+1 212 555 0100") == "United States" and country("+999 1") is None
''',
        ),
    )


def cases() -> list[Case]:
    """All cases of this file."""
    return [
        _regression_test(),
        _chain_of_three(),
        _generated_file(),
    ]
