"""Failures that a cache keeps for ever, where the plan wants them asked again, by running."""

import shutil
import subprocess

import pytest
from coverage_bench import Yard
from test_gates_mutation_python import COLLECTED, UNITTEST, proven

from runner.gates import failure_cache, planned_behaviour
from runner.gates.mutation import run_mutants, survivors
from runner.model import Severity

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 120.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 8.0)


LOADER = """import asyncio


class Loader:
    def __init__(self, load):
        self.load = load
        self.known = {}

    async def get(self, key):
        if key not in self.known:
            self.known[key] = asyncio.ensure_future(self.load(key))
        try:
            return await self.known[key]
        except OSError:
            DROP
            raise
"""
DROPS = LOADER.replace("DROP", "self.known.pop(key, None)")
KEEPS = LOADER.replace("DROP", "pass")
MEMO = """def memo(function):
    known = {}

    def asked(key):
        if key not in known:
            try:
                known[key] = True, function(key)
            except OSError as error:
                known[key] = False, error
        good, value = known[key]
        if not good:
            raise value
        return value

    return asked
"""
ONCE = """import asyncio
import unittest

from shop import SHOP


class Source:
    def __init__(self, *failures):
        self.failures = list(failures)
        self.calls = []

    async def load(self, key):
        return self.ask(key)

    def ask(self, key):
        self.calls.append(key)
        if self.failures:
            raise self.failures.pop()
        return key.upper()


def refused(call, *given):
    try:
        call(*given)
    except OSError:
        return
    raise AssertionError("no error")


"""
LOADS = (
    ONCE.replace("SHOP", "Loader")
    + """def test_once():
    async def run():
        source = Source()
        loader = Loader(source.load)
        assert [await loader.get("a"), await loader.get("a")] == ["A", "A"]
        assert source.calls == ["a"]
    asyncio.run(run())


def test_failure():
    async def run():
        loader = Loader(Source(OSError("a")).load)
        try:
            await loader.get("a")
        except OSError:
            MORE
            return
        raise AssertionError("no error")
    asyncio.run(run())
"""
)
ONLY = LOADS.replace("MORE", "pass")
AGAIN = LOADS.replace("MORE", "assert await loader.get('a') == 'A'")
MEMOS = (
    ONCE.replace("SHOP", "memo")
    + """def test_once():
    source = Source()
    asked = memo(source.ask)
    assert [asked("a"), asked("a")] == ["A", "A"]
    assert source.calls == ["a"]


def test_failure():
    refused(memo(Source(OSError("a")).ask), "a")
"""
)
FORGETS = "what failed is not kept: the next `{}` asks again, once for each key"


def said(tmp_path, code, tests, line, **settings):
    yard = Yard(tmp_path)
    yard.write("shop.py", code).write("test_shop.py", tests + COLLECTED)
    bench = proven(yard, f"{UNITTEST} test_shop", acceptance=(line,), **settings)
    (check,) = planned_behaviour.checks(bench.task, bench.settings)
    found = planned_behaviour.prove(check, bench).findings
    return [(one.severity, one.message) for one in found if "kept for ever" in one.message]


@pytest.mark.parametrize(
    ("code", "tests", "line", "count"),
    [
        (KEEPS, ONLY, FORGETS.format("Loader.get"), 1),
        (DROPS, ONLY, FORGETS.format("Loader.get"), 1),
        (DROPS, AGAIN, FORGETS.format("Loader.get"), 0),
        (KEEPS, ONLY, "`Loader` asks once for each key", 0),
        (KEEPS, ONLY, "`Loader` retries: what failed is tried again, 3 attempts are kept", 0),
        (KEEPS, ONLY, FORGETS.format("Store.get"), 0),
        (MEMO, MEMOS, FORGETS.format("memo"), 1),
    ],
)
def test_a_failure_that_no_test_asks_for_again_is_told(tmp_path, code, tests, line, count):
    found = said(tmp_path, code, tests, line)
    assert [severity for severity, _ in found] == [Severity.WARNING] * count


def test_who_keeps_the_failure_is_named_and_strict_asks(tmp_path):
    ((severity, message),) = said(tmp_path, MEMO, MEMOS, FORGETS.format("memo"), mutation="strict")
    assert severity is Severity.QUESTION
    assert message == (
        "the plan wants what failed asked again, and no test asks again: with the first"
        " failure of memo kept for ever every test passes"
    )


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        ("It caches. Errors are not cached", "Errors are not cached"),
        ("A promise that rejects is forgotten, others are kept", "A promise that"),
        ("Keeps each result. A rejected promise is dropped", "A rejected promise is dropped"),
        ("memoizes; after an exception the next call loads again", "memoizes; after an"),
        ("Never caches a failure", "Never caches a failure"),
        ("An invalid key is an error; results are cached", ""),
        ("A call that fails is made again", ""),
        ("Keeps the last error. It is tried again, up to three attempts", ""),
    ],
)
def test_sentences_that_want_failures_forgotten(plan, wanted):
    found = failure_cache.forgetting_sentence(plan)
    assert found.startswith(wanted) if wanted else not found


SCRIPT = """export function memo(load) {
  const known = new Map();
  return (key) => known.get(key) ?? known.set(key, load(key)).get(key);
}
export const shared = async (key, load) => {
  return load(key);
};
export class Loader {
  #calls = 0;
  constructor(load) { this.load = load; }
  async get(key) {
    this.#calls += 1;
    return await this.load(key);
  }
}
"""
ASKS = """import { memo, shared, Loader } from './a.mjs';
let left = 1;
const load = async (key) => { if (left-- > 0) throw new Error('down'); return key; };
const said = async (call) => {
  left = 1;
  const one = [];
  for (let n = 0; n < 2; n += 1) one.push(await call().catch((error) => error.message));
  return one.join(' ');
};
const loader = new Loader(load);
const asked = memo(load);
console.log(await said(() => asked('a')), '|', await said(() => shared('a', load)), '|',
  await said(() => loader.get('a')), '|', await loader.get('b'));
"""


def printed(tmp_path, named, *, always=False):
    ran = range(1, SCRIPT.count("\n") + 1)
    mutant = failure_cache.failing("a.mjs", SCRIPT.encode(), named, ran, always=always)
    text = mutant.apply_to(SCRIPT.encode()) if mutant else SCRIPT.encode()
    (tmp_path / "a.mjs").write_bytes(text)
    (tmp_path / "b.mjs").write_text(ASKS)
    node = shutil.which("node") or "node"
    return subprocess.run(
        [node, "b.mjs"], check=False, cwd=tmp_path, capture_output=True, text=True
    )


@needs_node
def test_scripts_keep_their_first_failure(tmp_path):
    assert printed(tmp_path, ()).stdout == "down down | down a | down a | b\n"
    every = printed(tmp_path, ("memo", "shared", "Loader"))
    assert every.stdout == "down down | down down | down down | b\n", every.stderr
    assert printed(tmp_path, ("shared",)).stdout == "down down | down down | down a | b\n"


@needs_node
def test_scripts_that_give_nothing_fail_by_a_claim(tmp_path):
    ran = printed(tmp_path, ("memo",), always=True)
    assert "AssertionError: nothing is given any more" in ran.stderr
    assert "code: 'ERR_ASSERTION'" in ran.stderr  # by which node's own tests tell a claim
