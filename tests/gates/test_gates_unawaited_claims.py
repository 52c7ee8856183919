"""Tests that start work with their only assertions in it, and end, are told."""

import pytest

from runner.gates.idle_claims import idle_claims
from runner.gates.unawaited_claims import WHY


def said(path, text):
    return [line for line, _, why in idle_claims(path, text.encode()) if why == WHY]


def go(body, before=""):
    return f"package a\n\nfunc TestIt(t *testing.T) {{\n{before}\tgo func() {{\n{body}\t}}()\n"


ASKS = '\t\tif n := Count("a"); n != 2 {\n\t\t\tt.Error(n)\n\t\t}\n'
SENDS = '\t\tif n := Count("a"); n != 2 {\n\t\t\tdone <- "no"\n\t\t}\n'
LOOKS = "\tselect {\n\tcase said := <-done:\n\t\tt.Log(said)\n\tdefault:\n\t}\n"
PYTHON = "def test_it():\n    def check():\n        assert f(1) == 2\n"
TASK = "async def test_it():\n    async def check():\n        assert await f(1) == 2\n"
SCRIPT = "it('counts', () => {\n"
TOLD = {
    "goroutine": ("a_test.go", go(ASKS) + "}\n"),
    "goroutine, looked at without waiting": (
        "a_test.go",
        go(SENDS, "\tdone := make(chan string)\n") + LOOKS + "}\n",
    ),
    "thread": ("test_a.py", PYTHON + "    threading.Thread(target=check).start()\n"),
    "task": ("test_a.py", TASK + "    asyncio.create_task(check())\n"),
    "pool": ("test_a.py", PYTHON + "    POOL.submit(check)\n"),
    "promise": (
        "a.test.js",
        SCRIPT + "  count('a').then((n) => {\n    expect(n).toBe(2);\n  });\n});\n",
    ),
    "promise, swallowed": (
        "a.test.ts",
        (
            "test('x', function () {\n  Promise.resolve().then(() => assert.equal(f(), 2))"
            ".catch(() => {});\n});\n"
        ),
    ),
    "timer": ("a.test.js", SCRIPT + "  setTimeout(() => expect(f()).toBe(2), 10);\n});\n"),
}


@pytest.mark.parametrize("case", TOLD.values(), ids=TOLD)
def test_work_that_nobody_waits_for_is_told_where_all_claims_stand_in_it(case):
    assert len(said(*case)) == 1


WAITS = "\tdone := make(chan string)\n"
FINE = {
    "goroutine, waited for": ("a_test.go", go(ASKS) + "\twg.Wait()\n}\n"),
    "goroutine, received from": (
        "a_test.go",
        go(SENDS, WAITS) + "\tif s := <-done; s != x {\n\t\tt.Error(s)\n\t}\n}\n",
    ),
    "goroutine, with a limit": (
        "a_test.go",
        go(SENDS, WAITS)
        + "\tselect {\n\tcase <-done:\n\tcase <-time.After(9):\n\t\tt.Fatal()\n\t}\n}\n",
    ),
    "server beside the test": (
        "a_test.go",
        go("\t\terr := serve()\n\t\tif err != nil {\n\t\t\tt.Error(err)\n\t\t}\n")
        + "\trequire.Equal(t, get(), 1)\n}\n",
    ),
    "goroutine in the product": (
        "a.go",
        go(ASKS).replace("TestIt(t *testing.T)", "Serve()") + "}\n",
    ),
    "thread, joined": (
        "test_a.py",
        PYTHON + "    t = Thread(target=check)\n    t.start()\n    t.join()\n",
    ),
    "thread beside an assertion": (
        "test_a.py",
        PYTHON + "    Thread(target=check).start()\n    assert f(2)\n",
    ),
    "task, awaited": ("test_a.py", TASK + "    await asyncio.create_task(check())\n"),
    "pool, at the end of its block": (
        "test_a.py",
        PYTHON + "    with Pool() as p:\n        p.submit(check)\n",
    ),
    "no claim in it": (
        "test_a.py",
        "def test_it():\n    def run():\n        f()\n    Thread(target=run).start()\n",
    ),
    "promise, returned": (
        "a.test.js",
        SCRIPT + "  return f().then((n) => {\n    expect(n).toBe(2);\n  });\n});\n",
    ),
    "promise, awaited": (
        "a.test.js",
        "it('x', async () => {\n  await f().then((n) => expect(n).toBe(2));\n});\n",
    ),
    "called back": (
        "a.test.js",
        "it('x', (done) => {\n  f().then((n) => { expect(n).toBe(2); done(); });\n});\n",
    ),
    "a clock of its own": (
        "a.test.js",
        SCRIPT
        + "  vi.useFakeTimers();\n  setTimeout(() => expect(f()).toBe(2), 10);\n"
        + "  vi.runAllTimers();\n});\n",
    ),
    "a claim about the promise": (
        "a.test.js",
        SCRIPT + "  expect(f().then((n) => n)).resolves.toBe(2);\n});\n",
    ),
}


@pytest.mark.parametrize("case", FINE.values(), ids=FINE)
def test_work_that_is_waited_for_or_is_not_all_is_not_told(case):
    assert said(*case) == []
