"""A test contract as a real process: what it says test by test, and how it can lie."""

import shutil
import socket
import time

import pytest
from coverage_bench import PRICE, Yard, shown
from coverage_bench import PYTEST as PYTEST_HERE
from gates_bench import a_bench, a_check, a_story, put
from msgspec.structs import replace

from runner.gates import contract_tests, touched_files
from runner.gates.base import Check
from runner.model import Severity, Verdict
from runner.process.limits import Limits
from runner.repo.trees import TICK

PYTEST = "python -m pytest -q -p no:cacheprovider"


def a_place(folder, **files):
    context = a_bench(folder)
    put(folder / "tree", {name.replace("__", "/") + ".py": text for name, text in files.items()})
    return context


def proved(context, command, **fields):
    said = contract_tests.prove(a_check(command, **fields), context)
    return said.proof, said.findings


MIXED = """
import pytest
def test_good(): pass
def test_bad(): assert 1 == 2, "one is not two"
@pytest.mark.skip
def test_later(): pass
"""


def test_each_test_is_counted_and_what_failed_is_told_before_the_output(tmp_path):
    proof, (finding,) = proved(a_place(tmp_path, test_a=MIXED), f"{PYTEST} test_a.py")
    assert proof.verdict is Verdict.FAIL
    assert dict(proof.counts) == {"passed": 1, "failed": 1, "skipped": 1}
    assert finding.detail.startswith(
        "test_a.py::test_bad failed at test_a.py:4: AssertionError: one is not two\n"
    )
    assert "one is not two" in finding.detail.splitlines()[1] + finding.detail
    assert finding.detail.index("test_a.py::test_bad") < finding.detail.index("short test summary")


def test_the_command_is_shown_as_it_was_written(tmp_path):
    proof, _ = proved(a_place(tmp_path, test_a="def test_a(): pass"), f"{PYTEST} test_a.py")
    assert proof.command == f"{PYTEST} test_a.py"
    assert proof.verdict is Verdict.PASS


def test_options_of_the_person_are_kept_beside_ours(tmp_path):
    context = a_place(tmp_path, test_x="def test_a(): pass\ndef test_b(): assert 0")
    context = replace(context, environment={**context.environment, "PYTEST_ADDOPTS": "-k test_a"})
    proof, _ = proved(context, f"{PYTEST} test_x.py")
    assert dict(proof.counts) == {"passed": 1, "deselected": 1}


def test_a_tool_that_takes_no_reporter_is_run_without_one(tmp_path):
    context = a_place(tmp_path, test_a="def test_a(): pass")
    proof, _ = proved(context, f"{PYTEST} -p no:junitxml test_a.py")
    assert (proof.verdict, dict(proof.counts)) == (Verdict.PASS, {"passed": 1})


@pytest.mark.parametrize("swallow", ["|| true", "| tee __pycache__.log"])
def test_a_swallowed_exit_code_does_not_hide_a_test_that_failed(tmp_path, swallow):
    context = a_place(tmp_path, test_a=MIXED)
    proof, findings = proved(context, f"{PYTEST} test_a.py {swallow}")
    assert proof.verdict is Verdict.FAIL
    assert findings[0].message.endswith("ended with exit code 0 although a test failed")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import pytest\n@pytest.mark.skip\ndef test_a(): pass",
        "import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0",
        "import pytest\npytest.skip('no', allow_module_level=True)",
    ],
    ids=["none", "skipped", "expected to fail", "module skipped"],
)
def test_a_contract_without_a_test_that_can_fail_ran_no_test(tmp_path, text):
    context = a_place(tmp_path, test_a=text)
    proof, findings = proved(context, f"{PYTEST} test_a.py || true")
    assert proof.verdict is Verdict.FAIL
    assert findings[0].message.endswith("ran no test")


def test_deselecting_every_test_is_running_none(tmp_path):
    context = a_place(tmp_path, test_a="def test_a(): pass")
    proof, findings = proved(context, f"{PYTEST} -k nothing test_a.py; true")
    assert proof.verdict is Verdict.FAIL
    assert findings[0].message.endswith("ran no test")


def test_ending_before_the_tests_do_is_running_none(tmp_path):
    context = a_place(tmp_path, test_a="import os\ndef test_a(): os._exit(0)")
    proof, findings = proved(context, f"{PYTEST} test_a.py")
    assert (proof.exit, proof.verdict) == (0, Verdict.FAIL)
    assert findings[0].message.endswith("ran no test")


FLAKY = """
import pathlib
def test_steady(): pass
def test_shaky():
    mark = pathlib.Path("__pycache__/seen"); mark.parent.mkdir(exist_ok=True)
    first = not mark.exists(); mark.write_text("x")
    assert not first
"""


def test_what_fails_once_and_then_passes_is_flaky_and_named(tmp_path):
    context = a_place(tmp_path, test_a=FLAKY)
    proof, (finding,) = proved(context, f"{PYTEST} test_a.py")
    assert proof.verdict is Verdict.FLAKY
    assert proof.note == "failed once, then passed: test_a.py::test_shaky"
    assert finding.severity is Severity.WARNING
    assert finding.message == proof.note
    assert "assert not first" in finding.detail
    logs = [tmp_path / f"logs/{name}.log" for name in ("TC-001", "TC-001-again")]
    assert "1 failed" in logs[0].read_text()
    assert "2 passed" in logs[1].read_text()


SLOWED = """
import os
import price
def test_total(): assert price.total([1, 2]) == 3
def test_in_time(): assert "RUNNER_COVER_OUT" not in os.environ
"""


def test_what_fails_only_while_its_lines_are_counted_passes_and_is_told(tmp_path):
    """A test with a clock, say; what it ran is known all the same."""
    yard = Yard(tmp_path).write("price.py", PRICE).write("test_a.py", SLOWED)
    yard.set_up(f"{PYTEST_HERE} test_a.py")
    (contract,) = yard.context.task.test_contracts
    check = Check(contract.id, "test", contract.command, Limits(60, 60, 60))
    found = contract_tests.prove(check, yard.context)
    said = "fails under coverage measurement, and passes without it: test_a.py::test_in_time"
    assert (found.proof.verdict, found.proof.note) == (Verdict.FLAKY, said)
    assert [(one.severity, one.message) for one in found.findings] == [(Severity.WARNING, said)]
    assert "RUNNER_COVER_OUT" in found.findings[0].detail
    assert ("price.py", "test_a.test_total") in shown(yard.weigh())


def test_what_fails_twice_has_failed(tmp_path):
    context = a_place(tmp_path, test_a="def test_a(): assert 0")
    proof, _ = proved(context, f"{PYTEST} test_a.py")
    assert proof.verdict is Verdict.FAIL
    assert (tmp_path / "logs/TC-001-again.log").exists()


@pytest.mark.parametrize("text", ["import nothing_of_that_name", "def test_a(:"])
def test_what_cannot_be_collected_is_not_tried_again(tmp_path, text):
    proof, _ = proved(a_place(tmp_path, test_a=text), f"{PYTEST} test_a.py")
    assert proof.verdict is Verdict.FAIL
    assert not (tmp_path / "logs/TC-001-again.log").exists()


def test_a_secret_in_a_failing_test_is_taken_out_of_what_it_says(tmp_path):
    value = "blue-" + "parrot-" + "seven"
    text = f"def test_a():\n    word = {value!r}\n    assert word == 'no'"
    context = replace(a_place(tmp_path, test_a=text), known_secrets=(value,))
    _, (finding,) = proved(context, f"{PYTEST} test_a.py")
    assert "test_a.py::test_a failed" in finding.detail
    assert value not in finding.detail


NODE = """
const test = require('node:test'); const assert = require('node:assert');
test('good', () => {}); test('bad', () => { assert.equal(1, 2) }); test.skip('later', () => {});
"""


@pytest.mark.skipif(not shutil.which("node"), reason="node is not here")
@pytest.mark.parametrize("start", ["", "sub/"], ids=["at the top", "in a folder"])
def test_nodes_own_tests_are_read_one_by_one(tmp_path, start):
    context, _ = a_story(tmp_path, {}, {"a.test.cjs": NODE}, start=start)
    proof, (finding,) = proved(context, "node --test a.test.cjs")
    assert proof.verdict is Verdict.FAIL
    assert dict(proof.counts) == {"passed": 1, "failed": 1, "skipped": 1}
    assert finding.detail.startswith(
        "bad failed at a.test.cjs:3: [Error [ERR_TEST_FAILURE]: 1 == 2] {\n"
    )


def test_a_failure_that_a_tool_prints_in_colours_is_not_swallowed_either(tmp_path):
    context = a_bench(tmp_path)
    (tmp_path / "tree/mocha.js").write_text(
        "console.log(`"
        "\x1b[2m      Tests \x1b[22m \x1b[31m1 failed\x1b[39m | \x1b[32m2 passed\x1b[39m (3)\n`)"
    )
    proof, findings = proved(context, "node mocha.js; true")
    assert (proof.verdict, dict(proof.counts)) == (Verdict.FAIL, {"passed": 2, "failed": 1})
    assert findings[0].message.endswith("ended with exit code 0 although a test failed")


def test_a_forged_file_of_results_does_not_hide_an_exit_code(tmp_path):
    forged = '<testsuites><testsuite name="x"><testcase name="a"/></testsuite></testsuites>'
    text = f"""
import atexit, os, shlex
file = shlex.split(os.environ["PYTEST_ADDOPTS"])[0].partition("=")[2]
atexit.register(lambda: open(file, "w").write({forged!r}))
def test_a(): assert 0
"""
    proof, findings = proved(a_place(tmp_path, test_a=text), f"{PYTEST} test_a.py")
    assert proof.verdict is Verdict.FAIL
    assert findings[0].message.endswith("ended with exit code 1")


def test_results_that_an_earlier_run_left_are_not_believed(tmp_path):
    context = a_bench(tmp_path)
    old = "<testsuites><testcase name='a'><failure/></testcase></testsuites>"
    (tmp_path / "box/junit-TC-001.xml").write_text(old)
    proof, findings = proved(context, "true")
    assert (proof.verdict, findings) == (Verdict.PASS, ())


def test_a_script_that_has_tests_fail_on_purpose_does_not_count_as_passed(tmp_path):
    inner = (
        "import subprocess, sys\n"
        'line = [sys.executable, "-m", "pytest", "-q", "bad.py"]\n'
        "assert subprocess.run(line).returncode == 1\n"
    )
    context = a_place(tmp_path, check=inner, bad="def test_a(): assert 0")
    proof, _ = proved(context, "python check.py")
    assert (proof.verdict, dict(proof.counts)["failed"]) == (Verdict.FAIL, 1)


# --- bad input ------------------------------------------------------------------------


def test_an_interpreter_that_crashes_is_named_by_its_signal(tmp_path):
    text = "import os\ndef test_a(): os.kill(os.getpid(), 11)"
    proof, (finding,) = proved(a_place(tmp_path, test_a=text), f"{PYTEST} test_a.py")
    assert proof.exit == 139
    assert finding.message == f"`{PYTEST} test_a.py` crashed with SIGSEGV"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(9, 0.5, 9), "printed nothing for 0.5 s and was stopped"),
        (Limits(9, 9, 0.5), "ran longer than 0.5 s and was stopped"),
    ],
    ids=["idle", "hard"],
)
def test_a_contract_that_hangs_is_ended_and_not_tried_again(tmp_path, limits, said):
    began = time.monotonic()
    proof, (finding,) = proved(a_bench(tmp_path), "sleep 60", limits=limits)
    assert proof.verdict is Verdict.FAIL
    assert finding.message.endswith(said)
    assert not (tmp_path / "logs/TC-001-again.log").exists()
    assert time.monotonic() - began < 30


def test_a_contract_that_takes_long_is_said_to(tmp_path):
    heard = []
    context = replace(a_bench(tmp_path), tell=heard.append)
    proof, _ = proved(context, "sleep 0.6", limits=Limits(0.2, 9, 9))
    assert proof.verdict is Verdict.PASS
    assert any("still running" in line for line in heard)


def test_a_flood_of_output_is_kept_short(tmp_path):
    began = time.monotonic()
    line = "head -c 40000000 /dev/zero | tr '\\0' 'x' | fold -w 100; echo; echo '1 passed in 0.1s'"
    proof, _ = proved(a_bench(tmp_path), line)
    assert dict(proof.counts) == {"passed": 1}
    assert (tmp_path / "logs/TC-001.log").stat().st_size < 25_000_000
    assert time.monotonic() - began < 30


def test_what_a_contract_leaves_running_is_ended_and_said(tmp_path):
    proof, (finding,) = proved(a_bench(tmp_path), "sleep 60 & true")
    assert proof.verdict is Verdict.PASS
    assert finding.message == "the runner stopped 1 process that the command left running"
    assert finding.severity is Severity.NOTE


def test_a_port_that_is_in_use_fails_the_contract_and_says_why(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = f"import socket\ndef test_a(): socket.create_server(('127.0.0.1', {port}))"
        proof, (finding,) = proved(a_place(tmp_path, test_a=text), f"{PYTEST} test_a.py")
    assert proof.verdict is Verdict.FAIL
    assert "Address already in use" in finding.detail


# --- what it does to the tree ---------------------------------------------------------


@pytest.mark.parametrize("start", ["", "sub/"], ids=["at the top", "in a folder"])
def test_files_that_a_contract_changes_are_told_and_put_back(tmp_path, start):
    after = {"a.py": "new", "kept.py": "kept", ".gitignore": "*.log\n"}
    context, _ = a_story(tmp_path, {"kept.py": "kept", ".gitignore": "*.log\n"}, after, start=start)
    line = "echo worse > a.py; rm kept.py; echo x > more.txt; echo x > out.log; mkdir __pycache__"
    proof, (finding,) = proved(context, line)
    assert proof.verdict is Verdict.PASS
    assert finding.severity is Severity.NOTE
    assert finding.message == "the gate modified files (discarded): a.py, kept.py, more.txt"
    assert (tmp_path / "tree" / start / "a.py").read_text() == "new"
    assert (tmp_path / "tree" / start / "kept.py").read_text() == "kept"


def test_files_beside_the_project_are_told_as_it_knows_them(tmp_path):
    context, _ = a_story(tmp_path, {}, {"a.py": "new"}, start="sub/")
    (tmp_path / "tree/.gitignore").write_text("out/\n")
    _, (finding,) = proved(context, "echo x > ../more.txt; mkdir ../out; echo x > ../out/more.txt")
    assert finding.message == "the gate modified files (discarded): ../more.txt"


@pytest.mark.parametrize(
    ("line", "path"),
    {
        "a pipe": ("rm a.py; mkfifo a.py", "a.py"),
        "a folder": ("rm a.py; mkdir a.py", "a.py"),
        "one without an end": ("truncate -s 7G a.py", "a.py"),
        "a link": ("rm a.py; ln -s /dev/zero a.py", "a.py"),
        "the same bytes elsewhere": ("mv b $TMPDIR/b; ln -s $TMPDIR/b b", "b/c.py"),
    }.values(),
)
def test_whatever_a_contract_puts_in_the_place_of_a_file_is_a_change(tmp_path, line, path):
    context, _ = a_story(tmp_path, {}, {"a.py": "new", "b/c.py": "new"})
    variables = {**context.environment, "TMPDIR": str(context.place.box)}
    _, (finding,) = proved(replace(context, environment=variables), line)
    assert finding.message.startswith(f"the gate modified files (discarded): {path}")
    assert not (tmp_path / "tree/b").is_symlink()
    assert (tmp_path / "tree" / path).read_text() == "new"


@pytest.mark.parametrize(
    ("line", "path"),
    {
        "written, with its old times": (
            "touch -r b/c.py t; echo x > b/c.py; touch -r t b/c.py; rm t",
            "b/c.py",
        ),
        "gone": ("rm b/c.py", "b/c.py"),
        "replaced": ("echo x > b/d; mv b/d b/c.py", "b/c.py"),
        "new": ("echo x > b/new.py", "b/new.py"),
        "moved with its folder": ("mv b b2", "b/c.py, b2/c.py"),
    }.values(),
)
def test_a_change_is_seen_in_a_folder_that_was_listed_long_before(tmp_path, line, path):
    context, _ = a_story(tmp_path, {}, {"a.py": "new", "b/c.py": "new"})
    for _ in range(2):
        touched_files.files(context)
        time.sleep(3 * TICK)
    _, (finding,) = proved(context, line)
    assert finding.message == f"the gate modified files (discarded): {path}"


def test_a_file_that_is_written_anew_as_it_was_is_no_change(tmp_path):
    context, _ = a_story(tmp_path, {}, {"a.py": "new"})
    assert proved(context, "printf new > a.py")[1] == ()


@pytest.mark.skipif(not shutil.which("node"), reason="node is not here")
def test_a_file_in_which_node_finds_no_test_is_no_test_that_passed(tmp_path):
    context = a_bench(tmp_path)
    (context.place.tree / "e.test.mjs").write_text("export const x = 1;\n")
    proof, (finding,) = proved(context, "node --test e.test.mjs")
    assert (proof.verdict, proof.counts) == (Verdict.FAIL, (("passed", 0),))
    assert finding.message == "`node --test e.test.mjs` ran no test"
    assert finding.hint.startswith("name existing tests")


def test_a_file_in_which_pytest_finds_no_test_is_called_so(tmp_path):
    context = a_bench(tmp_path)
    (context.place.tree / "test_e.py").write_text("X = 1\n")
    proof, (finding,) = proved(context, f"{PYTEST} test_e.py")
    assert (proof.verdict, proof.exit) == (Verdict.FAIL, 5)
    assert finding.message.endswith("test_e.py` ran no test")
