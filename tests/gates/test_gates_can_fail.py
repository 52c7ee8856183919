"""A proof must be able to fail: stub first, small changes, red first, and what is unproven."""

import sys

import pytest
from gates_bench import a_check, a_story, a_task, own_check
from msgspec.structs import replace
from settings_of import settings_of

from runner.config.settings import Settings
from runner.gates import contract_tests
from runner.gates.base import ChangeOrigin
from runner.gates.coverage_gate import weigh_proofs
from runner.gates.mutation import can_fail, red_first
from runner.gates.mutation.small_changes import find_small_changes
from runner.gates.registry import together
from runner.languages import syntax_tree
from runner.model import Grade, Level, Observed, Proof, Severity, TestContract, Verdict
from runner.model.grades import grade_of

PYTEST = f"PYTHONPATH=. {sys.executable} -m pytest -q -p no:cacheprovider test_shop.py"
SHOP = {"shop.py": "def price(n):\n    return n * 3\n"}
ASSERTS = {"test_shop.py": "import shop\ndef test_price(): assert shop.price(2) == 6\n"}
CALLS = {
    "test_shop.py": "import shop\ndef test_price():\n try: shop.price(2)\n except Exception: pass\n"
}
CHECK = {"check.py": "import shop\nassert shop.price(2) == 6\n"}


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """How much is tried must not depend on how busy this machine is."""
    monkeypatch.setattr(can_fail, "_LEAST_SECONDS", 60.0)


class Result:
    """What the contracts and the family found, and the grade of it."""

    def __init__(
        self, folder, before, after, commands, *, settings=None, gates=(), observed=(), **fields
    ):
        lines = [commands] if isinstance(commands, str) else commands
        contracts = tuple(
            TestContract(f"TC-00{at}", Level.UNIT, line) for at, line in enumerate(lines, 1)
        )
        settings = settings or settings_of(mutation="off")
        task = a_task(test_contracts=contracts, outputs=("*",))
        context, self.visits = a_story(
            folder, before, after, task=task, settings=settings, **fields
        )
        found = [
            contract_tests.prove(one, context) for one in contract_tests.checks(task, settings)
        ]
        proofs = (*(one.proof for one in found), *gates)
        context = replace(context, proofs=proofs, observed=observed)
        own = can_fail.prove(own_check("mutation.can_fail", context), context)
        whole = together([*found, own])
        written = [one.path for one in context.changes]
        proofs = weigh_proofs(task, whole.proofs, (), written, whole.unshown)
        self.proof, self.findings = own.proof, own.findings
        self.refused = [one for one in own.findings if one.severity is Severity.ERROR]
        self.asked = [one for one in own.findings if one.severity is Severity.QUESTION]
        self.grade = grade_of(proofs)


def test_a_contract_that_fails_on_the_stub_is_proof(tmp_path):
    found = Result(tmp_path, {}, SHOP | ASSERTS, PYTEST)
    assert (found.findings, found.grade.words) == ((), "proven by tests")
    assert dict(found.proof.counts)["stub"] == 1


@pytest.mark.parametrize(
    ("rows", "runs"),
    [
        ([("test_shop.test_price", "2")], 1),
        ([("test_shop.test_price", "2"), ("", "1")], 1),
        ([("test_shop.test_price", "2"), ("", "1-2")], 2),
        ([("test_shop.test_other", "2")], 3),
        ([("test_shop.test_price", "")], 1),
        ([("test_shop.test_price", "1")], 2),
        ([], 2),
    ],
    ids=["one", "an import too", "a fixture too", "passes", "no lines", "other lines", "unknown"],
)
def test_on_the_stub_only_the_tests_that_ran_the_change_run_where_one_fails(tmp_path, rows, runs):
    log = tmp_path / "runs.txt"
    other = f"\ndef test_other():\n with open({str(log)!r}, 'a') as file: file.write('x')\n"
    files = SHOP | {"test_shop.py": ASSERTS["test_shop.py"] + other}
    observed = tuple(Observed("TC-001", test, "shop.py", "", lines) for test, lines in rows)
    found = Result(tmp_path, {}, files, PYTEST, observed=observed)
    assert dict(found.proof.counts)["stub"] == 1
    assert len(log.read_text()) == runs


def test_a_test_that_fails_without_another_one_does_not_notice_the_stub(tmp_path):
    first = "seen = []\ndef test_first(): seen.append(1)\n"
    test = CALLS["test_shop.py"].replace("price():\n", "price():\n assert seen\n")
    files = SHOP | {"test_shop.py": first + test}
    observed = (Observed("TC-001", "test_shop.test_price", "shop.py", "", "2"),)
    found = Result(tmp_path, {}, files, PYTEST, observed=observed)
    assert (dict(found.proof.counts)["stub"], len(found.refused)) == (0, 1)


def test_a_gate_that_was_red_before_leaves_the_stub_to_be_tried(tmp_path):
    lint = Proof("gate:lint", "gate", "make lint", Verdict.KNOWN, 1, 0.1, "")
    found = Result(tmp_path, {}, SHOP | CALLS, PYTEST, gates=(lint,))
    assert len(found.refused) == 1


@pytest.mark.parametrize("by_person", [False, True])
@pytest.mark.parametrize("mutation", ["off", "warn"])
def test_a_contract_that_passes_on_the_stub_is_refused_whoever_wrote_it(
    tmp_path, mutation, by_person
):
    settings = settings_of(mutation=mutation)
    found = Result(tmp_path, {}, SHOP | CALLS, PYTEST, settings=settings, by_person=by_person)
    (finding,) = found.refused
    assert finding.message == "no test contract fails when price raises an exception"
    assert (finding.path, finding.line) == ("shop.py", 1)
    assert "add a test that calls price" in finding.hint
    assert found.proof.verdict is Verdict.FAIL


BAD = {"check.py": "import sys\nsys.exit('no')\n"}
WRONG = {"shop.py": "def price(n):\n    return 0\n"}
PYTHON = sys.executable
HIDDEN = {
    "subprocess": (
        f"{PYTHON} -c \"import subprocess;subprocess.call(['{PYTHON}','check.py'])\"",
        {},
    ),
    "imports": (
        f"{PYTHON} -c \"import shop; import subprocess;subprocess.call(['{PYTHON}','check.py'])\"",
        {},
    ),
    "make": ("make test", {"Makefile": f"test:\n\t-{PYTHON} check.py\n"}),
    "padded": (f"{':;' * 12_000} {PYTHON} check.py || true", {}),
    "script": ("sh check.sh", {"check.sh": f"{PYTHON} check.py\nexit 0\n"}),
    "true": ("true", {}),
    "npm": ("npm run t", {"package.json": '{"scripts": {"t": "node bad.js; exit 0"}}'}),
}
BAD_SCRIPT = {"bad.js": "process.exit(1)\n"}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_contract_that_cannot_fail_is_refused_where_functions_change(tmp_path, name):
    command, files = HIDDEN[name]
    base = CHECK | BAD_SCRIPT | files
    found = Result(tmp_path, base, base | WRONG, command)
    assert found.refused or not found.grade.is_proven
    assert found.grade.grade is Grade.UNPROVEN or found.refused


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("path", ["data.json", "README.md", "settings.toml"])
def test_a_contract_that_cannot_fail_is_unproven_where_data_changes(tmp_path, name, path):
    command, files = HIDDEN[name]
    base = SHOP | BAD | BAD_SCRIPT | files
    found = Result(tmp_path, base, base | {path: "1\n"}, command)
    assert found.refused == []
    assert found.grade.grade is Grade.UNPROVEN


@pytest.mark.parametrize(("mark", "words"), [("-", Grade.UNPROVEN), ("", Grade.PROVEN)])
def test_a_rule_that_ignores_failures_is_unproven_though_it_fails_before_it_is_there(
    tmp_path, mark, words
):
    made = {"data.json": "1\n", "Makefile": f"t:\n\t{mark}grep -q 1 data.json\n"}
    assert Result(tmp_path, {"a.txt": "a\n"}, made, "make t").grade.grade is words


def test_data_is_proven_by_a_contract_that_fails_without_it(tmp_path):
    found = Result(tmp_path, {}, {"data.json": "1\n"}, "grep -q 1 data.json")
    assert (found.findings, found.grade.words) == ((), "proven by command")


def test_a_change_of_annotations_is_unproven_and_holds_nobody_up(tmp_path):
    typed = {"shop.py": "def price(n: int) -> int:\n    return n * 3\n"}
    found = Result(tmp_path, SHOP | ASSERTS, typed | ASSERTS, PYTEST, red_first=True)
    assert found.findings == ()
    assert found.grade.words == "unproven: nothing showed that its proof can fail"


def test_a_grammar_that_cannot_be_loaded_leaves_the_stub_unmeasured(tmp_path, monkeypatch):
    monkeypatch.setattr(syntax_tree, "_load_parser", lambda _language: None)
    files = {"a.js": "exports.f = () => 1;\n", "t.js": "if (require('./a').f() !== 1) throw 1;\n"}
    found = Result(tmp_path, {"t.js": files["t.js"]}, files, "node t.js")
    assert found.findings == ()
    assert found.grade.words == "proven by command, stub not measured"


def test_out_of_time_is_not_measured_and_never_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(can_fail, "earlier", lambda *_: None)
    found = Result(tmp_path, {}, SHOP | ASSERTS, PYTEST)
    assert found.findings == ()
    assert found.proof.note == "stub not measured: out of time"
    assert found.grade.words == "proven by tests, stub not measured"


SCRIPTS = {
    "a.js": (
        "exports.f = a => a * 2;\n",
        "node t.js",
        "if (require('./a.js').f(2) !== 4) throw 1;\n",
    ),
    "a.go": (
        "package main\nfunc f(a int) int {\n\treturn a * 2\n}\n",
        "go run .",
        'package main\nfunc main() {\n\tif f(2) != 4 {\n\t\tpanic("no")\n\t}\n}\n',
    ),
    "a.rs": (
        "pub fn f(a: i32) -> i32 {\n    a * 2\n}\n",
        "rustc t.rs && ./t",
        "mod a;\nfn main() { assert_eq!(a::f(2), 4); }\n",
    ),
}
TESTS = {"a.js": "t.js", "a.go": "main.go", "a.rs": "t.rs"}


@pytest.mark.parametrize("path", SCRIPTS)
def test_stub_first_reads_other_languages(tmp_path, path):
    code, command, test = SCRIPTS[path]
    base = {TESTS[path]: test, "go.mod": "module m\n"}
    found = Result(tmp_path, base, base | {path: code}, command)
    assert (found.findings, found.grade.words) == ((), "proven by command")
    idle = Result(tmp_path, base, base | {path: code}, f"({command}); true")
    assert "f raises an exception" in idle.refused[0].message


WEAK = {"test_shop.py": "import shop\ndef test_price(): assert isinstance(shop.price(2), int)\n"}
LONG = {"shop.py": "def price(n):\n    if n < 0:\n        n = 5\n    n = n + 7\n    return n + 1\n"}


def test_a_question_names_the_small_changes_that_nothing_notices(tmp_path):
    warn = settings_of(mutation="warn")
    found = Result(tmp_path, {}, LONG | WEAK, PYTEST, settings=warn)
    (finding,) = found.asked
    assert "no test notices any of" in finding.message
    assert "- n = n + 7" in finding.detail
    assert Result(tmp_path, {}, LONG | WEAK, PYTEST).findings == ()


def test_lines_that_did_not_run_are_not_changed(tmp_path):
    warn, ran = settings_of(mutation="warn"), (Observed("TC-001", "", "shop.py", "", "1-2,4"),)
    found = Result(tmp_path, {}, LONG | WEAK, PYTEST, settings=warn, observed=ran)
    assert (found.asked, dict(found.proof.counts)["survived"]) == ([], 2)


def test_small_changes_begin_with_the_lines_that_the_task_added():
    before, after = LONG["shop.py"].encode(), LONG["shop.py"].replace("+ 7", "+ 8").encode()
    assert [one.line for one in find_small_changes("shop.py", before, after)] == [4, 2, 3, 5]
    assert [one.line for one in find_small_changes("shop.py", None, after)] == [2, 3, 4, 5]


def test_a_small_change_that_a_test_notices_is_an_answer(tmp_path):
    found = Result(tmp_path, {}, SHOP | ASSERTS, PYTEST, settings=settings_of(mutation="warn"))
    assert found.findings == ()
    assert dict(found.proof.counts) == {"stub": 1, "noticed": 1, "survived": 0}


@pytest.mark.parametrize(
    ("report", "named"),
    [
        ('{"files": {"shop.py": {"mutants": [{"status": "Survived", %s}]}}}', True),
        ('{"files": {"shop.py": {"mutants": [{"status": "Killed", %s}]}}}', False),
        ('{"files": {"other.py": {"mutants": [{"status": "Survived", %s}]}}}', False),
        ('{"files": [%.0s', False),
        ('["mutants", 1]%.0s', False),
    ],
)
def test_a_mutation_report_of_the_project_names_survivors(tmp_path, report, named):
    text = report % '"location": {"start": {"line": 2, "column": 1}}'
    found = Result(tmp_path, {}, SHOP | ASSERTS | {"mutation.json": text}, PYTEST)
    assert ("mutation report: mutant survived at shop.py:2" in found.proof.note) == named


def test_a_bundle_in_the_change_leaves_the_stub_unmeasured(tmp_path):
    files = {"src/a.js": "exports.f = () => 1;\n", "dist/a.js": "exports.f = () => 1;\n"}
    base = {"t.js": "if (require('./dist/a').f() !== 1) throw 1;\n"}
    found = Result(tmp_path, base, base | files, "node t.js")
    assert found.findings == ()
    assert found.grade.words == "proven by command, stub not measured"


RED_PYTEST = "PYTHONPATH=. python -m pytest -q -p no:cacheprovider tests"
CODE = {"shop.py": "def price(): return 3\n"}
RED_TESTS = {"tests/test_shop.py": "import shop\ndef test_price(): assert shop.price() == 3\n"}
IDLE = {"tests/test_shop.py": "def test_price(): assert 1 + 2 == int('3')\n"}


def ask(folder, before, after, *, stub_noticed=False, task=None, **fields):
    context, visits = a_story(folder, before, after, red_first=True, task=task, **fields)
    found = red_first.findings((a_check(RED_PYTEST),), context, stub_noticed=stub_noticed)
    return [(str(one.severity), one.message) for one in found], visits


ASKED = [("question", "no test fails without this change")]


def test_a_test_that_fails_without_the_change_is_as_it_should_be(tmp_path):
    found, visits = ask(tmp_path, {}, CODE | RED_TESTS)
    assert found == []
    assert visits == [["tests/test_shop.py"]]


@pytest.mark.parametrize(
    ("before", "after", "stub_noticed", "found"),
    [
        ({}, CODE | IDLE, False, ASKED),
        # a new function has a test that fails without it, whatever else the stub shows
        ({}, CODE | IDLE, True, ASKED),
        (CODE, {"shop.py": "def price(): return 4 - 1\n"}, True, []),
        (CODE, {"shop.py": "def price(): return 4 - 1\n"}, False, ASKED),
        (CODE, {"shop.py": '"""D."""\ndef price() -> int:\n    return 3  # x\n'}, False, []),
        (CODE, CODE | {"data.json": "1", "README.md": "x"}, False, []),
        ({}, IDLE, False, []),
    ],
)
def test_the_question_follows_from_the_code_alone(tmp_path, before, after, stub_noticed, found):
    before, after = before | IDLE, after | IDLE
    assert ask(tmp_path, before, after, stub_noticed=stub_noticed)[0] == found


def test_a_person_who_wrote_the_change_is_warned(tmp_path):
    found, _ = ask(tmp_path, IDLE, CODE | IDLE, by_person=True)
    assert found == [("warning", "no test fails without this change")]


@pytest.mark.parametrize("own", [True, None])
def test_it_refuses_only_where_it_is_required(tmp_path, own):
    always = settings_of(red_first="always")
    task = a_task(red_first=own)
    found, _ = ask(tmp_path, IDLE, CODE | IDLE, task=task, settings=Settings() if own else always)
    message = "TC-001 passes without the implementation, so it proves nothing"
    assert found == [("error", message)]


def test_the_next_attempt_does_not_pay_again_until_the_tests_change(tmp_path):
    codes = ("def price(): return 3\n", "def price(): return 4 - 1\n")
    asked = [ask(tmp_path, {}, RED_TESTS | {"shop.py": code})[1] for code in codes]
    assert [len(visits) for visits in asked] == [1, 0]
    found, visits = ask(tmp_path, {}, CODE | IDLE)
    assert (found, len(visits)) == (ASKED, 1)


def test_nothing_runs_where_it_is_not_asked(tmp_path):
    context, visits = a_story(tmp_path, {}, CODE | IDLE)
    assert red_first.findings((a_check(RED_PYTEST),), context, stub_noticed=False) == ()
    required = replace(context, origin=ChangeOrigin(red_first=True))
    assert red_first.findings((), required, stub_noticed=False) == ()
    assert visits == []


@pytest.mark.parametrize(
    ("own", "setting", "implementer", "new", "type_", "wanted"),
    [
        (None, "auto", "claude", True, "api", True),
        (None, "auto", "model", True, "", True),
        (None, "auto", "command", True, "api", True),
        (None, "auto", "claude", False, "api", False),
        (None, "auto", "claude", True, "refactor", False),
        (None, "auto", "blocks", True, "api", False),
        (None, "auto", "blocks", True, "bugfix", True),
        (None, "auto", "blocks", True, "fix", True),
        (None, "always", "blocks", False, "", True),
        (None, "never", "claude", True, "api", False),
        (True, "never", "blocks", False, "", True),
        (False, "always", "claude", True, "api", False),
    ],
)
def test_who_is_asked_to_be_red_first(own, setting, implementer, new, type_, wanted):
    task = a_task(red_first=own, type=type_)
    settings = settings_of(red_first=setting)
    assert red_first.wants_red_first(task, settings, implementer, is_new_work=new) is wanted


def test_the_words_of_a_task_do_not_decide():
    task = replace(a_task(), title="Fix the crash: refactor the parser")
    assert red_first.wants_red_first(task, Settings(), "claude", is_new_work=True)


@pytest.mark.parametrize(
    ("new", "found", "ran"),
    [
        ("def test_price(): note('n'); assert shop.price() == 3\n", [], ["n"]),
        ("def test_price(): note('n')\n", ASKED, ["n", "on"]),
    ],
)
def test_tests_of_the_change_run_first_and_all_run_where_these_pass(tmp_path, new, found, ran):
    note = f"import shop\ndef note(c): open('{tmp_path}/' + NAME, 'a').write(c)\n"
    old = "def test_old(): note('o')\n"
    base = {"shop.py": "", "tests/test_shop.py": "NAME = 'base'\n" + note + old}
    after = CODE | {"tests/test_shop.py": "NAME = 'after'\n" + note + old + new}
    context, visits = a_story(tmp_path, base, after, red_first=True)
    assert contract_tests.prove(a_check(RED_PYTEST), context).proof.exit == 0
    (tmp_path / "after").unlink()
    said = red_first.findings((a_check(RED_PYTEST),), context, stub_noticed=False)
    assert [(str(one.severity), one.message) for one in said] == found
    assert len(visits) == len(ran)
    assert (tmp_path / "after").read_text() == "".join(["n", "on"][: len(ran)])
