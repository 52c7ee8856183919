"""Code of another kind than the plan names is told, whatever its tests give it."""

import pytest
from test_gates_plan_examples import said

from runner.model import Severity

ENDED = "Add `ended(cookie, now)`: whether it has ended at `now`."
ASKS = "from shop import ended\n\n\ndef test_it():\n    assert ended(a, now()) is True\n"
PYTHON = "def ended(cookie, now=None):\n{}    return cookie.end <= {}\n"
SCRIPT = "export function ended(cookie, now) {{\n  {}return cookie.end <= {};\n}}\n"
GO = "package shop\n\nfunc Ended(c Cookie, now time.Time) bool {{\n\treturn {}\n}}\n"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("shop.py", PYTHON.format("    now = now\n\n", "time.time()")),
        ("shop.py", PYTHON.format("    del now\n", "datetime.now(tz=UTC)")),
        ("shop.ts", SCRIPT.format("if (now < 1) return false;\n  ", "Date.now()")),
        ("shop.js", SCRIPT.format("", "+new Date()")),
        ("shop.go", GO.format("now.IsZero() ||\n\t\ttime.Since(c.end) > 0").replace("E", "e", 1)),
    ],
)
def test_a_clock_beside_the_time_that_is_given_is_told(tmp_path, path, code):
    code = code.replace("    del now\n", "    rest = now\n")
    found = said(tmp_path, code, ASKS, path=path, prose=ENDED)
    assert [severity for severity, message in found if "asks the clock" in message] == [
        Severity.QUESTION
    ]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("shop.py", PYTHON.format("    if now is None:\n        now = time.time()\n", "now")),
        ("shop.py", PYTHON.format("    now = now or time.time()\n", "now")),
        ("shop.ts", SCRIPT.format("const at = now ?? Date.now();\n  ", "at")),
        ("shop.ts", SCRIPT.format("", "now").replace(", now", ", now = Date.now()")),
        ("shop.py", "def ended(cookie):\n    return cookie.end <= time.time()\n"),
    ],
)
def test_a_clock_that_stands_in_for_the_time_is_fine(tmp_path, path, code):
    found = said(tmp_path, code, ASKS, path=path, prose=ENDED)
    assert [message for _, message in found if "clock" in message] == []


LAZY = "Add `parts(rows, size)`: it is lazy, nothing is read before the first part is asked for."
PARTS = "from shop import parts\n\n\ndef test_it():\n    assert list(parts([1], 1)) == [[1]]\n"


@pytest.mark.parametrize(
    ("body", "plan", "count"),
    [
        ("return iter([rows[at : at + size] for at in range(0, len(rows), size)])", LAZY, 1),
        ("return [rows[:size]]", LAZY, 1),
        ("return sorted(rows)", LAZY, 1),
        ("return (rows[at : at + size] for at in range(0, len(rows), size))", LAZY, 0),
        ("yield rows[:size]", LAZY, 0),
        ("return islice(rows, size)", LAZY, 0),
        ("return [rows[:size]]", "Add `parts(rows, size)`: parts of rows.", 0),
        ("return [rows[:size]]", "Add `parts(rows, size)`: it need not be lazy.", 0),
        ("return [rows[:size]]", "Add `parts(rows, size)`, by a random number generator.", 0),
    ],
)
def test_what_the_plan_calls_lazy_does_its_work_when_it_is_asked(tmp_path, body, plan, count):
    code = f"def parts(rows, size):\n    {body}\n"
    found = said(tmp_path, code, PARTS, prose=plan)
    assert len([1 for _, message in found if "lazy" in message]) == count


CENTER = "Add `center(text, width)`: {}."
NARROW = "from shop import center\n\n\ndef test_it():\n    assert center('{}', 5) == 'x'\n"


@pytest.mark.parametrize(
    ("plan", "given", "count"),
    [
        ("letters of any script count as one", "ab", 1),
        ("`\u00e9t\u00e9` in 5 letters has a space on both sides", "ab", 1),
        ("emoji count as two", "ab", 1),
        ("letters of any script count as one", "\u00e9", 0),
        ("letters of any script count as one", r"\u00e9", 0),
        ("an ellipsis (`\u2026`) counts as one", "ab", 0),
        ("only ASCII, and never unicode", "ab", 0),
        ("a text in the middle", "ab", 0),
    ],
)
def test_letters_beyond_ascii_that_the_plan_names_are_in_a_test(tmp_path, plan, given, count):
    code = "def center(text, width):\n    return text.center(width)\n"
    found = said(tmp_path, code, NARROW.format(given), prose=CENTER.format(plan))
    assert len([1 for _, message in found if "beyond ASCII" in message]) == count


STATUS = "Add `busy(answer)`: it says whether the attribute `status` of an answer is 503."
NAMED = STATUS.replace("busy", "if_status")
BUSY = 'def busy(answer):\n    """Whether `status` is so."""\n    return {}  # by its status\n'


@pytest.mark.parametrize(
    ("path", "code", "plan", "count"),
    [
        ("shop.py", BUSY.format("bool(answer.retryable)"), STATUS, 1),
        ("shop.py", BUSY.format("answer.retry").replace("busy", "if_status"), NAMED, 1),
        ("shop.py", BUSY.format("answer.status == 503"), STATUS, 0),
        ("shop.py", BUSY.format("getattr(answer, 'status', 0) == 503"), STATUS, 0),
        ("shop.py", BUSY.format("answer.get_status() == 503"), STATUS, 0),
        ("shop.py", BUSY.format("answer"), STATUS.replace("says", "no longer says"), 0),
        ("shop.py", BUSY.format("answer"), "Add `busy(answer)`; `status` is a property.", 0),
        ("shop.py", BUSY.format("answer"), "Add `idle(answer)`: the field `status` is 200.", 0),
        ("shop.ts", "export function busy(a) {\n  return !!a.retry; // status\n}\n", STATUS, 1),
        ("shop.ts", "export function busy(a) {\n  return a['status'] === 503;\n}\n", STATUS, 0),
        ("shop.go", "package a\n\nfunc busy(a A) bool {\n\treturn a.Status == 503\n}\n", STATUS, 0),
    ],
)
def test_an_attribute_that_the_plan_names_is_in_the_code(tmp_path, path, code, plan, count):
    asks = "from shop import busy\n\n\ndef test_it():\n    assert busy(a)\n"
    asks = asks.replace("busy", "if_status") if plan is NAMED else asks
    found = said(tmp_path, code, asks, path=path, prose=plan)
    assert len([1 for _, message in found if "`status`" in message]) == count
