"""Expectations that the same change recorded are told."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import recorded_answers
from runner.gates.mtime_changes import Touched
from runner.model import Action, Change, Level, Severity, TestContract, digest_of

READS = {"tests/test_a.py": "GOLDEN = read('answers_golden.json')\n"}
CODE = {"shop.py": "def a():\n    return 1\n"}


def said(folder, files, *, by_person=False, mutation="warn", ran=None, command="pytest"):
    changes = tuple(
        Change(path, Action.CREATE, 0o100644, None, digest_of(text.encode()), text.encode())
        for path, text in files.items()
    )
    bench = replace(
        a_bench(folder),
        task=replace(
            a_task(outputs=("any",)),
            test_contracts=(TestContract("TC-001", Level.UNIT, command),),
        ),
        changes=changes,
        by_person=by_person,
        ran=ran or {},
    )
    bench = replace(bench, settings=replace(bench.settings, mutation=mutation))
    (check,) = recorded_answers.checks(bench.task, bench.settings)
    return recorded_answers.prove(check, bench).findings


@pytest.mark.parametrize(
    "path",
    [
        *("tests/__snapshots__/a.test.ts.snap", "tests/__snapshots__/test_a.ambr"),
        *("tests/golden_count.json", "tests/data/expected/a.txt", "testdata/bump.golden"),
        *("tests/a.approved.txt", "answers_golden.json"),
    ],
)
def test_a_record_beside_the_code_is_told(tmp_path, path):
    (finding,) = said(tmp_path, CODE | READS | {path: "{}\n"})
    assert (finding.path, finding.severity) == (path, Severity.WARNING)
    (finding,) = said(tmp_path, CODE | READS | {path: "{}\n"}, mutation="strict")
    assert finding.severity is Severity.QUESTION


@pytest.mark.parametrize(
    "files",
    [
        READS | {"tests/golden_count.json": "{}\n"},
        CODE | READS | {"tests/orders.json": "{}\n"},
        CODE | READS | {"src/unexpected/a.json": "{}\n"},
        CODE | {"docs/expected-load.md": "much\n"},
        CODE | {"tests/test_snapshot.py": "def test_a():\n    assert a() == 1\n"},
    ],
    ids=["no code", "an input", "another word", "a document", "code"],
)
def test_what_is_no_record_is_left_alone(tmp_path, files):
    assert said(tmp_path, files) == ()


def test_a_person_is_told_nothing(tmp_path):
    assert said(tmp_path, CODE | READS | {"tests/golden.json": "{}\n"}, by_person=True) == ()


GOLDEN = "GOLDEN = Path(__file__).with_name('counts.json')\n"
ABSENT = "    if not GOLDEN.exists():\n        GOLDEN.write_text(json.dumps(a()))\n"
COMPARED = "    assert json.loads(GOLDEN.read_text()) == a()\n"
TEST = "def test_a():\n"
SCRIPT = "const file = new URL('./a.txt', import.meta.url);\ntest('a', () => {\n"
GO = 'func TestA(t *testing.T) {\n\tpath := "testdata/a.txt"\n'
WRITTEN = {
    "where it is not there": {"tests/test_a.py": GOLDEN + TEST + ABSENT + COMPARED},
    "by a helper": {
        "tests/conftest.py": "def check(name, got):\n    path = HERE / name\n"
        "    if not os.path.exists(path):\n        with open(path, 'w') as out:\n"
        "            out.write(got)\n    assert open(path).read() == got\n"
    },
    "after a failed look": {
        "tests/test_a.py": GOLDEN + "def wanted():\n    try:\n        return GOLDEN.read_text()\n"
        "    except FileNotFoundError:\n        GOLDEN.write_text(str(a()))\n"
        "        return GOLDEN.read_text()\n"
    },
    "after a failed look in a group": {
        "tests/test_a.py": GOLDEN + "def wanted():\n    try:\n        return GOLDEN.read_text()\n"
        "    except* FileNotFoundError:\n        GOLDEN.write_text(str(a()))\n"
    },
    "script": {
        "tests/a.test.js": SCRIPT + "  if (!fs.existsSync(file)) fs.writeFileSync(file, a());\n"
        "  expect(a()).toBe(fs.readFileSync(file, 'utf8'));\n});\n"
    },
    "Go": {
        "a_test.go": GO + "\tif _, err := os.Stat(path); err != nil {\n"
        "\t\tos.WriteFile(path, []byte(a()), 0o644)\n\t}\n"
        "\twant, _ := os.ReadFile(path)\n\tif string(want) != a() {\n\t\tt.Fail()\n\t}\n}\n"
    },
}


@pytest.mark.parametrize("files", WRITTEN.values(), ids=WRITTEN)
def test_a_test_that_writes_what_it_expects_is_a_question(tmp_path, files):
    (finding,) = said(tmp_path, CODE | files)
    assert finding.severity is Severity.QUESTION
    assert "the test writes what it expects" in finding.message
    assert said(tmp_path, CODE | files, by_person=True) == ()


FINE = {
    "only where it is asked to": GOLDEN + TEST + ABSENT.replace("not GOLDEN.exists()", "UPDATE"),
    "a temporary file": f"{TEST}    GOLDEN = tmp_path / 'x'\n{ABSENT}{COMPARED}",
    "input of its own": GOLDEN
    + TEST
    + ABSENT.replace("json.dumps(a())", "ROWS")
    + "    a(GOLDEN)\n",
    "a failure where it is not there": GOLDEN
    + TEST
    + "    if not GOLDEN.exists():\n        pytest.fail('no golden')\n"
    + COMPARED,
}


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_files_that_tests_write_for_another_reason_are_left_alone(tmp_path, text):
    assert said(tmp_path, CODE | {"tests/test_a.py": text}) == ()


def test_records_that_came_while_tests_ran_are_told(tmp_path):
    made = SimpleNamespace(touched=Touched(made=("tests/__snapshots__/a.snap", "out/log.txt")))
    (finding,) = said(tmp_path, CODE, ran={"TC-001": made})
    assert (finding.path, finding.severity) == ("tests/__snapshots__/a.snap", Severity.WARNING)


@pytest.mark.parametrize(
    ("command", "count"),
    [
        *(("jest -u", 1), ("UPDATE_GOLDEN=1 pytest -q", 1), ("pytest --snapshot-update", 1)),
        *(("go test ./... -update", 1), ("npx vitest run --update", 1), ("pytest -q", 0)),
        *(("python -u -m pytest", 0), ("UPDATE_GOLDEN=0 pytest", 0)),
    ],
)
def test_a_contract_that_writes_records_is_a_question(tmp_path, command, count):
    assert len(said(tmp_path, CODE, command=command)) == count
