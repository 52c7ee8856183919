"""Characters and defaults that a plan names, and that no test gives, are told."""

import pytest
from test_gates_plan_examples import said

from runner.model import Severity

GO = "package a\n\nfunc Quote(word string) string {\n\treturn strconv.Quote(word)\n}\n"
PLAN = "Add `Quote`: a backslash before each dollar sign, backquote, double quote and backslash."
TEST = 'package a\n\nfunc TestQuote(t *testing.T) {\n\tcheck(Quote("{}"), `x`)\n}\n'


def test_listed_characters_of_which_tests_give_some_are_told(tmp_path):
    tests = TEST.replace("{}", r"a \" \\")
    ((severity, message),) = said(tmp_path, GO, tests, path="a.go", prose=PLAN)
    assert severity is Severity.QUESTION
    assert message == "the plan names characters that no test gives: dollar sign, backquote"
    ((severity, _),) = said(tmp_path, GO, tests, path="a.go", prose=PLAN, mutation="warn")
    assert severity is Severity.WARNING


@pytest.mark.parametrize(
    ("given", "plan"),
    [
        (r"$ ` \" \\", PLAN),
        (r"\x24 \u0060 \" \\", PLAN),
        ("a b", PLAN),
        (r"a \" \\", PLAN.replace("before each", "never before a")),
        (r"a \" \\", "Add `Quote`: words with a backslash."),
        ("a,b", "Add `Quote`: parts are joined by `,`."),
    ],
    ids=["each", "escaped", "none of them", "that is not there", "one", "shown"],
)
def test_other_words_of_characters_are_left_alone(tmp_path, given, plan):
    assert said(tmp_path, GO, TEST.replace("{}", given), path="a.go", prose=plan) == []


def test_characters_in_backticks_count_too(tmp_path):
    plan = "Add `Quote`: escapes `$`, `%` and `~`."
    ((_, message),) = said(tmp_path, GO, TEST.replace("{}", "$x%"), path="a.go", prose=plan)
    assert message.endswith(": `~`")


LOOKUP = (
    "def lookup(doc, path, default=None):\n    if path in doc:\n        return doc[path]\n"
    "    if default is None:\n        raise KeyError(path)\n    return default\n"
)
DEFAULT = "Add `lookup(doc, path, default)`: the value, or else the default."
ASKS = "def test_it():\n    assert lookup({}, 'a', default=7) == 7\n"


def test_a_default_of_none_that_counts_as_none_is_told(tmp_path):
    ((severity, message),) = said(tmp_path, LOOKUP, ASKS, prose=DEFAULT)
    assert severity is Severity.QUESTION
    assert message == "no test gives lookup a default of None: it counts as none"


@pytest.mark.parametrize(
    ("code", "tests", "plan"),
    [
        (LOOKUP, ASKS.replace("7)", "None)"), DEFAULT),
        (LOOKUP, ASKS.replace("default=7", "None"), DEFAULT),
        (LOOKUP, ASKS.replace("default=7", "**more"), DEFAULT),
        (LOOKUP, ASKS.replace("default=7", "default=x"), DEFAULT),
        (LOOKUP, ASKS, "Add `lookup(doc, path)`."),
        (LOOKUP.replace("raise KeyError(path)", "default = []"), ASKS, DEFAULT),
        (LOOKUP.replace("=None", "=MISSING").replace("is None", "is MISSING"), ASKS, DEFAULT),
    ],
    ids=["by name", "by place", "unseen", "a name", "unnamed", "an empty one", "a mark of its own"],
)
def test_other_defaults_are_left_alone(tmp_path, code, tests, plan):
    assert said(tmp_path, code, tests, prose=plan) == []
