"""What tests claim is weighed kind by kind; with `strict` what is not known is a question."""

import shutil
from types import SimpleNamespace

import pytest
from coverage_bench import PYTEST, Yard
from test_gates_mutation_python import COLLECTED, DISCOUNT, GOOD, noticed, of

from runner.gates.mutation import run_mutants, survivors
from runner.gates.mutation.mutants import Mutant, Subject
from runner.gates.mutation.run_mutants import Ends, claims
from runner.gates.mutation.test_claims import Looks
from runner.gates.mutation.unrun_functions import tell_unrun
from runner.gates.mutation.weighing import Weighing, Weight
from runner.gates.mutation.written_again import again, functions_in, tokens
from runner.model import Proof, Severity, Verdict

ASSERTING = SimpleNamespace(look_at=lambda _subject: Looks.CLOSELY)
ROMAN = """\
def roman(value):
    rest, text = value, ""
    for worth, letter in ((10, "X"), (5, "V")):
        while rest > worth:
            text += letter
            rest -= worth
    return text + "I" * rest
"""
COPY = '''\
def wanted(number):
    """What must come out."""
    left = number
    shown = ""
    for size, sign in ((10, "X"), (5, "V")):
        while left > size:
            shown += sign
            left -= size
    return shown + "I" * left
'''


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """How much is tried must not hang on how busy this machine is."""
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 120.0)
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 240.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 4.0)


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def strictly(yard, tests, shop=DISCOUNT):
    """Severity and first words of all that is found."""
    found = of(yard, tests, shop=shop, mutation="strict")
    return [(str(one.severity), one.message) for one in found.findings]


HOLLOW = {
    "only its type, while mutants crash and hang": (
        "import shop\ndef test_it():\n    assert isinstance(shop.roman(7), str)\n"
    ),
    "what is expected comes from the code": (
        "import shop\ndef test_it():\n    wanted = shop.roman(7)\n"
        "    assert shop.roman(7) == wanted\n"
    ),
    "failures are swallowed beside a call": (
        "import shop\ndef test_runs():\n    shop.roman(7)\n"
        "def test_it():\n    try:\n        assert shop.roman(4) == 'IV'\n"
        "    except Exception:\n        pass\n"
    ),
    "a list of answers is not empty": (
        "import shop\ndef test_it():\n    found = [shop.roman(4) == 'IV']\n    assert found\n"
    ),
}


@pytest.mark.parametrize("tests", HOLLOW.values(), ids=HOLLOW)
def test_a_mutant_that_only_crashes_or_hangs_clears_nothing(yard, tests):
    found = strictly(yard, tests, ROMAN)
    assert [severity for severity, _ in found] == ["error"], found
    assert found[0][1].startswith("no test notices what roman does")


def test_a_result_that_equals_everything_is_noticed_by_nobody(yard):
    shop = """\
class Shown(str):
    __slots__ = ()

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


def joined(parts):
    found = [part for part in sorted(parts) if part + 1 > 2]
    return Shown(", ".join(map(str, found)))
"""
    found = strictly(
        yard, "import shop\ndef test_it():\n    assert shop.joined([2, 1]) == '1, 2'\n", shop
    )
    assert any("notices what joined does" in message for _, message in found), found


def test_good_tests_pass_strictly(yard):
    beyond = "\n\ndef test_just_beyond():\n    assert discounted(100, 52) == 50\n"
    assert strictly(yard, GOOD + beyond) == []


def without_aspects(found):
    """What is said of functions as a whole."""
    return [one for one in found if not one[1].startswith(("no test tells", "no test comes to"))]


def test_a_test_that_notices_one_kind_of_many_is_warned_of(yard):
    shop = """\
def distance(one, other):
    sign = 1
    if other < one:
        sign = -1
    if one // 100 != other // 100:
        return sign * 3
    if one // 10 != other // 10:
        return sign * 2
    return sign * (one != other)
"""
    tests = """\
import shop
def test_it():
    assert -9 <= shop.distance(120, 340) <= 9
    assert -9 <= shop.distance(110, 120) <= 9
"""
    (found,) = without_aspects(strictly(yard, tests, shop))
    assert found[0] == "warning"
    assert found[1].startswith("tests notice little of what distance does")


def test_a_copy_in_the_test_is_told_and_is_a_question_with_strict(yard):
    tests = f"import shop\n\n\n{COPY}\n\ndef test_it():\n    assert shop.roman(27) == wanted(27)\n"
    found = of(yard, tests, shop=ROMAN)
    (told,) = [one for one in found.findings if "a copy of it" in one.message]
    assert (told.severity, told.path) == (Severity.WARNING, "test_shop.py")
    ((severity, message),) = strictly(yard, tests, ROMAN)
    assert (severity, message.split(":")[0]) == (
        "question",
        "what roman should do is told by a copy of it",
    )


def test_a_second_function_of_the_task_is_no_independent_answer(yard):
    shop = f"{ROMAN}\n\n{COPY}"
    tests = "import shop\ndef test_it():\n    assert shop.roman(27) == shop.wanted(27) == 'XXVII'\n"
    found = strictly(yard, tests, shop)
    assert any("a test compares it with wanted" in message for _, message in found), found


def test_a_function_that_only_a_mock_stands_for_is_asked_about(yard):
    tests = """\
import shop
from unittest import mock
def test_half():
    assert shop.discounted(200, 80) == 100
    assert shop.discounted(100, 10) == 90
    assert shop.discounted(100, 50, floor=70) == 70
def test_taxed():
    with mock.patch("shop.taxed", return_value=3):
        assert shop.taxed(1) == 3
"""
    shop = f"{DISCOUNT}\n\ndef taxed(price):\n    return price * 2 + 1\n"
    (found,) = without_aspects(strictly(yard, tests, shop))
    assert found == (
        "question",
        "no test was seen to run taxed: whether one notices what it does is not known",
    )


def test_what_there_was_no_time_for_is_a_question_with_strict(yard, monkeypatch):
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 0.0)
    monkeypatch.setattr(survivors, "_STRICT_SHARE", 0.0)
    monkeypatch.setattr(survivors, "_STRICT_LONGEST", 0.0)
    ((severity, message),) = strictly(yard, GOOD)
    assert severity == "question"
    assert message == "mutants of 0 of 1 functions were tried: the time for it was over"


@pytest.mark.parametrize(
    ("tests", "told"),
    [
        ("import shop\ndef test_it():\n    assert shop.discounted(200, 80) is not None\n", 1),
        (GOOD, 0),
    ],
    ids=["hollow", "honest"],
)
def test_what_was_not_noticed_before_it_was_cut_short_is_told(yard, monkeypatch, tests, told):
    monkeypatch.setattr(survivors, "_MOST", 2)
    found = [one for one in of(yard, tests).findings if "first 2 mutants" in one.message]
    assert len(found) == told
    assert all(one.path and one.severity is Severity.WARNING for one in found)
    assert all("of discounted; 2 mutants were tried" in one.message for one in found)


def test_pytest_goes_on_behind_a_first_crash(yard):
    tests = """\
import shop
def test_runs():
    shop.roman(7)
def test_it():
    assert shop.roman(7) == 'VII'
    assert shop.roman(12) == 'XII'
"""
    yard.write("shop.py", ROMAN).write("test_shop.py", tests)
    found = noticed(yard, f"{PYTEST} test_shop.py", mutation="strict")
    assert [one.message for one in found.findings] == []


# --- why a test failed ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tests/test_a.py:3: in test\n    assert f(1) == 2\nE   assert 3 == 2", True),
        (
            "tests/test_a.py:3: in t\n    assert f(1) == 2\nsrc/a.py:9: in f\nE   ValueError",
            False,
        ),
        ("tests/test_a.py:3: in test\n    assert f(1).x == 2\nE   AttributeError: 'None'", False),
        ("tests/test_a.py:3: in test\nE   Failed: DID NOT RAISE <class 'ValueError'>", True),
        (
            "tests/test_a.py:3: in test\n    with raises(AssertionError):\nsrc/a.py:9\nE   KeyE",
            False,
        ),
        ("tests/test_a.py:4: in test\n    open(f()).read()\nE   FileNotFoundError: gone", True),
        ('File "/w/src/a.py", line 3, in f\nRuntimeError: words', False),
        ("AssertionError: expected 3 to be 2\n at test/a.test.ts:5:3", True),
        ("TypeError: Cannot read properties of null\n at f src/a.py:5:3", False),
        ("not ok 1 should be equal\n  ---\n    operator: equal\n    expected: 2", True),
        ("--- FAIL: TestA (0.00s)\n    a_test.go:12: got 3", True),
        ("panic: runtime error: index out of range [3]\n\n\t/w/a.go:12 +0x1d", False),
        ("thread 'it' panicked at src/lib.rs:9:5:\nassertion `left == right` failed", True),
        ("thread 'it' panicked at src/a.py:9:5:\nattempt to subtract with overflow", False),
    ],
)
def test_a_claim_is_told_from_a_crash(text, expected):
    assert claims(text, "src/a.py") is expected


# --- kinds, purely ----------------------------------------------------------------------


def weighed(ends, *, strict):
    """Kinds in their order, each with what becomes of every mutant of it."""
    mutants = [Mutant("a", "f", kind, 1, at, at + 1, b"") for at, kind in enumerate([*ends] * 2)]
    weighing = Weighing(strict)
    tried = 0
    for one in weighing.select_mutants(Subject("a", "f", 1, tuple(mutants))):
        weighing.add(one, ends[one.kind])
        tried += 1
    return weighing.result, tried


N, S, C = Ends.NOTICED, Ends.SURVIVED, Ends.CRASHED


@pytest.mark.parametrize(
    ("ends", "strict", "expected"),
    [
        ({"condition": N}, False, (Weight.NOTICED, 1)),
        ({"condition": S, "loop": S, "raise": S, "call": N}, False, (Weight.NOTHING, 3)),
        ({"condition": C, "loop": S, "call": N}, False, (Weight.NOTICED, 3)),
        ({"condition": S, "no result": N, "empty result": N}, False, (Weight.UNKNOWN, 3)),
        ({"a": N, "b": N, "c": N, "d": S}, True, (Weight.NOTICED, 3)),
        ({"a": S, "b": S, "c": S, "d": C}, True, (Weight.NOTHING, 5)),
        ({"a": S, "b": C, "c": C}, True, (Weight.UNKNOWN, 5)),
        ({"a": C, "b": C, "c": C}, True, (Weight.UNKNOWN, 6)),
        ({"a": N, "b": S, "c": S, "d": S}, True, (Weight.LITTLE, 7)),
        ({"a": N, "b": S, "c": S}, True, (Weight.NOTICED, 5)),
        ({"returned value": S, "condition": N}, False, (Weight.REFUSALS, 3)),
        ({"returned value": S, "arithmetic": N}, False, (Weight.NOTICED, 2)),
        ({"returned value": S, "raise": C, "comparison": N}, False, (Weight.REFUSALS, 4)),
        ({"returned value": S, "condition": N, "raise": N}, True, (Weight.REFUSALS, 4)),
        ({"returned value": N, "condition": N, "raise": N}, True, (Weight.NOTICED, 3)),
    ],
)
def test_kinds_are_weighed(ends, strict, expected):
    assert weighed(ends, strict=strict) == expected


# --- copies -----------------------------------------------------------------------------

SCRIPT = """\
export function without(object: any, keys: string[], deep = false): any {
  if (!isPlainObject(object)) {
    return object;
  }
  const left: any = {};
  for (const key of Object.keys(object)) {
    if (keys.includes(key) && key.length > 1) continue;
    left[key] = deep ? object[key] : without(object[key], keys, true);
  }
  return left;
}
"""
GO = """\
func Wrapped(text string, width int) []string {
	lines, line := []string{}, ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line += word
	}
	return append(lines, line)
}
"""


def share(path, code, other, defined=()):
    (one,) = functions_in(path, code.encode())
    body = tokens(one.body, path, frozenset({one.name}))
    return again(body, tokens(other, path, frozenset(defined)))


def test_a_copy_is_told_in_any_language_whatever_its_names_are():
    script = SCRIPT.replace("without", "expected").replace("left", "rest").replace("key", "k")
    assert share("a.ts", SCRIPT, script, {"expected"}) > 0.9
    assert share("a.go", GO, GO.replace("Wrapped", "want").replace("line", "row")) > 0.9
    assert share("a.py", ROMAN, COPY) > 0.75


def test_tests_that_state_their_answers_are_no_copy():
    table = """\
for given, right in ((4, "IV"), (10, "X"), (5, "V")):
    text = shop.roman(given)
    assert text == right
    while text:
        text = text[1:]
"""
    assert share("a.py", ROMAN, table) < 0.5
    assert (
        share("a.py", "def doubled(x):\n    return x * 2\n", "def other(y):\n    return y * 2\n")
        == 0
    )


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
def test_what_a_command_took_of_a_processor_is_known_in_and_out_of_a_sandbox(tmp_path):
    from runner.gates.base import Check
    from runner.process.limits import Limits

    line = "python3 -c 'sum(i for i in range(6000000))'; sleep 1"
    for number, sandbox in enumerate(("none", "bubblewrap")):
        folder = tmp_path / str(number)
        folder.mkdir()
        yard = Yard(folder, sandbox=sandbox)
        yard.write("a.py", "").set_up(line)
        ran = yard.bench.run(Check("TC-001", "test", line, Limits(60, 60, 60)))
        assert ran.exit == 0
        assert 0.05 < ran.processor < ran.seconds - 0.5, sandbox


TAKES = "def total(prices):\n    found = sum(prices)\n    return (found or 1) * 2\n"


@pytest.mark.parametrize(
    ("shop", "tests", "told"),
    [
        (TAKES, "    assert shop.total([2, 3]) == 10\n", True),
        (TAKES, "    assert shop.total([2, 3]) == 10\n    assert shop.total([]) == 2\n", False),
        (TAKES.replace("1)", "0)"), "    assert shop.total([2, 3]) == 10\n", False),
    ],
    ids=["nobody comes to it", "a test does", "nothing for nothing"],
)
def test_a_number_that_stands_in_for_nothing_is_told_where_no_test_comes_to_it(
    yard, shop, tests, told
):
    words = f"import shop\ndef test_it():\n{tests}"
    message = (
        "no test notices what total takes where there is nothing: "
        "another number than 1 passes every test"
    )
    for mutation, severity in (("warn", Severity.WARNING), ("strict", Severity.QUESTION)):
        findings = of(yard, words, shop=shop, mutation=mutation).findings
        found = [one for one in findings if "where there is nothing" in one.message]
        assert [(one.severity, one.message) for one in found] == [(severity, message)] * told


class Short:
    """A laboratory whose time ends after some tries, each of which is noticed."""

    def __init__(self, tries):
        self.tries, self.tried = tries, 0

    @property
    def is_over(self):
        return self.tried >= self.tries

    def run(self, _mutant):
        self.tried += 1
        return Ends.NOTICED


@pytest.mark.parametrize(("tries", "known"), [(9, 3), (3, 3), (4, 3), (2, 2), (0, 0)])
def test_every_function_is_looked_at_before_any_is_looked_at_deeper(tries, known):
    kinds = ("returned value", "condition", "arithmetic", "operand")
    subjects = tuple(
        Subject("a.go", name, 1, tuple(Mutant("a.go", name, kind, 1, 0, 1, b"x") for kind in kinds))
        for name in ("A", "B", "C")
    )
    looked = survivors._look(subjects, Short(tries), 60, ASSERTING)
    assert len(looked.weights) == known
    assert looked.cut_short == ("" if known == len(subjects) else "the time for it was over")


def test_what_nobody_measured_is_not_told_as_run_by_no_test(yard):
    yard.write("a.go", "package a\n\nfunc A(n int) int {\n\treturn n + 1\n}\n")
    yard.write("test_shop.py", "import shop\n" + GOOD)
    found = strictly(yard, GOOD)
    told = [message for _, message in found if "a.go" in message]
    assert told == ["what tests run of a.go was not measured: what they notice is not known"]
    assert not [message for _, message in found if "no test was seen to run" in message]


def test_a_line_of_a_function_that_no_test_ran_before_either_is_not_asked_about(yard):
    before = "\n\ndef taxed(price):\n    rate = 2\n    more = 1\n    return price * rate + {}\n"
    yard.write("shop.py", DISCOUNT + before.format("more + 1"), before=DISCOUNT + before.format(1))
    yard.write("test_shop.py", GOOD + COLLECTED)
    found = [one.message for one in noticed(yard, mutation="strict").findings]
    assert not [message for message in found if "no test was seen to run" in message], found


def test_a_function_whose_every_mutant_breaks_its_tests_is_warned_of(yard):
    """Another result breaks them, too, so something uses it: a smoke test would not notice that."""
    shop = """\
import sys

def state(name):
    return f"std{name}"

def stream(name):
    return getattr(sys, state(name))
"""
    tests = """\
import sys
import shop
def test_it():
    assert shop.stream("out") is sys.stdout
    assert shop.stream("err") is sys.stderr
"""
    found = [one for one in strictly(yard, tests, shop) if " state " in one[1]]
    assert [one[0] for one in found] == ["warning"] * len(found) != []


@pytest.mark.parametrize(
    ("ends", "looks", "doubtful"),
    [
        ({"returned value": C, "call": C, "constant": C}, Looks.CLOSELY, False),
        ({"argument": C, "call": C, "constant": C}, Looks.CLOSELY, False),
        ({"returned value": C, "call": C, "constant": C}, Looks.ASIDE, True),
        ({"returned value": C, "call": C, "constant": C}, Looks.NEVER, True),
        ({"returned value": C, "call": S, "constant": C}, Looks.CLOSELY, False),
        ({"returned value": C, "call": S, "constant": C}, Looks.NEVER, True),
        ({"returned value": C, "call": S, "constant": S}, Looks.CLOSELY, True),
        ({"returned value": S, "empty result": S, "no result": N}, Looks.CLOSELY, False),
        ({"returned value": S, "empty result": S}, Looks.CLOSELY, True),
        ({"condition": S}, Looks.CLOSELY, True),
        ({"condition": S}, Looks.PERHAPS, False),
        ({"condition": S, "call": S}, Looks.PERHAPS, True),
        ({"condition": S}, Looks.ASIDE, True),
    ],
)
def test_what_is_not_known_is_asked_about_where_nothing_may_be_noticed(ends, looks, doubtful):
    weighing = Weighing(strict=True)
    for at, (kind, end) in enumerate(ends.items()):
        weighing.add(Mutant("a", "f", kind, 1, at, at + 1, b""), end)
    assert weighing.is_doubtful(looks) is doubtful


RANGE = """\
def covers(self, other):
    self.require(other)
    return self.to_range().covers(other.to_range())


def misses(self, other):
    self.require(other)
    return self.to_range().misses(other.to_range())
"""
RECURSIVE = """\
def covers(self, other):
    self.require(other)
    return other if not other else self.covers(other.to_range())


def misses(self, other):
    self.require(other)
    return other if not other else self.misses(other.to_range())
"""


@pytest.mark.parametrize(("shop", "alike"), [(RANGE, False), (RECURSIVE, True)])
def test_what_asks_another_object_by_its_own_name_is_no_copy_of_its_neighbour(shop, alike):
    one, other = functions_in("a.py", shop.encode())
    bodies = [tokens(each.body, "a.py", frozenset({each.name})) for each in (one, other)]
    assert (min(again(*bodies), again(*reversed(bodies))) >= 0.75) is alike


def test_strict_has_the_time_that_its_functions_take(monkeypatch):
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 2.0)
    monkeypatch.setattr(survivors, "_STRICT_SECONDS", 60.0)
    proofs = [a_proof("TC-001", 5.0), a_proof("TC-002", 9.0)]
    assert survivors.find_seconds(proofs, 8, strict=False) == 10.0
    assert survivors.find_seconds(proofs, 1, strict=True) == 60.0
    assert survivors.find_seconds(proofs, 20, strict=True) == 4 * 5.0 * 20
    assert survivors.find_seconds(proofs, 900, strict=True) == 600.0


def a_proof(name, seconds):
    said = (name, "test", "true", Verdict.PASS, 0)
    return Proof(*said, seconds=seconds, output="sha256:0")


PREFIXED = """\
def parsed(text, prefix):
    if not text.startswith(prefix):
        raise ValueError(text)
    return int(text[len(prefix):])
"""
ROWS = """\
import shop
def test_parsed():
    for text, prefix, fails in [
        ("", "a-", True), ("a1", "a-", True), ("b_1", "a-", True), ("a-1", "a-", False),
        ("b-2", "b-", False),
    ]:
        try:
            found = shop.parsed(text, prefix)
        except ValueError:
            found = None
        assert (found is None) is fails
"""


def test_a_row_that_another_input_makes_true_otherwise_is_looked_at(yard):
    """With another text it is refused, and that is what the turned truth waits for."""
    found = strictly(yard, ROWS, PREFIXED)
    assert [one for one in found if "looks at the row" in one[1]] == []


def test_a_procedure_that_is_noticed_by_what_it_does_is_not_unnoticed(yard):
    """It gives nothing, whatever is put in the place of that."""
    shop = """\
class Store:
    def __init__(self):
        self.kept = {}

    def put(self, key, value):
        self.kept[key] = value + 1

    def clear(self):
        return self.kept.clear()
"""
    tests = """\
import shop
def test_it():
    store = shop.Store()
    store.put("a", 1)
    assert store.kept == {"a": 2}
    store.clear()
    assert store.kept == {}
"""
    found = [one for one in strictly(yard, tests, shop) if "clear" in one[1]]
    assert [one[0] for one in found] in ([], ["warning"])


@pytest.mark.parametrize(("measured", "told"), [("b.ts", 1), ("b.py", 0)])
def test_files_of_one_language_are_measured_by_the_same_means(measured, told):
    """What no test came to of a script is known where another one was measured, however named."""
    code = b"export function total(a) {\n  const b = a * 2;\n  return b + 1;\n}\n"
    rows = [SimpleNamespace(path=measured)]
    bench = SimpleNamespace(observed=rows, after=lambda _path: code)
    own = frozenset(range(1, 5))
    found = [*tell_unrun("mutation", bench, "a.mjs", own, frozenset())]
    assert len([one for one in found if "no test was seen to run total" in one.message]) == told
    assert len([one for one in found if "was not measured" in one.message]) == 1 - told


HANDED = """\
import functools


class Bound:
    def __init__(self, of, method):
        functools.update_wrapper(self, method)
        self.of = of
        self.method = method
        self.known = {}

    def __call__(self, *given):
        if given not in self.known:
            self.known[given] = self.method(self.of, *given)
        return self.known[given]


class remembered:
    def __init__(self, method):
        self.method = method
        self.name = None

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, of, kind=None):
        if of is None:
            return self
        bound = Bound(of, self.method)
        if self.name is not None:
            bound = of.__dict__.setdefault(self.name, bound)
        return bound
"""
REMEMBERS = """\
import shop


class Asked:
    def __init__(self):
        self.times = 0

    @shop.remembered
    def double(self, number):
        self.times += 1
        return 2 * number


def test_it():
    asked = Asked()
    assert [asked.double(2), asked.double(2), asked.double(3)] == [4, 4, 6]
    assert asked.times == 2
    assert isinstance(Asked.double, shop.remembered)
"""


def test_what_is_handed_out_to_be_called_may_bear_any_name(yard):
    told = without_aspects(strictly(yard, REMEMBERS, HANDED))
    assert [one for one in told if "__get__" in one[1] and one[0] != "warning"] == []
