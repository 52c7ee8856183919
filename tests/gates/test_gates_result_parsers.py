"""Results and counts per test, read from what the tools people use print."""

import shutil
import subprocess
import sys
import time

import pytest
from gates_bench import a_bench, a_check, a_task, put
from msgspec.structs import replace

from runner.gates.check_run import try_check
from runner.gates.contract_tests import prove
from runner.gates.coverage_gate import weigh_proofs
from runner.gates.result_parsers import parse_results, ran_no_test, read_counts
from runner.gates.test_reports import tap_results
from runner.model import Proof, Severity, Verdict, digest_of
from runner.model.grades import grade_of

GO_JSON = """{"Action":"run","Package":"shop","Test":"TestA"}
{"Action":"pass","Package":"shop","Test":"TestA","Elapsed":0}
{"Action":"fail","Package":"shop","Test":"TestB","Elapsed":0}
{"Action":"fail","Package":"shop"}
{"Action":"torn
"""


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (
            "--- PASS: TestA (0.00s)\n    --- FAIL: TestA/x (0.01s)\n",
            "TestA passed, TestA/x failed",
        ),
        ("--- SKIP: TestA (0.00s)\n", "TestA skipped"),
        (
            GO_JSON + '{"Action":"pass","Test":' + "[" * 100_000,
            "shop.TestA passed, shop.TestB failed",
        ),
        (
            "test tests::a ... ok\ntest tests::b ... FAILED\ntest c ... ignored\n",
            "tests::a passed, tests::b failed, c skipped",
        ),
    ],
)
def test_the_tests_that_a_tool_names(output, found):
    results = parse_results(output)
    assert ", ".join(f"{test.id} {test.outcome}" for test in results.tests) == found


def test_a_tool_that_names_none_says_nothing():
    assert parse_results("3 passed in 0.1s\nit went well\n") is None


def test_the_tests_that_node_prints_in_tap_are_named_with_their_groups():
    said = """TAP version 13
# Subtest: a price
ok 1 - a price
  ---
  duration_ms: 0.5
  ...
# Subtest: group
    # Subtest: inner
    not ok 1 - inner
    # Subtest: later
    ok 2 - later # TODO
    1..2
not ok 2 - group
# Subtest: left out
ok 3 - left out # SKIP
1..3
# pass 1
"""
    found = tap_results(said)
    assert [(one.id, str(one.outcome)) for one in found.tests] == [
        ("a price", "passed"),
        ("group > inner", "failed"),
        ("group > later", "xfailed"),
        ("left out", "skipped"),
    ]
    assert tap_results(said.removeprefix("TAP version 13\n")) is None


def test_examples_are_read_as_doctest_tells_them(tmp_path):
    """Of the Python that runs this: each tried one with `-v`, else those that failed."""
    text = ">>> 1 + 1\n2\n>>> for n in (1, 2):\n...     print(n)\n1\n3\n>>> 1 / 0\n>>> 1 + 1\n2\n"
    (tmp_path / "a.md").write_text(text)

    def told(*words):
        call = (sys.executable, "-m", "doctest", *words, "a.md")
        ran = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
        return {one.id: one.outcome.value for one in parse_results(ran.stdout).tests}

    bad = {"doctest > for n in (1, 2): print(n)": "failed", "doctest > 1 / 0": "failed"}
    assert told("-v") == {"doctest > 1 + 1": "passed", **bad}
    assert told() == bad


BLANKS = " " * 50_000
HOSTILE = {
    "jest": f"\u25cf sums \u203a adds{BLANKS}x",
    "vitest": f"FAIL a.test.ts > adds{BLANKS}x",
    "TAP": f"not ok 1 - adds{BLANKS}x",
    "nested": '{"a":' * 5000 + '"Test"',
    "very many": "TAP version 13\n" + "".join(f"ok {n} - test {n}\n" for n in range(8000)),
}


@pytest.mark.parametrize("output", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_tool_prints_is_read_in_its_own_time(output):
    began = time.thread_time()
    parse_results(output)
    tap_results(output)
    assert time.thread_time() - began < 4


UNIT = """\
import unittest
class T(unittest.TestCase):
    def test_good(self):
        pass
    def test_bad(self):
        self.assertEqual(1, {})
"""
GOOD, BAD = "def test_a():\n    assert 1\n", "def test_a():\n    assert 0\n"
INNER = """\
import subprocess, sys
def test_a(tmp_path):
    (tmp_path / "test_in.py").write_text("def test_x(): assert 0")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-s", str(tmp_path)])
    assert done.returncode == 1
"""
INNER_UNITTEST = """\
import io, unittest
class T(unittest.TestCase):
    def test_a(self):
        class Inner(unittest.TestCase):
            def runTest(self):
                self.fail()
        result = unittest.TextTestRunner(stream=io.StringIO()).run(Inner())
        self.assertEqual(1, len(result.failures))
"""
NODE = """\
const test = require('node:test'), assert = require('node:assert');
test('a', () => assert.equal(1, {}));
"""
NODE_INNER = """\
const test = require('node:test'), assert = require('node:assert');
const {{ spawnSync }} = require('node:child_process');
test('a', () => {{
  const env = {{ ...process.env, NODE_TEST_CONTEXT: undefined }};
  const done = spawnSync(process.execPath, ['--test', 'inner.js'], {{ env, stdio: 'inherit' }});
  assert.equal(done.status, 1);
}});
"""
GO = 'package a\nimport "testing"\nfunc TestA(t *testing.T) {{ if 1 != {} {{ t.Fatal() }} }}\n'
STARTED = "import subprocess, sys\nline = [sys.executable, '-m', 'pytest', '-q', 'test_bad.py']\n"
BAD_PYTEST = "python3 -m pytest -q test_bad.py"
BAD_UNITTEST = "python3 -m unittest -q test_u"
NODE_STARTS = """\
const {{ spawnSync }} = require('node:child_process');
const done = spawnSync({}, {{ stdio: 'inherit' }});
"""
TAP = """\
const fs = require('node:fs');
const again = process.argv[2] === 'once' && fs.existsSync('met');
if (process.argv[2] === 'once') fs.writeFileSync('met', '');
console.log(`${again ? '' : 'not '}ok 1 it is so\\n\\n1..1\\n# tests 1`);
console.log(`# pass  ${again ? 1 : 0}\\n# fail  ${again ? 0 : 1}`);
process.on('exit', () => process.exit(again ? 0 : 1));
"""
"""How tape says it: with two blanks, and an exit that it sets once the process ends."""
MOCHA = """\
const { Runner } = require('./runner.js');
const runner = new Runner();
runner.run({ add: process.argv[2] });
"""
RUNNER = """\
exports.Runner = class Runner extends require('node:events') {
  run(tests) {
    this.emit('start');
    for (const [title, word] of Object.entries(tests)) this.emit(word, { title, file: '' });
    this.emit('end');
  }
};
"""
"""Where mocha 12 has its runner: behind a name, in a module with an ending."""
FILES = {
    "node_modules/mocha/lib/mocha.cjs": MOCHA,
    "node_modules/mocha/lib/runner.js": RUNNER,
    "test_u.py": UNIT.format(2),
    "test_v.py": UNIT.format(1),
    "test_good.py": GOOD,
    "test_bad.py": BAD,
    "test_inner.py": INNER,
    "test_inner_unittest.py": INNER_UNITTEST,
    "test_x.py": "import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0\ndef test_b(): 0\n",
    "test_e.py": UNIT.format(1)
    + "    @unittest.expectedFailure\n    def test_e(self): self.fail()\n",
    "test_f.py": "import pathlib\ndef test_a():\n    p = pathlib.Path('met')\n"
    "    met = p.exists()\n    p.touch()\n    assert met\n",
    "run.sh": "#!/bin/sh\npython3 -m unittest -q test_u\necho done\n",
    "run_all.py": "import subprocess, sys\n"
    "subprocess.run([sys.executable, '-m', 'pytest', '-q', 'test_bad.py'], env={'PATH': '/bin'})\n",
    "spawns.py": STARTED + "subprocess.run(line, env={}, close_fds=False)\n",
    "emptied.py": STARTED + "subprocess.run(line, env={})\n",
    "on_purpose.py": "import subprocess, sys\n"
    "def started(*words):\n    return subprocess.run([sys.executable, '-m', *words])\n"
    "assert started('pytest', '-q', 'test_bad.py').returncode == 1\n",
    "unheeded.py": STARTED
    + "done = subprocess.run(line)\nprint('it ended with', done.returncode)\n",
    "shown.py": STARTED + "print(subprocess.run(line, capture_output=True).stdout.decode())\n",
    "always.py": STARTED + "code = subprocess.call(line)\nif code: print('some')\nsys.exit(0)\n",
    "waits.py": STARTED + "child = subprocess.Popen(line)\nprint(child.wait())\n",
    "cut.py": STARTED.replace("test_bad", "test_cut") + "print(subprocess.call(line))\n",
    "all_good.py": STARTED.replace("test_bad", "test_x") + "sys.exit(subprocess.call(line))\n",
    "on_purpose.sh": f"if {BAD_PYTEST}; then echo 'it is to fail'; exit 1; fi\n",
    "both.sh": f"set -e\npython3 -m pytest -q test_good.py\nif {BAD_PYTEST}; then exit 1; fi\n",
    "both_lost.sh": f"python3 -m pytest -q test_good.py\nif {BAD_PYTEST}; then echo; fi\n",
    "ends_well.sh": f"{BAD_PYTEST}\nexit 0\n",
    "tells.sh": f"if {BAD_UNITTEST}; then echo good; else echo bad; fi\n",
    "greps.sh": f"{BAD_PYTEST} > log\ngrep -E 'passed|failed' log\n",
    "unheeded_go.sh": "go test . || echo so\n",
    "on_purpose.js": NODE_STARTS.format("'python3', ['-m', 'pytest', '-q', 'test_bad.py']")
    + "if (done.status !== 1) process.exit(1);\n",
    "unheeded.js": NODE_STARTS.format("'python3', ['-m', 'pytest', '-q', 'test_bad.py']"),
    "unheeded_node.js": NODE_STARTS.format("process.execPath, ['--test', 'bad.test.js']"),
    "tap.js": TAP,
    "unheeded_tap.js": NODE_STARTS.format("process.execPath, ['tap.js']").replace(
        "inherit", "pipe"
    ),
    "again.js": NODE_STARTS.format("process.execPath, ['tap.js', 'once']")
    + "if (done.status) require('node:child_process').spawnSync(process.execPath, "
    "['tap.js', 'once'], { stdio: 'inherit' });\n",
    "prints.js": "console.log('# pass 1\\n# fail 1');\n",
    "test_cut.py": "import os\ndef test_a(): os._exit(0)\n",
    "direct.py": "import unittest, test_u\n"
    "unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromModule(test_u))\n",
    "prints.py": "print('1 failed in 0.10s')\n",
    "Makefile": "on_purpose:\n\t! python3 -m pytest -q test_bad.py\n"
    "lost:\n\tpython3 -m pytest -q test_bad.py; true\n"
    "test:\n\t-python3 -m unittest -q test_u\nprint:\n\tpython3 prints.py\n"
    "good:\n\tpython3 -m pytest -q test_good.py\n",
    "bad.test.js": NODE.format(2),
    "good.test.js": NODE.format(1),
    "inner.js": NODE.format(2),
    "outer.test.js": NODE_INNER.format(),
    "package.json": '{"scripts": {"test": "node --test bad.test.js; true"}}',
    "todo.test.js": "require('node:test')('a', { todo: true }, () => { throw 1 });\n"
    "require('node:test')('b', () => {});\n",
    "go.mod": "module a\n\ngo 1.19\n",
    "a_test.go": GO.format(2),
    "ok/ok_test.go": GO.format(1).replace("package a", "package ok"),
}


def proved(tmp_path, line, **fields):
    """As a worker proves it, past what `validate` says of the line."""
    tree = a_bench(tmp_path).place.tree
    put(tree, FILES)
    cache = {"GOCACHE": "/tmp/runner-go-cache", "GOFLAGS": "-mod=mod", "GO111MODULE": "on"}
    context = a_bench(tmp_path, **cache)
    check = a_check(line, seconds=120, **fields)
    return try_check(check, context)


def needs(line):
    for tool in ("go ", "npm "):
        if (tool in line or line.endswith(f"_{tool.strip()}.sh")) and shutil.which(
            tool.strip()
        ) is None:
            pytest.skip(f"{tool}is not installed")


@pytest.mark.parametrize(
    "line",
    [
        "python3 -m unittest -q test_u; echo done",
        "python3 -m unittest -q test_u | tee x",
        "python3 -m unittest -q test_u || true",
        "python3 direct.py",
        "sh run.sh",
        "make test",
        "python3 -m pytest -q test_bad.py || true",
        "python3 -m pytest -q test_bad.py; python3 -m pytest -q test_good.py",
        "python3 -m pytest -q -p no:terminal test_bad.py & wait",
        "if python3 -m pytest -q test_bad.py; then echo ok; fi",
        "python3 run_all.py",
        "python3 spawns.py",
        "python3 emptied.py",
        "python3 unheeded.py",
        "python3 shown.py",
        "python3 always.py",
        "python3 waits.py",
        "python3 cut.py",
        "python3 -m pytest -q --junitxml=mine.xml test_bad.py; echo done",
        'python3 -c \'import pytest; pytest.main(["-q", "test_bad.py"])\'',
        "x=$(python3 -m pytest -q test_bad.py); echo $x",
        "DB=a python3 -m pytest -q test_f.py; DB=b python3 -m pytest -q test_f.py",
        "node --test bad.test.js | cat",
        "node bad.test.js; true",
        "npm test --silent",
        "go test ./... | tee x",
        "go test . ; go test ./ok",
        "! python3 -m pytest -q test_good.py",
        "! python3 -m pytest -q nothing.py",
        "sh ends_well.sh",
        "sh tells.sh",
        "sh greps.sh",
        "sh both_lost.sh",
        "make lost",
        "node unheeded.js",
        "node unheeded_node.js",
        "sh unheeded_go.sh",
        "node unheeded_tap.js",
        # programs that start tests which are meant to fail: the contract has to say `fails`
        "python3 on_purpose.py",
        "sh on_purpose.sh",
        "sh both.sh",
        "node on_purpose.js",
    ],
)
def test_what_is_reported_to_fail_is_refused_whatever_the_exit(tmp_path, line):
    needs(line)
    trial = proved(tmp_path, line)
    assert not trial.passed
    assert trial.findings()[0].refuses


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("python3 -m pytest -q test_inner.py", 1),
        ("python3 -m unittest -q test_inner_unittest", 1),
        ("python3 -m pytest -q test_inner_unittest.py", 1),
        ("python3 prints.py", None),
        ("node again.js", None),
        ("node prints.js", None),
        ("python3 all_good.py", 1),
        ("make print", None),
        ("make good", 1),
        ("python3 -m pytest -q test_x.py", 1),
        ("python3 -m unittest -q test_e", 2),
        ("python3 -m unittest -q test_v; echo '1 failed in 0.1s'", 2),
        ("rm -f x || true; python3 -m pytest -q test_good.py", 1),
        ("python3 -m pytest -q test_f.py || python3 -m pytest -q --lf test_f.py", 1),
        ("python3 -m pytest -q test_good.py && python3 -m unittest -q test_v", 3),
        ("python3 -m pytest --version && python3 -m pytest -q test_good.py", 1),
        ("! python3 -m pytest -q test_bad.py", 0),
        ('! env -i PATH="$PATH" python3 -m unittest -q test_u 2>/dev/null', None),
        ("node --test good.test.js", 1),
        ("node --test todo.test.js", None),
        ("node --test outer.test.js", 1),
        ("go test ./ok", None),
        ("echo test_good.py | xargs -r python3 -m pytest -q", 1),
        ("for f in test_good.py; do python3 -m pytest -q $f || exit 1; done", 1),
        ("case x in x) python3 -m pytest -q test_good.py;; esac", 1),
        ("cd no || python3 -m pytest -q test_good.py", 1),
        ("find . -name test_good.py -exec python3 -m pytest -q {} +", 1),
        ("python3 -m pytest -q test_good.py >/dev/null 2>&1", 1),
        ('env -i PATH="$PATH" python3 -m unittest -q test_v >/dev/null 2>&1', None),
        ('echo test_v | xargs -r env -i PATH="$PATH" python3 -m unittest -q 2>/dev/null', None),
        ("cat Makefile", None),
        ("! grep -q nothing Makefile", None),
    ],
)
def test_what_is_no_failure_passes(tmp_path, line, passed):
    needs(line)
    trial = proved(tmp_path, line)
    assert trial.passed, trial.findings()
    assert passed in (None, dict(trial.proof.counts).get("passed"))


@pytest.mark.parametrize("word", ["pass", "fail"])
def test_a_runner_of_mocha_that_stands_behind_a_name_names_its_tests(tmp_path, word):
    needs("node ")
    trial = proved(tmp_path, f"node node_modules/mocha/lib/mocha.cjs {word}")
    assert [(test.id, test.bad) for test in trial.results.tests] == [("add", word == "fail")]


def test_text_that_looks_like_a_failure_is_only_told(tmp_path):
    (told,) = proved(tmp_path, "python3 prints.py").notes()
    assert told.severity is Severity.WARNING
    assert told.message == "the output reports that a test failed, but the exit code is 0"


def test_what_failed_and_passed_when_the_command_ran_it_again_is_flaky(tmp_path):
    line = "python3 -m pytest -q test_f.py || python3 -m pytest -q --lf test_f.py"
    trial = proved(tmp_path, line)
    assert trial.flaky == ("test_f.py::test_a",)


@pytest.mark.parametrize(
    ("line", "good"),
    [
        ("python3 -m pytest -q test_bad.py", True),
        ("python3 -m pytest -q test_bad.py; true", True),
        ("python3 -m pytest -q test_good.py", False),
        ("python3 on_purpose.py", True),
        ("python3 -m pytest -q nothing.py", False),
        ("no-such-program", False),
    ],
)
def test_a_contract_may_say_that_its_tests_fail(tmp_path, line, good):
    trial = proved(tmp_path, line, fails=True)
    assert trial.passed is good
    assert trial.proof.note == "failures are expected"


def test_what_a_contract_selects_is_shown(tmp_path):
    context = a_bench(tmp_path)
    put(context.place.tree, FILES)
    check = replace(a_check("python3 -m pytest -q -k test_a test_good.py"))
    assert prove(check, context).proof.note == "selected by -k test_a"


def test_words_that_skip_checks_are_not_run(tmp_path):
    said = prove(a_check("SKIP=all python3 -m pytest -q"), a_bench(tmp_path))
    assert said.proof.note == "not run"
    assert said.findings[0].hint == "remove `SKIP=all` from it"


def test_tests_of_which_nothing_showed_that_they_can_fail_prove_nothing():
    output = digest_of(b"")
    tests = Proof("TC-001", "test", "pytest", Verdict.PASS, 0, 1.0, output, counts=(("passed", 3),))
    idle = weigh_proofs(a_task(outputs=("shop.py",)), (tests,), (), ["shop.py"], {"TC-001"})
    assert grade_of(idle).words == "unproven: nothing showed that its proof can fail"
    assert grade_of(weigh_proofs(a_task(), (tests,), (), [])).words == "proven by tests"


WHAT_IS_SAID = """\
import atexit, sys, unittest
HEAVY = ("ssl", "http.client", "email.parser", "urllib.request")
atexit.register(lambda: print("loaded:", [name for name in HEAVY if name in sys.modules]))
class T(unittest.TestCase):
    def test_a(self):
        with self.subTest(text='<&>"\\n\\t\\x00\\ud800'):
            self.fail('<&>"\\n\\t\\x00 ]]>')
"""


def test_what_unittest_reports_is_kept_whole_and_loads_no_more_than_that(tmp_path):
    put(a_bench(tmp_path).place.tree, {"test_said.py": WHAT_IS_SAID})
    trial = try_check(a_check("python3 -m unittest -q test_said"), a_bench(tmp_path))
    assert "loaded: []" in trial.ran.tail, "each process of a proof would pay for them"
    (test,) = trial.results.tests
    assert test.id == """test_said.T.test_a (text='<&>"\\n\\t\\x00\\ud800')"""
    assert '<&>"\n\t? ]]>' in test.message


# --- how many tests ran, read from the last lines of the tools people use -------------


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("3 passed in 0.12s", {"passed": 3}),
        ("== 1 failed, 2 passed, 1 skipped in 4.50s ==", {"failed": 1, "passed": 2, "skipped": 1}),
        ("1 passed, 1 warning in 0.1s", {"passed": 1}),
        ("2 errors in 0.10s", {"errors": 2}),
        ("no tests ran in 0.00s", {"passed": 0}),
        ("Ran 5 tests in 0.003s\n\nOK", {"passed": 5}),
        ("Ran 5 tests in 0.003s\n\nOK (skipped=5)", {"passed": 0, "skipped": 5}),
        (
            "Ran 5 tests in 0.003s\n\nFAILED (failures=1, errors=1)",
            {"passed": 3, "failures": 1, "errors": 1},
        ),
        ("Ran 3 tests in 0.003s\n\nOK (expected failures=1)", {"passed": 2, "xfailed": 1}),
        (
            (
                "Ran 9 tests in 0.003s\n\nFAILED (failures=1, expected failures=2, skipped=1,"
                " unexpected successes=3)"
            ),
            {"passed": 2, "failures": 4, "skipped": 1, "xfailed": 2},
        ),
        ("Ran 1 test in 0.003s\n\nFAILED (unexpected successes=1)", {"passed": 0, "failures": 1}),
        ("# tests 4\n# pass 3\n# fail 1\n# skipped 0", {"passed": 3, "failed": 1}),
        (
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
            {"passed": 2, "failed": 0, "skipped": 1},
        ),
        ("# tests 2\n# pass  1\n# fail  1\n", {"passed": 1, "failed": 1}),  # tape
        ("1 test failed to convince me\n", {}),
        ("2 passed in 0.1s\nsomething else\n1 passed in 0.2s", {"passed": 1}),
        ("it went well", {}),
        ("", {}),
    ],
)
def test_what_a_tool_counted(output, counts):
    assert dict(read_counts(output)) == counts


@pytest.mark.parametrize(
    ("counts", "none"),
    [
        ({}, False),
        ({"passed": 0}, True),
        ({"skipped": 3}, True),
        ({"passed": 0, "failed": 1}, False),
        ({"passed": 1, "deselected": 9}, False),
    ],
)
def test_whether_not_a_single_test_ran(counts, none):
    assert ran_no_test(tuple(counts.items())) is none
