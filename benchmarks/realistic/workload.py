"""The repository that is built: 992 Python files, a plan, a fake agent, and pytest suites.

Each of 30 areas has a suite of its own that takes 2 to 10 seconds. A task adds a function to its
area, or mends one, and adds a test; its agent waits 5 to 12 seconds, as for a model, and writes.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILES = 992
AREAS = 30
PARTS, SUITES = 24, 6
REPEATS = 10
"""Tests in each file of a suite, times seconds of it: about a second of one core in a suite."""
MEND = 4
"""Each fourth task mends a function; the others add one."""
BACK = 4
"""Each third task builds on the task so many before it."""

IGNORED = ".venv\n__pycache__/\n.pytest_cache/\n"

AGENT = '''\
"""Waits as for a model, then writes the files of a task."""

import json
import sys
import time
from pathlib import Path

task = json.loads(Path(__file__).with_name("answers.json").read_text())[sys.argv[1]]
time.sleep(task["seconds"])
for path, text in task["files"].items():
    Path(path).write_text(text)
'''

PART = '''\
"""Order lines of {place}, part {part}."""

from __future__ import annotations

import json
{imports}

RATE = {rate}


def parse(text: str) -> list[dict[str, int | str]]:
    """Return the rows of lines such as `pen, 3, 120`."""
    rows: list[dict[str, int | str]] = []
    for line in text.splitlines():
        name, count, price = line.split(",")
        rows.append({{"name": name.strip(), "count": int(count), "price": int(price)}})
    return rows


def total(rows: list[dict[str, int | str]]) -> int:
    """Return the price of all rows; of a dozen and more each is {rate} cheaper."""
    amount = 0
    for row in rows:
        price = int(row["price"])
        if int(row["count"]) {compare} 12:
            price -= RATE
        amount += int(row["count"]) * price
    return amount


def report(rows: list[dict[str, int | str]]) -> str:
    """Return the rows by name as JSON, with their total."""
    names: dict[str, int] = {{}}
    for row in rows:
        name = str(row["name"])
        names[name] = names.get(name, 0) + int(row["count"])
    return json.dumps({{"rows": names, "total": total(rows)}}, sort_keys=True)
'''

SUITE = '''\
"""Part {part} of area {area} parses, adds up and reports."""

import json

import pytest

from shop.area_{area} import part_{part} as part


def lines(seed):
    names = [f"item {{(seed * 7 + number * 13) % 50}}" for number in range(2_600)]
    return "\\n".join(f"{{name}}, {{len(name)}}, {{40 + seed}}" for name in names)


@pytest.mark.parametrize("seed", range({tests}))
def test_a_report_has_each_row_and_the_total(seed):
    rows = part.parse(lines(seed))
    found = json.loads(part.report(rows))
    assert sum(found["rows"].values()) == sum(row["count"] for row in rows)
    assert found["total"] == sum(row["count"] for row in rows) * (40 + seed)
    assert len(found["rows"]) == 50
'''

ADDED = '''

def discounted(amount: int, percent: int) -> int:
    """Return an amount less a percentage, rounded up; raises ValueError above {most} percent."""
    if not 0 <= percent <= {most}:
        raise ValueError(f"{{percent}} is no discount")
    return -(-amount * (100 - percent) // 100)
'''

ADDED_TEST = '''\
"""A discount is rounded up and bounded."""

import pytest

from shop.area_{area}.part_00 import discounted


def test_a_discount_is_rounded_up():
    assert discounted(1000, {most}) == {less}
    assert discounted(1001, 50 % {most}) == -(-1001 * (100 - 50 % {most}) // 100)
    assert discounted(7, 0) == 7


@pytest.mark.parametrize("percent", [-1, {most} + 1])
def test_no_other_discount(percent):
    with pytest.raises(ValueError, match="no discount"):
        discounted(1000, percent)
'''

MENDED_TEST = '''\
"""A dozen is already cheaper."""

from shop.area_{area}.part_00 import total


def test_a_dozen_is_cheaper():
    rows = [{{"name": "pen", "count": count, "price": 100}} for count in (11, 12, 13)]
    assert [total([row]) for row in rows] == [1100, 12 * {cheap}, 13 * {cheap}]
'''


SMALL_ADDED = '''

def ordinal(number: int) -> str:
    """Return `1st`, `2nd`, `3rd`, `4th`, `11th`."""
    if 10 < number % 100 < 14:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
'''
SMALL_TEST = '''\
"""Ordinals in English."""

import pytest

from shop.area_01.part_00 import ordinal


@pytest.mark.parametrize(
    ("number", "word"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (10, "10th"), (11, "11th"), (12, "12th"),
     (13, "13th"), (14, "14th"), (21, "21st"), (111, "111th"), (114, "114th"), (122, "122nd")],
)
def test_an_ordinal_has_its_ending(number, word):
    assert ordinal(number) == word
'''


@dataclass(frozen=True, slots=True)
class Step:
    """One task."""

    number: int

    @property
    def id(self) -> str:
        return f"TASK-{self.number:03d}"

    @property
    def area(self) -> str:
        return f"{self.number:02d}"

    @property
    def mends(self) -> bool:
        return self.number % MEND == 0

    @property
    def needs(self) -> str:
        return Step(self.number - BACK).id if self.number % 3 == 0 and self.number > BACK else ""

    @property
    def test_file(self) -> str:
        return f"tests/area_{self.area}/test_{self.area}_{'dozen' if self.mends else 'discount'}.py"

    @property
    def contract(self) -> str:
        return f"python -m pytest -q tests/area_{self.area}"

    @property
    def seconds(self) -> float:
        """How long the agent takes: 5 to 12."""
        return 5 + self.number * 11 % 29 / 4

    @property
    def suite_seconds(self) -> float:
        """About how long the suite takes: 2 to 10."""
        return 2 + self.number * 7 % 30 * 8 / 29

    def files(self) -> dict[str, str]:
        """What the agent writes."""
        path = f"shop/area_{self.area}/part_00.py"
        if self.mends:
            test = MENDED_TEST.format(area=self.area, cheap=100 - rate(self.number))
            return {path: _part(self.number, 0, ">="), self.test_file: test}
        most = 30 + self.number
        text = _part(self.number, 0) + ADDED.format(most=most)
        test = ADDED_TEST.format(area=self.area, most=most, less=-(-1000 * (100 - most) // 100))
        return {path: text, self.test_file: test}

    def section(self) -> str:
        """Its section of the plan."""
        title = "Make a dozen cheaper, too" if self.mends else "Give discounts"
        return (
            f"## {self.id}: {title} in area {self.area}\n\n- Status: PENDING\n"
            f"- Depends on: {self.needs or 'none'}\n"
            f"- Output files: `shop/area_{self.area}/part_00.py`, `{self.test_file}`\n"
            f"- Test contracts:\n  - TC-001 (unit): `{self.contract}`\n"
            f"- Command: `python tools/agent.py {self.id}`\n\n"
        )


def rate(number: int) -> int:
    return 1 + number % 9


def _part(area: int, part: int, compare: str = ">") -> str:
    imports = [f"from shop.common import part_{(area + part * 3) % 59:02d} as common"]
    if part:
        imports.append(f"from shop.area_{area:02d}.part_{part - 1:02d} import parse as earlier")
    lines = "\n".join(["", *imports])
    rated = rate(area) if not part else 0
    return PART.format(
        place=f"area {area:02d}", part=part, imports=lines, rate=rated, compare=compare
    )


def sources() -> dict[str, str]:
    """All Python files of the repository before a task is built."""
    files = {"shop/__init__.py": "", "shop/common/__init__.py": "", "tools/agent.py": AGENT}
    for area in range(1, AREAS + 1):
        folder, suite = f"shop/area_{area:02d}", f"tests/area_{area:02d}"
        files[f"{folder}/__init__.py"] = ""
        for part in range(PARTS):
            files[f"{folder}/part_{part:02d}.py"] = _part(area, part)
        tests = round(Step(area).suite_seconds * REPEATS)
        for part in range(1, SUITES + 1):
            text = SUITE.format(area=f"{area:02d}", part=f"{part:02d}", tests=tests)
            files[f"{suite}/test_{area:02d}_{part:02d}.py"] = text
    for part in range(FILES - len(files)):
        text = PART.format(place="all", part=part, imports="", rate=0, compare=">")
        files[f"shop/common/part_{part:02d}.py"] = text
    return files


def make(folder: Path, tasks: int, environ: Mapping[str, str]) -> None:
    """Make the repository with its plan; commits all of it."""
    steps = [Step(number) for number in range(1, tasks + 1)]
    answers = {step.id: {"seconds": step.seconds, "files": step.files()} for step in steps}
    listed = [{"id": each.id, "needs": each.needs, "contract": each.contract} for each in steps]
    texts = {
        **sources(),
        "tools/answers.json": json.dumps(answers, indent=1),
        "tools/tasks.json": json.dumps(listed, indent=1),
        "TASK-GRAPH.md": "# Shop\n\n" + "".join(step.section() for step in steps),
    }
    commit_all(folder, texts, environ)


SMALL_GATE = "python -m pytest -q"
SMALL_CONTRACT = "python -m pytest -q tests/test_ordinal.py"


def make_small(folder: Path, environ: Mapping[str, str]) -> None:
    """Make a small library with one task; its whole suite of 4 seconds is a default gate."""
    texts = {name: text for name, text in sources().items() if "_01/" in name or "common" in name}
    texts |= {"shop/__init__.py": "", "tools/agent.py": AGENT}
    files = {
        "shop/area_01/part_00.py": _part(1, 0) + SMALL_ADDED,
        "tests/test_ordinal.py": SMALL_TEST,
    }
    texts["tools/answers.json"] = json.dumps({"TASK-001": {"seconds": 0, "files": files}})
    texts["pyproject.toml"] = (
        '[project]\nname = "shop"\nversion = "1"\n\n[tool.pytest.ini_options]\n'
        'testpaths = ["tests"]\n'
    )
    texts["TASK-GRAPH.md"] = (
        "# Shop\n\n## TASK-001: Name ordinals\n\n- Status: PENDING\n- Depends on: none\n"
        f"- Output files: {', '.join(f'`{path}`' for path in files)}\n"
        f"- Test contracts:\n  - TC-001 (unit): `{SMALL_CONTRACT}`\n"
        "- Command: `python tools/agent.py TASK-001`\n"
    )
    commit_all(folder, texts, environ)


def commit_all(folder: Path, texts: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Write and commit the files of a new repository."""
    for path, text in {**texts, ".gitignore": IGNORED}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        subprocess.run(("git", *words), cwd=folder, env=environ, check=True)
