"""A project on another Python than the runner's: what is injected runs there and measures lines."""

import subprocess
import sys
from pathlib import Path

import coverage
import pytest
from coverage_bench import PRICE, TEST_TOTAL, Yard, change_injected
from test_gates_coverage_python import BEFORE, MANY_WAYS, RUN, shown

from runner.gates import contract_tests, shim
from runner.gates.base import Check
from runner.model import Coverage, Verdict
from runner.process.limits import Limits

SUPPORTED = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
FOLDER = Path(shim.__file__).parent
INJECTED = (*shim._FILES, "../contracts/inside/describe.py", "../contracts/inside/serve.py")
"""What runs in an interpreter of the project; the other scripts run on the runner's own."""


def find_python(version):
    """The newest interpreter of a version under ~/.pyenv/versions, else one on PATH."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} under ~/.pyenv/versions")
    return found[-1]


@pytest.fixture(params=SUPPORTED)
def python(request):
    return find_python(request.param)


@pytest.mark.parametrize("name", INJECTED)
def test_every_injected_file_compiles_and_loads_there(python, name):
    program = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='injected')"
    words = [python, "-W", "error", "-c", program, FOLDER / name]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not ended.returncode, ended.stderr


def test_a_program_that_settrace_slows_down_too_much_is_not_measured_to_its_end(
    tmp_path, monkeypatch
):
    changed = {b"_LEAST = 1.0": b"_LEAST = 0.0", b"SLOWEST = 5": b"SLOWEST = 1"}
    change_injected(monkeypatch, "python_tracer.py", {**changed, b"1 << 14": b"4"})
    yard = Yard(tmp_path)
    yard.variables = {"RUNNER_COVER_OURS": ""}
    yard.write("price.py", PRICE + "\n\ndef tax():\n    return 1\n")
    yard.write("test_price.py", TEST_TOTAL)
    found = yard.proved(f"{find_python('3.10')} -m unittest -q test_price")
    (finding,) = found.findings
    assert not finding.refuses
    assert "tracing without it is over 1 times slower" in finding.message
    assert found.coverage is None
    assert found.proof.verdict is Verdict.SKIPPED


@pytest.mark.parametrize("clock", [True, False], ids=["of the runner", "of the test"])
def test_a_limit_that_does_not_hold_while_lines_are_traced_changes_no_verdict(tmp_path, clock):
    yard = Yard(tmp_path).write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    begun = "import sys, time\nif sys.gettrace(): " + (
        "time.sleep(9)" if clock else "raise ValueError"
    )
    yard.write("price.py", f"{PRICE}\n{begun}\n")
    yard.set_up(f"{find_python('3.10')} -m unittest -q test_price")
    (contract,) = yard.context.task.test_contracts
    check = Check(contract.id, "test", contract.command, Limits(3, 3, 3))
    found = contract_tests.prove(check, yard.context)
    assert found.proof.verdict is Verdict.FLAKY
    assert "passes without it" in found.proof.note
    weighed = yard.weigh()
    assert weighed.coverage is None
    assert "a test fails under coverage measurement" in weighed.findings[0].message


STATIC = """\
    @staticmethod
    def test_static():
        outside()

"""
"""Before Python 3.11 neither coverage.py nor we know a static method for a test."""


def measured(folder, python, **variables):
    folder.mkdir()
    yard = Yard(folder)
    yard.variables = variables
    yard.write("price.py", PRICE).write("test_price.py", MANY_WAYS.replace(STATIC, ""))
    return yard.proved(f"{python} -c '{BEFORE}{RUN}' -q test_price")


def test_its_lines_are_those_that_coverage_tells(python, tmp_path):
    expected = measured(tmp_path / "own", sys.executable)
    found = measured(tmp_path / "other", python, RUNNER_COVER_OURS="")
    assert shown(found) == shown(expected)
    assert found.coverage == expected.coverage
    assert dict(found.tools)["tracer"] in ("sys.settrace", "sys.monitoring")


@pytest.mark.parametrize("version", ["3.12", "3.13"])
@pytest.mark.parametrize("core", ["pytrace", "sysmon"])
def test_a_program_that_measures_itself_keeps_its_report_beside_our_monitoring(
    tmp_path, monkeypatch, version, core
):
    monkeypatch.setenv("COVERAGE_CORE", core)
    packages = tmp_path / "own/site-packages"
    packages.mkdir(parents=True)
    (packages / "coverage").symlink_to(Path(coverage.__file__).parent)
    yard = Yard(tmp_path).write("price.py", PRICE).write("test_price.py", TEST_TOTAL)
    yard.stands(".coveragerc", "[run]\nomit = price.py\n")
    line = f"PYTHONPATH={packages} {find_python(version)} -m coverage"
    found = yard.proved(f"{line} run -m unittest -q test_price && {line} report")
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)
    assert shown(found)["price.py", "test_price.TestTotal.test_total"] == "2,4"
    assert dict(found.tools)["tracer"] == "sys.monitoring"
    report = (yard.context.logs / "TC-001.log").read_text()
    assert "test_price.py" in report
    assert "\nprice.py" not in report, "what the project leaves out stays left out for it"


THROWN = """\
import asyncio, unittest
import price

async def fail():
    await asyncio.sleep(0)
    raise ValueError

class TestThrown(unittest.IsolatedAsyncioTestCase):
    async def test_thrown(self):
        future = asyncio.ensure_future(fail())
        with self.assertRaises(ValueError):
            await future
        price.total([])
"""


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_a_coroutine_that_goes_on_by_an_exception_is_still_its_test(tmp_path, version):
    yard = Yard(tmp_path).write("price.py", PRICE).write("test_price.py", THROWN)
    found = yard.proved(f"{find_python(version)} -m unittest -q test_price")
    assert shown(found)["price.py", "test_price.TestThrown.test_thrown"] == "2-3"


def test_syntax_that_is_newer_than_the_runners_python_is_measured(tmp_path):
    yard = Yard(tmp_path)
    yard.write("price.py", f"type Number = int\n\n{PRICE}").write("test_price.py", TEST_TOTAL)
    found = yard.proved(f"{find_python('3.13')} -m unittest -q test_price")
    assert found.coverage == Coverage(80.0, 5, 70, 80.0)
    assert shown(found)["price.py", "test_price.TestTotal.test_total"] == "4,6"
