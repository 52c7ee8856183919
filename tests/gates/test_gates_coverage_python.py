"""Lines of a Python project are measured from outside, however its tests run them."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from coverage_bench import PRICE, PYTEST, TEST_TOTAL, UNITTEST, Yard, change_injected, shown
from gates_bench import checks_of_family, own_check

from runner.model import Coverage, digest_of
from runner.process.sandbox import choose_sandbox

COVERAGE_MEASURES = sys.version_info < (3, 12)
"""Whether coverage.py is the measure: later Pythons have `sys.monitoring`."""
WHOLE = "data" if COVERAGE_MEASURES else "lines"
"""What all of coverage.py leaves, or what stands in for it."""


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


@pytest.fixture(params=["none", "bubblewrap"])
def walled(request, tmp_path):
    if request.param == "bubblewrap" and not choose_sandbox("auto").contains:
        pytest.skip("bubblewrap does not work here")
    return Yard(tmp_path, request.param)


def test_a_src_layout_with_its_path_set_in_the_line_is_measured(walled):
    walled.write("src/price.py", PRICE).write("tests/test_price.py", TEST_TOTAL)
    found = walled.proved(f"PYTHONPATH=src {PYTEST} tests")
    assert found.findings == ()
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)
    assert found.proof.note == "not run: src/price.py 3"
    assert shown(found)["src/price.py", ""] == "1"
    assert shown(found)["src/price.py", "test_price.TestTotal.test_total"] == "2,4"
    assert shown(found)["tests/test_price.py", "test_price.TestTotal.test_total"] == "8"
    assert {row.digest for row in found.observed if row.path == "src/price.py"} == {
        digest_of(PRICE.encode())
    }
    tools = dict(found.tools)
    assert tools["python"] == ".".join(map(str, sys.version_info[:3]))
    assert tools["pytest"] == pytest.__version__
    assert ("coverage" in tools) is COVERAGE_MEASURES


def test_below_the_threshold_each_file_says_its_lines(yard):
    yard.write("price.py", PRICE).write("tax.py", "def tax():\n    return 1\n")
    yard.write("test_price.py", TEST_TOTAL + "import tax\n")
    found = yard.proved(f"{UNITTEST} test_price", coverage=90)
    first, second = found.findings
    assert found.coverage.percent == 66.66
    assert first.refuses
    assert (first.path, first.line) == ("price.py", 3)
    assert first.message == (
        "line 3 is not run by any test contract (66% of 6 lines, threshold 90%)"
    )
    assert second.path == "tax.py"
    assert "test contracts" in first.hint
    assert found.proof.verdict == "fail"


def test_several_contracts_count_together(yard):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    one = f"{sys.executable} -c 'import price; price.total([])'"
    found = yard.proved(f"{UNITTEST} test_price", one, coverage=100)
    assert found.findings == ()
    assert found.coverage.percent == 100
    assert {row.contract for row in found.observed} == {"TC-001", "TC-002"}


def test_children_forks_threads_and_terminated_pools_are_measured(yard):
    yard.write("many.py", "".join(f"def f{n}(x=0):\n    return {n}\n" for n in range(6)))
    yard.write("test_many.py", _MANY)
    found = yard.proved(f"{UNITTEST} test_many", coverage=100)
    assert found.findings == (), found.findings
    assert found.coverage.percent == 100


_MANY = """\
import multiprocessing, os, subprocess, sys, threading, unittest
import many


class TestMany(unittest.TestCase):
    def test_all(self):
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": "."}
        subprocess.run([sys.executable, "-c", "import many; many.f0()"], env=env, check=True)
        fork = multiprocessing.get_context("fork")
        child = fork.Process(target=many.f1)
        child.start()
        child.join()
        with fork.Pool(1) as pool:
            pool.map(many.f2, [1])
        spawn = multiprocessing.get_context("spawn").Process(target=many.f3)
        spawn.start()
        spawn.join()
        thread = threading.Thread(target=many.f4)
        thread.start()
        thread.join()
        if os.fork() == 0:
            many.f5()
            os._exit(0)
        os.wait()
"""


def test_a_program_that_execs_another_is_measured_on_both_sides(yard):
    yard.write("a.py", "import os, sys\nos.execve(sys.executable, [sys.executable, 'b.py'], {})\n")
    yard.write("b.py", "print('there')\n")
    assert yard.proved(f"{sys.executable} a.py", coverage=100).coverage.percent == 100


def test_a_comment_hides_nothing_and_a_projects_settings_neither(yard):
    source = PRICE + "\n\ndef half(x):  # pragma: no cover\n    return x / 2\n"
    yard.write("price.py", source).write("test_price.py", TEST_TOTAL)
    yard.stands(".coveragerc", "[run]\nomit = price.py\n[report]\nexclude_lines = def\n")
    yard.stands("setup.cfg", "[coverage:run]\nomit = *\n")
    found = yard.proved(f"{UNITTEST} test_price")
    (finding,) = found.findings
    assert finding.message.startswith("lines 3, 8 are not run by any test contract (66%")


def test_what_never_runs_does_not_count(yard):
    source = (
        '"""Words."""\nfrom typing import TYPE_CHECKING, Protocol\n\nif TYPE_CHECKING:\n'
        "    import decimal\n\n\nclass Has(Protocol):\n    def it(self) -> int: ...\n"
    )
    yard.write("has.py", source)
    found = yard.proved(f"{sys.executable} -c 'import has'", coverage=100)
    assert (found.coverage.percent, found.coverage.lines) == (100, 2)


def test_a_block_for_checkers_that_is_switched_on_counts(yard):
    yard.write("has.py", "TYPE_CHECKING = 0 < 1\nif TYPE_CHECKING:\n    x = 1\n")
    assert yard.proved(f"{sys.executable} -c 'import has'").coverage.lines == 3


def test_of_a_changed_file_only_the_added_lines_count(yard):
    after = PRICE.replace("    return sum(items)\n", "    found = sum(\n        items)\n") + (
        "    return found\n\n\ndef half(x):\n    return x\n"
    )
    yard.write("price.py", after, before=PRICE).write("test_price.py", TEST_TOTAL)
    found = yard.proved(f"{UNITTEST} test_price")
    assert found.coverage == Coverage(75.0, 4, 70, 71.42)
    assert found.proof.note == "not run: price.py 10"


def test_settings_that_only_their_tool_runs_are_no_code_of_the_task(yard):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    for path in ("setup.py", "docs/conf.py", "noxfile.py"):
        yard.write(path, "A = 1\nB = 2\n" * 20)
    assert yard.proved(f"{UNITTEST} test_price").coverage.lines == 4
    assert (
        yard.write("shop/conf.py", "A = 1\n").proved(f"{UNITTEST} test_price").coverage.lines == 5
    )


def test_a_file_that_nothing_imported_is_at_nought(yard):
    yard.write("price.py", PRICE).stands("other.py", "X = 1\n")
    found = yard.proved(f"{sys.executable} -c 'import other'")
    (finding,) = found.findings
    assert finding.message == (
        "lines 1-4 are not run by any test contract (0% of 4 lines, threshold 70%)"
    )


def test_a_task_without_executable_lines_has_no_coverage(yard):
    yard.write("README.md", "# words\n").write("tests/test_price.py", TEST_TOTAL)
    yard.write("empty.py", "# nothing\n").write("page.yaml", "a: 1\n")
    found = yard.proved("true")
    assert (found.proof, found.coverage, found.findings) == (None, None, ())


def test_a_task_without_test_contracts_is_not_asked(yard):
    yard.set_up()
    settings = yard.context.settings
    assert checks_of_family("coverage_gate", yard.context.task, settings) == ()
    yard.set_up("true", outputs=())
    assert checks_of_family("coverage_gate", yard.context.task, settings) == ()


# --- programs that measure themselves --------------------------------------------------


@pytest.mark.parametrize("branch", ["", "branch = true\n"])
def test_coverage_run_by_the_project_itself_still_gives_all_lines(yard, branch):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    yard.stands(".coveragerc", f"[run]\nomit = price.py\n{branch}")
    line = f"{sys.executable} -m coverage"
    found = yard.proved(f"{line} run -m unittest -q test_price && {line} report")
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)
    report = (yard.context.logs / "TC-001.log").read_text()
    assert "test_price.py" in report
    assert "\nprice.py" not in report, "what the project leaves out stays left out for it"


def test_pytest_cov_still_gives_all_lines_and_keeps_its_own_report(tmp_path):
    pytest.importorskip("pytest_cov", reason="pytest-cov is not installed")
    yard = Yard(tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="")
    yard.write("src/price.py", PRICE).write("tests/test_price.py", TEST_TOTAL)
    words = "--cov=src --cov-context=test --cov-report=term --cov-fail-under=75"
    found = yard.proved(f"PYTHONPATH=src {PYTEST} {words} tests")
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)
    assert "75%" in (yard.context.logs / "TC-001.log").read_text()
    own = "test_price.TestTotal.test_total"
    name = "tests/test_price.py::TestTotal::test_total" if COVERAGE_MEASURES else own
    assert shown(found)["src/price.py", name] == "2,4"


MANY_WAYS = """\
import functools, os, threading, unittest
import price

def outside():
    return 1

def wrapped(run):
    @functools.wraps(run)
    def test_wrapped(*given):
        return run(*given)
    return test_wrapped

class Base:
    def test_inherited(self):
        outside()

class TestMany(Base, unittest.TestCase):
    def setUp(self):
        outside()

    def test_subtests(self):
        for n in (0, 1):
            with self.subTest(n=n):
                price.total([n])

    @wrapped
    def test_decorated(self):
        price.total([])

    @staticmethod
    def test_static():
        outside()

    def test_text(self):
        code = compile("x = 1", __file__, "exec")
        exec(code, {"__file__": __file__})
        exec(compile("y = 2", "made.py", "exec"), {"__file__": __file__})

    def test_thread(self):
        thread = threading.Thread(target=outside)
        thread.start()
        thread.join()

    def test_fork(self):
        if os.fork() == 0:
            price.total([1])
            os._exit(0)
        os.wait()

def test_plain():
    outside()

test_plain()

class Posing:
    __class__ = property(lambda self: Base)

def test_posed(self):
    outside()

posing = Posing()
posing.test_posed = functools.partial(test_posed, posing)
posing.test_posed()
"""
BEFORE = "import sys, unittest; "
RUN = "unittest.main(module=None, argv=[sys.argv[0], *sys.argv[1:]])"


def test_the_tracer_alone_tells_what_all_of_coverage_tells(tmp_path):
    """A program that has loaded coverage.py already is measured by all of it."""
    told = []
    for name, before in (("alone", BEFORE), ("whole", f"import coverage; {BEFORE}")):
        (tmp_path / name).mkdir()
        yard = Yard(tmp_path / name)
        yard.write("price.py", PRICE).write("test_price.py", MANY_WAYS)
        found = yard.proved(f"{sys.executable} -c '{before}{RUN}' -q test_price")
        left = {file.name.partition(".")[0] for file in yard.data().iterdir()}
        assert left == {"about", "lines" if name == "alone" else WHOLE}
        told.append((shown(found), found.coverage, dict(found.tools)))
    alone, whole = told
    assert alone == whole
    assert len(alone[0]) > 10


@pytest.mark.parametrize(
    ("old", "new", "files"),
    [
        (b'"activity", ', b"", {WHOLE}),
        (b"_HELD = 1 << 20", b"_HELD = 1", {"lines"}),
        (b"_LARGEST = 1 << 25", b"_HELD = _LARGEST = 1", {"lines"}),
    ],
    ids=["a tracer that is not known", "written often", "many files"],
)
def test_however_lines_are_kept_they_are_told(yard, monkeypatch, old, new, files):
    change_injected(monkeypatch, "line_tracer.py", {old: new})
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    found = yard.proved(f"{UNITTEST} test_price")
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)
    assert shown(found)["price.py", "test_price.TestTotal.test_total"] == "2,4"
    left = [file.name.partition(".")[0] for file in yard.data().iterdir()]
    assert set(left) == {"about", *files}
    assert (left.count("lines") > 1) == (b"_LARGEST" in new)


def test_coverage_is_not_loaded_to_measure(yard):
    yard.write("price.py", PRICE)
    said = "import sys\nprint('loaded:', sorted({'coverage', 'sqlite3'} & set(sys.modules)))\n"
    yard.write("test_price.py", said + TEST_TOTAL)
    yard.proved(f"{UNITTEST} test_price")
    assert "loaded: []" in (yard.context.logs / "TC-001.log").read_text()


ITSELF = """\
import coverage, unittest
import price

class TestItself(unittest.TestCase):
    def test_measures(self):
        measuring = coverage.Coverage(data_file=None, include=["price.py"])
        measuring.start()
        price.total([1, 2])
        measuring.stop()
        price.total([])
        assert measuring.get_data().lines(price.__file__) == [2, 4]

    def test_after(self):
        price.tax()
"""


@pytest.mark.parametrize("starts", [True, False])
def test_a_program_that_starts_coverage_itself_still_gives_all_lines(yard, starts):
    text = ITSELF
    if not starts:
        text = text.replace(".start()", ".get_data()").replace(".stop()", ".get_data()")
        text = text.replace("lines(price.__file__) == [2, 4]", "measured_files() == set()")
    yard.write("price.py", PRICE + "\n\ndef tax():\n    return 1\n").write("test_price.py", text)
    found = yard.proved(f"{UNITTEST} test_price", coverage=100)
    assert found.findings == ()
    assert found.coverage.percent == 100


def test_a_program_that_starts_coverage_and_is_terminated_still_gives_all_lines(yard):
    yard.write("price.py", PRICE)
    lines = ("import coverage, os, signal", "coverage.Coverage(data_file=None).start()")
    end = "import price\nprice.total([1])\nos.kill(os.getpid(), signal.SIGTERM)\n"
    yard.stands("a.py", "\n".join((*lines, end)))
    found = yard.proved(f"{sys.executable} a.py || test $? = 143")
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)


FORKS = """\
import os

def test_before():
    return 1

test_before()
for _ in range(3):
    if os.fork() == 0:
        import price
        os._exit(0)
    os.wait()
"""


def test_a_fork_does_not_tell_again_what_its_parent_tells(yard):
    yard.write("price.py", PRICE).stands("a.py", FORKS)
    found = yard.proved(f"{sys.executable} a.py")
    assert shown(found)["price.py", ""] == "1"
    assert shown(found)["a.py", "__main__.test_before"] == "4"
    texts = [file.read_text() for file in yard.data().glob("lines.*")]
    assert len(texts) == 4
    assert "".join(texts).count("__main__.test_before") == 1


FAKED = """\
import os, sys, types
import price

faked = types.ModuleType("os")
faked.__dict__.update(os.__dict__, open=None, write=None, close=None)
sys.modules["_runner_tracer"].os = faked
price.total([1])
"""


def test_a_faked_file_system_takes_no_lines(yard):
    """As pyfakefs does: it puts its own `os` into every module that is loaded."""
    yard.write("price.py", PRICE).stands("a.py", FAKED)
    assert yard.proved(f"{sys.executable} a.py").coverage == Coverage(75.0, 4, 70, 75.0)


DEEP = """\
LATE = compile("late = 1", "late.py", "exec")

def deep():
    try:
        deep()
    except RecursionError:
        exec(LATE, {})

deep()
exec(LATE, {})
"""


def test_a_file_that_is_first_seen_where_there_is_no_room_is_measured_later(yard):
    yard.write("late.py", "late = 1\n").stands("a.py", DEEP)
    assert shown(yard.proved(f"{sys.executable} a.py"))["late.py", ""] == "1"


def test_a_file_of_the_program_may_be_called_coverage(yard):
    yard.write("coverage.py", "def total(items):\n    return sum(items)\n")
    yard.write("test_price.py", TEST_TOTAL.replace("price", "coverage"))
    found = yard.proved(f"{UNITTEST} test_price", coverage=100)
    assert found.coverage.percent == 100


def test_where_greenlets_may_run_all_of_coverage_measures(yard):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    packages = yard.folder / "x-packages"
    packages.mkdir()
    (packages / "greenlet.py").write_text("from threading import current_thread as getcurrent\n")
    found = yard.proved(f"PYTHONPATH={packages} {UNITTEST} test_price")
    assert found.coverage.percent == 75
    assert {file.name.partition(".")[0] for file in yard.data().iterdir()} == {"about", WHOLE}


# --- whose coverage.py it is -----------------------------------------------------------


def test_an_environment_without_coverage_is_measured_by_ours(yard):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    python = _venv(yard)
    bare = f"{python} -c 'import coverage'"
    assert subprocess.run(bare, shell=True, capture_output=True, check=False).returncode
    found = yard.proved(f"{python} -m unittest -q test_price")
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)
    assert "pytest" not in dict(found.tools)


def test_ours_brings_no_other_package_of_ours(yard):
    yard.write("price.py", "try:\n    import rich\nexcept ImportError:\n    print('none')\n")
    yard.proved(f"{_venv(yard)} price.py")
    assert "none" in (yard.context.logs / "TC-001.log").read_text()


@pytest.mark.parametrize(("word", "refuses"), [("warn", False), ("fail", True)])
def test_where_no_tracer_runs_the_setting_decides(yard, monkeypatch, word, refuses):
    change_injected(monkeypatch, "python_tracer.py", {b"import time": b"import no_time"})
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    yard.variables = {"RUNNER_COVER_OURS": ""}
    found = yard.proved(
        f"{_venv(yard)} -m unittest -q test_price", settings={"coverage_missing": word}
    )
    (finding,) = found.findings
    assert finding.refuses is refuses
    assert finding.message.startswith(
        "coverage could not be measured: coverage.py is missing for Python 3."
    )
    assert "pip install coverage" in finding.hint
    assert found.coverage is None
    assert found.proof.verdict == ("fail" if refuses else "skipped")


def _venv(yard):
    folder = yard.folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


# --- data that is not what it should be ------------------------------------------------


def test_an_interpreter_that_ignores_its_variables_is_told(yard):
    yard.write("price.py", PRICE)
    found = yard.proved(f"{sys.executable} -I price.py")
    (finding,) = found.findings
    assert not finding.refuses
    assert finding.message == (
        "coverage could not be measured: the test contracts ran no Python code that can be measured"
    )
    assert finding.path == "price.py"
    assert found.coverage is None


def test_damaged_data_is_no_data_and_no_crash(yard):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    yard.set_up(f"{UNITTEST} test_price")
    yard.run()
    (lines,) = yard.data().glob("lines.*")
    whole = lines.read_text()
    path = json.dumps(str(yard.tree / "price.py"))
    rows = f'["", {path}, "0g"]\n[1, {path}, "ff"]\n["", {path}]\n["", 1, "ff"]\n[[]]\n{{}}\n1\n'
    lines.write_text(f'{rows}["", {path}, 255]\n["", {path}, "{"ff" * (1 << 18)}"]\n{whole[:20]}')
    (yard.data() / "lines.folder.jsonl").mkdir()
    (yard.data() / "lines.deep.jsonl").write_text("[" * 100_000)
    (yard.data() / "data.torn").write_bytes(b"SQLite format 3\0" + b"x" * 50)
    (yard.data() / "data.empty").write_bytes(b"")
    (yard.data() / "data.folder").mkdir()
    (yard.data() / "about.jsonl").write_text('{"coverage": "7"\n[1]\nnonsense\n' + "[" * 100_000)
    (finding,) = yard.weigh().findings
    assert "could not be measured" in finding.message


@pytest.mark.parametrize("name", ["\ud800.py", "pri\0ce.py"])
def test_a_path_that_no_file_can_have_is_passed_over(yard, name):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    yard.set_up(f"{UNITTEST} test_price").run()
    row = json.dumps(["", str(yard.tree / name), "02"])
    (yard.data() / "lines.other.jsonl").write_text(row)
    found = yard.weigh()
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)
    assert {row.path for row in found.observed} == {"price.py", "test_price.py"}


def test_what_a_program_says_of_itself_can_be_written_down(yard):
    yard.write("price.py", PRICE)
    name = "T.test_odd.__qualname__ = chr(0xD800)"
    text = (
        f"import price\nclass T:\n    def test_odd(self):\n        pass\n{name}\nT().test_odd()\n"
    )
    yard.stands("a.py", text).set_up(f"{sys.executable} a.py").run()
    with (yard.data() / "about.jsonl").open("a") as about:
        about.write(json.dumps({"pytest": "\ud800"}) + "\n")
    found = yard.weigh()
    assert shown(found)["a.py", "__main__.?"] == "4"
    assert dict(found.tools)["pytest"] == "?"


def test_a_pipe_in_the_place_of_a_file_that_ran_is_not_waited_for(yard):
    yard.stands("rate.py", "RATE = 1\n").write("price.py", "import rate\n" + PRICE)
    yard.write("test_price.py", TEST_TOTAL).set_up(f"{UNITTEST} test_price")
    yard.run()
    (yard.tree / "rate.py").unlink()
    os.mkfifo(yard.tree / "rate.py")
    assert {row.path for row in yard.weigh().observed} == {"price.py", "test_price.py"}


def test_data_of_another_tree_does_not_count(yard):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    elsewhere = yard.folder / "elsewhere"
    yard.set_up(f"cd {elsewhere} && {UNITTEST} test_price")
    shutil.copytree(yard.tree, elsewhere)
    assert yard.run()[0].passed
    found = yard.weigh()
    assert found.coverage is None
    assert found.observed == ()


def test_what_an_earlier_run_left_does_not_count(yard):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    assert yard.proved(f"{UNITTEST} test_price").coverage
    outside = yard.folder / "outside"
    shutil.move(yard.data(), outside)
    yard.data().symlink_to(outside)
    found = yard.proved(f"{sys.executable} -I -c 'pass'")
    assert found.coverage is None
    assert list(outside.iterdir()), "a link that a command left is not followed"


def test_a_shim_that_a_command_rewrote_is_made_right_again(yard):
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    spoil = f"echo 'raise SystemExit(9)' > {yard.folder}/box/shim/sitecustomize.py"
    found = yard.proved(spoil, f"{UNITTEST} test_price")
    assert found.coverage.percent == 75


def test_of_very_many_tests_only_the_files_are_kept(yard, monkeypatch):
    from runner.gates.coverage import lines

    monkeypatch.setattr(lines, "MOST_ROWS", 3)
    yard.write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    found = yard.proved(f"{UNITTEST} test_price")
    assert shown(found) == {("price.py", ""): "1-2,4", ("test_price.py", ""): "1,3,6-8"}


def test_installed_packages_are_not_observed(yard):
    yard.write("price.py", "import sys\nsys.path.append('lib/site-packages')\nimport dep\n")
    yard.stands("lib/site-packages/dep.py", "X = 1\n")
    found = yard.proved(f"{sys.executable} price.py")
    assert {row.path for row in found.observed} == {"price.py"}


def test_failing_tests_are_the_finding_not_the_lines_they_did_not_reach(yard):
    from dataclasses import make_dataclass

    from msgspec.structs import replace

    from runner.gates import coverage_gate
    from runner.gates.base import GateContext
    from runner.model import Proof, Verdict

    yard.write("price.py", PRICE)
    yard.set_up("true")
    failed = Proof("TC-001", "test", "true", Verdict.FAIL, 1, 0.1, "d")
    context = yard.context
    if hasattr(context, "proofs"):
        context = replace(context, proofs=(failed,))
    else:
        known = make_dataclass(
            "Known", [("proofs", tuple, (failed,))], bases=(GateContext,), frozen=True
        )
        context = known(**{name: getattr(context, name) for name in GateContext.__struct_fields__})
    assert coverage_gate.prove(own_check("coverage_gate", context), context).findings == ()


def test_the_programs_own_output_and_variables_stay_as_they_are(yard):
    yard.write("say.py", "import json, sys\nprint(json.dumps([sys.path[0], sys.argv]))\n")
    yard.proved(f"{sys.executable} -W error say.py one")
    said = (yard.context.logs / "TC-001.log").read_text()
    assert json.loads(said) == [str(yard.tree), ["say.py", "one"]]
