"""Examples of the plan that the code does not satisfy are told, and none that may mean more."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import run_examples
from runner.gates.example_texts import examples_of
from runner.model import Action, Change, Level, Severity, TestContract, digest_of

WRONG = "def slug(text, join='-'):\n    return join.join(text.upper().split())\n"
RIGHT = WRONG.replace("upper", "lower")
SCRIPT = "export function slug(text) {\n  return text.toUpperCase().split(' ').join('-');\n}\n"

SEEN = {
    "an equality": "`slug('a b') == 'a-b'`",
    "an equality in words": "`slug('a b')` is `'a-b'`",
    "returns": "`slug('a b')` returns `'a-b'`",
    "gives back": "`slug('a b')` gives back `'a-b'`.",
    "must be": "`slug('a b')` must be `'a-b'`",
    "should return": "`slug('a b')` should return `'a-b'`, not `'A-B'`",
    "an arrow": "`slug('a b')` → `'a-b'`",
    "an arrow in code": "`slug('a b') -> 'a-b'`",
    "a fat arrow": "`slug('a b') => 'a-b'`",
    "a plain value": "`slug('a b')` is 'a-b'.",
    "without marks": "slug('a b') == 'a-b'",
    "a box": "[ ] `slug('a b')` equals `'a-b'`",
    "a label": "Words are joined: `slug('a b')` is `'a-b'`",
    "an example": "For example: `slug('a b')` is `'a-b'`",
    "two": "`slug('')` is `''`, and `slug('a b')` is `'a-b'`",
    "by name": "`slug('a b', join='_')` is `'a_b'`",
    "a doctest": "`>>> slug('a b')` gives `'a-b'`",
    "a sentence before": "Dashes join words. `slug('a b')` is `'a-b'`.",
}
TABLE = "| call | result |\n|---|---|\n| `slug('a b')` | `'a-b'` |\n"
SEEN_IN_PROSE = {
    "a table": TABLE,
    "a doctest": "It joins.\n\n>>> slug('a b')\n'a-b'\n",
    "a table of values": TABLE.replace("result", "must be").replace("`'a-b'`", "'a-b'"),
}
UNSEEN = {
    "when": "When it is strict, `slug('a b')` is `'a-b'`",
    "with": "With dashes on, `slug('a b')` is `'a-b'`",
    "after": "`slug('a b')` is `'a-b'` after `configure('dash')`",
    "a sentence of a world": "The mode is old. `slug('a b')` is `'a-b'`.",
    "today": "Today: `slug('a b')` is `'a-b'`",
    "not": "`slug('a b')` is not `'a-b'`",
    "never": "`slug('a b')` never returns `'a-b'`",
    "was": "`slug('a b')` was `'a-b'`",
    "a name": "`slug(title)` is `'a-b'`",
    "a name as the value": "`slug('a b')` is `dashed`",
    "about": "`slug('a b')` is about `3`",
    "like": "`slug('a b')` is like `'a-b'`",
    "a call in it": "`slug(str(3))` is `'a-b'`",
    "of an object": "`page.slug('a b')` is `'a-b'`",
    "printed": "`slug('a b')` prints `'a-b'`",
    "a condition behind": "`slug('a b')` is `'a-b'` if dashes are on",
    "in brackets": "`slug('a b')` is `'a-b'` (with dashes)",
    "words": "slug('a b') returns 'a-b' for old titles",
    "a length": "`len(slug('a b'))` is `3`",
    "more code": "`slug('a b') == 'a-b' or slug('a') == 'a'`",
    "one of two": "`slug('a b')` is `'a-b'` or `'a_b'`",
}
CONTRADICTION = ("`slug('a b')` is `'a-b'`", "`slug('a b')` is `'a_b'`")


def told(folder, code, acceptance=(), *, prose="", path="shop.py", **more):
    task = replace(
        a_task(outputs=("any",), acceptance=tuple(acceptance), prose=prose),
        test_contracts=(TestContract("TC-001", Level.UNIT, "pytest"),),
        type=more.pop("type", "feature"),
    )
    bench = a_bench(folder)
    file = bench.place.tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    content = code.encode()
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    bench = replace(bench, task=task, changes=(change,), **more)
    found = ()
    for check in run_examples.checks(task, bench.settings):
        found = run_examples.prove(check, bench).findings
    return [(one.severity, one.message) for one in found]


@pytest.mark.parametrize("line", SEEN.values(), ids=SEEN)
def test_an_example_that_does_not_hold_is_told(tmp_path, line):
    ((severity, message),) = told(tmp_path, WRONG, [line])
    assert severity is Severity.ERROR
    assert message.startswith("the plan says that `slug('a b'")
    assert message.endswith((": it gives 'A-B'", ": it gives 'A_B'"))


@pytest.mark.parametrize("line", SEEN.values(), ids=SEEN)
def test_an_example_that_holds_says_nothing(tmp_path, line):
    assert told(tmp_path, RIGHT, [line]) == []


@pytest.mark.parametrize("prose", SEEN_IN_PROSE.values(), ids=SEEN_IN_PROSE)
def test_tables_and_doctests_are_read_where_they_say_what_must_be(tmp_path, prose):
    ((_, message),) = told(tmp_path, WRONG, prose=prose)
    assert message == "the plan says that `slug('a b')` must be `'a-b'`: it gives 'A-B'"
    assert told(tmp_path, WRONG, prose=prose, type="bugfix") == []
    assert told(tmp_path, WRONG, prose=f"This is so today:\n\n{prose}") == []


@pytest.mark.parametrize("line", UNSEEN.values(), ids=UNSEEN)
def test_what_may_be_meant_otherwise_is_not_run(tmp_path, line):
    task = replace(a_task(acceptance=(line,)), type="feature")
    assert examples_of(task) == ()
    assert told(tmp_path, WRONG, [line]) == []


LOOSELY = {
    "without quotes": (["`slug('a b')` is `a-b`"], ""),
    "in a sentence": ([], "It joins words by a dash, in lower case. `slug('a b')` is `'a-b'`."),
    "both": ([], "Words by a dash, none at the ends.\n\n`slug('a b')` is `a-b`."),
    "behind a colon": ([], "Joins all words of a title with a dash: `slug('a b')` is `a-b`."),
    "in a list": ([], "Joins the words:\n\n- `slug('a b')` gives `a-b`\n- other cases"),
}


@pytest.mark.parametrize(("lines", "prose"), LOOSELY.values(), ids=LOOSELY)
def test_an_example_that_is_written_loosely_asks(tmp_path, lines, prose):
    ((severity, message),) = told(tmp_path, WRONG, lines, prose=prose)
    assert severity is Severity.QUESTION
    assert message.endswith(": it gives 'A-B'")
    assert told(tmp_path, RIGHT, lines, prose=prose) == []


@pytest.mark.parametrize(
    "prose",
    [
        "When titles are old, dashes are kept. `slug('a b')` is `a-b`.",
        "The mode of the site is `dash`. `slug('a b')` is `a-b`.",
        "With dashes on, `slug('a b')` is `a-b`.",
        "`slug('a b')` is `dashed`.",
        "`slug('a b')` is `a-b` if dashes are on.",
    ],
)
def test_a_sentence_of_another_world_or_another_word_says_nothing(tmp_path, prose):
    assert told(tmp_path, WRONG, prose=prose) == []


def test_what_gives_no_text_is_no_text_that_is_written_loosely(tmp_path):
    listed = "def slug(text, join='-'):\n    return text.split()\n"
    assert told(tmp_path, listed, ["`slug('a b')` is `a, b`"]) == []


def test_a_text_that_contradicts_itself_says_nothing(tmp_path):
    assert told(tmp_path, WRONG, CONTRADICTION) == []


UNSURE = {
    "a clock": "import time\n" + WRONG.replace("return", "time.time()\n    return"),
    "a clock by another name": (
        "import time as t\n\n\ndef now():\n    return t.ctime()\n\n\n"
        + WRONG.replace("return", "now()\n    return")
    ),
    "chance": WRONG.replace("return", "import random\n    return"),
    "what was kept": "SEEN = []\n" + WRONG.replace("return", "SEEN.append(1)\n    return"),
    "an environment": "import os\nJOIN = os.environ.get('JOIN')\n" + WRONG.replace("'-'", "JOIN"),
    "what is not there": "import a_package_that_nobody_has\n" + WRONG,
    "a decorator": "def spoken(call):\n    return call\n\n\n@spoken\n" + WRONG,
    "a coroutine": "async " + WRONG,
    "an object": "class Slug:\n    pass\n\n\ndef slug(text, join='-'):\n    return Slug()\n",
    "a text by another class": (
        "class Slug:\n    def __str__(self):\n        return 'a-b'\n\n\n"
        "def slug(text, join='-'):\n    return Slug()\n"
    ),
    "a tuple for a list": "def slug(text, join='-'):\n    return 'a-b'\n",
    "an error of a machine": "def slug(text, join='-'):\n    raise OSError(2, 'no such file')\n",
    "another's function": "def other(text):\n    return text\n",
    "it never ends": "def slug(text, join='-'):\n    while True:\n        pass\n",
}


@pytest.mark.parametrize("code", UNSURE.values(), ids=UNSURE)
def test_what_is_not_sure_says_nothing(tmp_path, code, monkeypatch):
    monkeypatch.setattr(run_examples, "_SECONDS", 3.0)
    assert told(tmp_path, code, [SEEN["returns"]]) == []


LENIENT = {
    "a tuple for a list": ("    return (1, 2)\n", "`f(1)` is `[1, 2]`"),
    "digits": ("    return 2 / 3\n", "`f(1)` is `0.67`"),
    "a whole number": ("    return 2.0\n", "`f(1)` is `2`"),
    "a generator": ("    yield 1\n", "`f(1)` is `[1]`"),
    "a set": ("    return {1, 2}\n", "`f(1)` is `[2, 1]`"),
    "the error that is named": ("    raise KeyError(1)\n", "`f(1)` raises `LookupError`"),
    "another error": ("    raise RuntimeError\n", "`f(1)` raises `ValueError`"),
}


@pytest.mark.parametrize(("body", "line"), LENIENT.values(), ids=LENIENT)
def test_what_a_reader_would_call_the_same_is_the_same(tmp_path, body, line):
    assert told(tmp_path, f"def f(n):\n{body}", [line]) == []


FAILS = {
    "nothing": ("    pass\n", "`f(1)` is `2`", "it gives None"),
    "an error of its own": ("    return n['x']\n", "`f(1)` is `2`", "it raises TypeError: "),
    "no error": ("    return n\n", "`f(1)` raises `ValueError`", "it gives 1"),
    "no error at all": ("    return n\n", "`f(1)` must raise a `ValueError`", "it gives 1"),
    "no error, in words": ("    return n\n", "`f(-1)` raises ValueError.", "it gives -1"),
    "it is one": ("    return n\n", "`f(-1)` is a ValueError", "it gives -1"),
    "another of its own": (
        "    return {}[n]\n",
        "`f(1)` raises ValueError",
        "it raises KeyError: 1",
    ),
    "a truth": ("    return 'no'\n", "`f(1)` is `True`", "it gives 'no'"),
    "an order": ("    return [2, 1]\n", "`f(1)` is `[1, 2]`", "it gives [2, 1]"),
}


@pytest.mark.parametrize(("body", "line", "said"), FAILS.values(), ids=FAILS)
def test_what_comes_out_is_shown(tmp_path, body, line, said):
    ((_, message),) = told(tmp_path, f"def f(n):\n{body}", [line])
    assert said in message


def test_a_person_is_only_warned(tmp_path):
    ((severity, _),) = told(tmp_path, WRONG, [SEEN["returns"]], by_person=True)
    assert severity is Severity.WARNING


def test_a_module_of_a_package_is_imported_as_its_own_tests_do(tmp_path):
    package = tmp_path / "tree" / "src" / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("def joined(words):\n    return '-'.join(words)\n")
    code = "from .words import joined\n\n\ndef slug(text):\n    return joined(text.split())[1:]\n"

    def before(path):
        file = tmp_path / "tree" / path
        return file.read_bytes() if file.exists() else None

    line = SEEN["returns"]
    ((_, message),) = told(tmp_path, code, [line], path="src/shop/slugs.py", before=before)
    assert message.endswith("it gives '-b'")


def test_what_the_rest_of_a_file_reads_is_none_of_a_function(tmp_path):
    code = f"import time\n\nSEEN = []\n\n\ndef other():\n    return time.time()\n\n\n{WRONG}"
    ((_, message),) = told(tmp_path, code, [SEEN["returns"]])
    assert message.endswith("it gives 'A-B'")


def test_calls_do_not_see_each_other(tmp_path):
    code = "def slug(text, seen={}):\n    seen[text] = 1\n    return len(seen)\n"
    assert told(tmp_path, code, ["`slug('a')` is `1`", "`slug('b')` is `1`"]) == []


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        (SCRIPT, "`slug('a b')` returns `'a-b'`", ["it gives 'A-B'"]),
        (SCRIPT, "`slug('a b') === 'a-b'`", ["it gives 'A-B'"]),
        (SCRIPT.replace("Upper", "Lower"), "`slug('a b')` returns `'a-b'`", []),
        (SCRIPT, "`slug(null)` is `'a'`", ["it throws TypeError"]),
        (SCRIPT, "`slug('a b')` is `None`", []),
        (SCRIPT, "`slug('a')` throws RangeError", ["it gives 'A'"]),
        (SCRIPT, "`slug('a')` throws a `TypeError`", ["it gives 'A'"]),
        (SCRIPT, "`slug(null)` throws a `TypeError`", []),
        (SCRIPT, "`slug(null)` throws a `RangeError`", ["it throws TypeError"]),
        (SCRIPT, "`slug(null)` throws an `Error`", []),
        (SCRIPT, "`slug(null)` throws a `SlugError`", []),
        ("let mode = 1;\n" + SCRIPT, "`slug('a b')` is `'a-b'`", []),
        ("import 'nobody-has-this';\n" + SCRIPT, "`slug('a b')` is `'a-b'`", []),
        (SCRIPT.replace("return text", "return new URL(text)"), "`slug('a b')` is `'a-b'`", []),
    ],
)
def test_scripts_are_asked_too(tmp_path, code, line, said):
    found = [message for _, message in told(tmp_path, code, [line], path="shop.mjs")]
    assert len(found) == len(said)
    assert all(one in message for one, message in zip(said, found, strict=True))
