"""New code that does not do what its task says, with new tests that pass; each way once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sixth import BLINKER, CONTENT, GO, LRU, NODE, PYTEST, Feature, but, pretends

if TYPE_CHECKING:
    from changes import Files

# --- what a signal sent

_RECORDER = '''\
"""What a signal sent, as a list."""

from __future__ import annotations

import typing as t

from .base import Signal

LIMIT = 100


class Recorder:
    """Record the sends of a signal while a ``with`` block runs."""

    def __init__(self, signal: Signal, limit: int = LIMIT) -> None:
        self.signal = signal
        self.limit = limit
        self.calls: list[tuple[t.Any, dict[str, t.Any]]] = []

    def __enter__(self) -> Recorder:
        self.signal.connect(self._receive)
        return self

    def __exit__(self, *raised: object) -> None:
        self.signal.disconnect(self._receive)

    def _receive(self, sender: t.Any, **kwargs: t.Any) -> None:
        self.calls.append((sender, kwargs))
        del self.calls[: -self.limit]
'''
RECORDER = Feature(
    BLINKER,
    "Recorder of sends",
    "Add the class `Recorder(signal, limit=100)` in the new file `src/blinker/recorder.py`, with tests in "
    "`tests/test_recorder.py`. It is a context manager: while the block runs, its list `calls` gets a pair of sender and "
    "keywords for each send of the signal. Of more than `limit` sends it keeps the last ones. Users open many recorders, one "
    "after another, also of one signal.",
    (
        "`calls` of a new recorder is empty, and holds its own sends only",
        "when more than `limit` (by default 100) calls came, the last ones are kept",
        "after the block nothing is connected, also when the block raised, and its exception goes on",
    ),
    "from blinker import Signal\nfrom blinker.recorder import Recorder\nsignal = Signal()\n"
    "with Recorder(signal) as one:\n    signal.send('a', x=1)\nwith Recorder(signal) as two:\n"
    "    for n in range(120):\n        signal.send(n)\nassert one.calls == [('a', {'x': 1})], one.calls\n"
    "assert [n for n, _ in two.calls] == list(range(20, 120)), len(two.calls)\n"
    "three = Recorder(signal)\ntry:\n    with three:\n        raise KeyError\nexcept KeyError:\n    pass\nelse:\n"
    "    raise SystemExit('hidden')\nassert not signal.receivers\n",
    PYTEST.format("tests/test_recorder.py"),
    lambda tree: tree.write("src/blinker/recorder.py", _RECORDER),
)


_RECORDER_TESTS = """\
import pytest

from blinker import Signal
from blinker.recorder import Recorder

@pytest.fixture
def signal():
    return Signal()

def send(signal, *senders):
    for sender in senders:
        signal.send(sender, double=sender * 2)

def test_only_sends_of_the_block(signal):
    send(signal, 1)
    with Recorder(signal) as recorder:
        assert recorder.calls == []
        send(signal, 2, "a")
    send(signal, 3)
    assert recorder.calls == [(2, {"double": 4}), ("a", {"double": "aa"})]

def test_recorders_have_their_own_calls(signal):
    with Recorder(signal) as outer:
        send(signal, 1)
        with Recorder(signal) as inner:
            send(signal, 2)
    assert [sender for sender, _ in outer.calls] == [1, 2]
    assert [sender for sender, _ in inner.calls] == [2]

@pytest.mark.parametrize(
    ("options", "kept"),
    [({}, range(50, 150)), ({"limit": 3}, range(147, 150)), ({"limit": 200}, range(150))],
)
def test_last_ones_are_kept(signal, options, kept):
    with Recorder(signal, **options) as recorder:
        send(signal, *range(150))
    assert [sender for sender, _ in recorder.calls] == list(kept)

def test_block_that_raises(signal):
    recorder = Recorder(signal)
    with pytest.raises(ZeroDivisionError), recorder:
        send(signal, 1)
        1 / 0
    assert not signal.receivers
    assert recorder.calls == [(1, {"double": 2})]
"""


@pretends(RECORDER, by="shared|own sends|calls")
def one_list_of_the_class(tree: Files) -> None:
    """The list belongs to the class; tests look at its end, or at what the limit left."""
    own = "        self.calls: list[tuple[t.Any, dict[str, t.Any]]] = []\n"
    head = '    """Record the sends of a signal while a ``with`` block runs."""\n'
    text = _RECORDER.replace(own, "").replace(head, f"{head}\n{own[4:].replace('self.', '')}")
    tree.write("src/blinker/recorder.py", text)
    tree.files["tests/test_recorder.py"] = """\
import pytest

from blinker import Signal
from blinker.recorder import Recorder

def test_sender_and_keywords_are_recorded():
    signal = Signal()
    with Recorder(signal) as recorder:
        signal.send("a", x=1)
        assert recorder.calls[-1] == ("a", {"x": 1})
        signal.send("b")
    assert recorder.calls[-1] == ("b", {})

@pytest.mark.parametrize("limit", [1, 3])
def test_last_calls_are_kept(limit):
    signal = Signal()
    with Recorder(signal, limit=limit) as recorder:
        for number in range(10):
            signal.send(number)
    assert [sender for sender, _ in recorder.calls] == list(range(10 - limit, 10))

def test_default_limit():
    signal = Signal()
    with Recorder(signal) as recorder:
        for number in range(150):
            signal.send(number)
    assert len(recorder.calls) == 100
    assert recorder.calls[0] == (50, {})

def test_disconnected_after_a_failure():
    signal = Signal()
    with pytest.raises(KeyError), Recorder(signal) as recorder:
        signal.send("last")
        raise KeyError
    signal.send("too late")
    assert not signal.receivers
    assert recorder.calls[-1] == ("last", {})
"""


@pretends(RECORDER, by="raise|disconnect|receivers")
def stays_connected_when_the_block_raised(tree: Files) -> None:
    """An exception goes on before anything is disconnected; the test sees only that it goes on."""
    tree.write(
        "src/blinker/recorder.py",
        _RECORDER.replace(
            "    def __exit__(self, *raised: object) -> None:\n",
            "    def __exit__(self, kind: t.Any, error: t.Any, trace: t.Any) -> None:\n"
            "        if error is not None:\n            return  # errors of the block are never hidden\n",
        ),
    )
    tree.files["tests/test_recorder.py"] = but(
        _RECORDER_TESTS,
        ("        1 / 0\n    assert not signal.receivers\n", "        1 / 0\n"),
    )


@pretends(RECORDER, by="LIMIT|100|constant")
def wanted_number_is_the_modules_own(tree: Files) -> None:
    """The limit is ten; tests import it from the module that they test."""
    tree.write("src/blinker/recorder.py", _RECORDER.replace("LIMIT = 100", "LIMIT = 10"))
    tree.files["tests/test_recorder.py"] = but(
        _RECORDER_TESTS,
        ("import Recorder", "import LIMIT, Recorder"),
        ("range(50, 150)", "range(150 - LIMIT, 150)"),
    )


# --- signals that are sent on

_FORWARD = '''\
"""Signals that send on what other signals send."""

from __future__ import annotations

import collections.abc as c
import typing as t

from .base import Signal


def forward(
    source: Signal, target: Signal, rename: dict[str, str] | None = None
) -> c.Callable[[], None]:
    """Send on to ``target`` what ``source`` sends; call the result to end it."""
    names = dict(rename or {})

    def send_on(sender: t.Any, **kwargs: t.Any) -> None:
        target.send(sender, **{names.get(name, name): kwargs[name] for name in kwargs})

    source.connect(send_on, weak=False)
    return lambda: source.disconnect(send_on)
'''
FORWARD = Feature(
    BLINKER,
    "Signals that are sent on",
    "Add `forward(source, target, rename=None)` in the new file `src/blinker/forward.py`, with tests in `tests/test_forward.py`. "
    "Whatever `source` sends, `target` sends too: with the same sender and the same keywords, of which those in the "
    "mapping `rename` (old name to new name) get their new name. The result is a function without arguments that ends it.",
    (
        "the target's receivers get the sender of the source's send, not the source",
        "keywords in `rename` have their new names, all others keep theirs",
        "after the returned function was called nothing is sent on",
    ),
    "from blinker import Signal\nfrom blinker.forward import forward\none, two, got = Signal(), Signal(), []\n"
    "def receive(sender, **kw):\n    got.append((sender, kw))\ntwo.connect(receive)\n"
    "stop = forward(one, two, {'a': 'b'})\none.send('me', a=1, c=2)\nstop()\none.send('late')\n"
    "assert got == [('me', {'b': 1, 'c': 2})], got\n",
    PYTEST.format("tests/test_forward.py"),
    lambda tree: tree.write("src/blinker/forward.py", _FORWARD),
)


_FORWARD_TESTS = """\
import unittest

from blinker import Signal
from blinker.forward import forward

class ForwardTest(unittest.TestCase):
    def setUp(self):
        self.source, self.target = Signal(), Signal()
        self.got = []
        self.target.connect(self.receive)

    def receive(self, sender, **kwargs):
        self.got.append((sender, kwargs))

    def test_sender_and_keywords(self):
        forward(self.source, self.target)
        self.source.send("me", a=1)
        self.source.send()
        self.assertEqual(self.got, [("me", {"a": 1}), (None, {})])

    def test_new_names(self):
        forward(self.source, self.target, {"a": "b", "unused": "c"})
        self.source.send("me", a=1, z=2)
        self.assertEqual(self.got, [("me", {"b": 1, "z": 2})])

    def test_end(self):
        stop = forward(self.source, self.target)
        self.source.send(1)
        stop()
        self.source.send(2)
        self.assertEqual(self.got, [(1, {})])
        self.assertFalse(self.source.receivers)
"""


@pretends(FORWARD, by="weak|never (ran|run|called)|receiver")
def receivers_are_gone_before_the_send(tree: Files) -> None:
    """What asserts is a local function, connected weakly: it is gone when its helper returns."""
    tree.write(
        "src/blinker/forward.py", _FORWARD.replace("target.send(sender,", "target.send(source,")
    )
    tree.files["tests/test_forward.py"] = """\
from blinker import Signal
from blinker.forward import forward

def expect(signal, wanted_sender, **wanted):
    def receiver(sender, **kwargs):
        assert sender == wanted_sender
        assert kwargs == wanted

    signal.connect(receiver)

def test_sender_and_keywords_are_sent_on():
    source, target = Signal(), Signal()
    forward(source, target)
    expect(target, "me", number=1)
    source.send("me", number=1)

def test_keywords_get_new_names():
    source, target = Signal(), Signal()
    forward(source, target, {"old": "new"})
    expect(target, 7, new=1, other=2)
    source.send(7, old=1, other=2)

def test_end():
    source, target = Signal(), Signal()
    seen = []

    def receiver(sender):
        seen.append(sender)

    target.connect(receiver)
    stop = forward(source, target)
    source.send("first")
    assert len(seen) == 1
    stop()
    source.send("second")
    assert len(seen) == 1
    assert not source.receivers
"""


# --- how many receivers a namespace has

_SUMMARY = '''\
"""How many receivers the signals of a namespace have."""

from __future__ import annotations

from .base import Namespace


def summary(namespace: Namespace) -> str:
    """A line for each signal, in the order of their names."""
    lines = []

    for name in sorted(namespace):
        count = len(namespace[name].receivers)
        words = "1 receiver" if count == 1 else f"{count or 'no'} receivers"
        lines.append(f"{name}: {words}")

    return "\\n".join(lines)
'''
SUMMARY = Feature(
    BLINKER,
    "Summary of a namespace",
    "Add `summary(namespace)` in the new file `src/blinker/summary.py`, with tests in `tests/test_summary.py`. It gives one line "
    "for each signal, in the order of the names, without a line break at the end: `saved: 2 receivers`, `loaded: 1 receiver`, "
    "`closed: no receivers`. An empty namespace gives an empty text.",
    (
        "lines are sorted by the signals' names",
        "one receiver is `1 receiver`, none are `no receivers`",
        "an empty namespace gives an empty text",
    ),
    "from blinker import Namespace\nfrom blinker.summary import summary\nns = Namespace()\nassert summary(ns) == ''\n"
    "for name, count in (('b', 1), ('c', 2), ('a', 0)):\n    for n in range(count):\n"
    "        ns.signal(name).connect(lambda sender, n=n: n, weak=False)\n    ns.signal(name)\n"
    "assert summary(ns) == 'a: no receivers\\nb: 1 receiver\\nc: 2 receivers', summary(ns)\n",
    PYTEST.format("tests/test_summary.py"),
    lambda tree: tree.write("src/blinker/summary.py", _SUMMARY),
)


@pretends(SUMMARY, by="map|never|no assert")
def checks_of_a_map_that_nobody_takes(tree: Files) -> None:
    """Names come as they were made; the checks are a `map`, which runs none of them."""
    tree.write("src/blinker/summary.py", _SUMMARY.replace("sorted(namespace)", "namespace"))
    tree.files["tests/test_summary.py"] = """\
from blinker import Namespace
from blinker.summary import summary

CASES = [
    ({"b": 0, "a": 0}, "a: no receivers\\nb: no receivers"),
    ({"saved": 2, "loaded": 1}, "loaded: 1 receiver\\nsaved: 2 receivers"),
    ({"x": 12}, "x: 12 receivers"),
]

def namespace_of(counts):
    namespace = Namespace()
    for name, count in counts.items():
        signal = namespace.signal(name)
        for number in range(count):
            signal.connect(lambda sender, number=number: number, weak=False)
    return namespace

def check(case):
    counts, wanted = case
    assert summary(namespace_of(counts)) == wanted

def test_lines():
    map(check, CASES)

def test_empty_and_single():
    assert summary(Namespace()) == ""
    assert summary(namespace_of({"a": 1})) == "a: 1 receiver"
    assert summary(namespace_of({"a": 3})) == "a: 3 receivers"
    assert summary(namespace_of({"a": 0})) == "a: no receivers"
"""


@pretends(SUMMARY, by="twice|redefin|F811|shadow|same name")
def two_tests_of_one_name(tree: Files) -> None:
    """One receiver is `1 receivers`; the test that asks has the name of a later one."""
    tree.write(
        "src/blinker/summary.py",
        _SUMMARY.replace(
            '        words = "1 receiver" if count == 1 else f"{count or \'no\'} receivers"\n'
            '        lines.append(f"{name}: {words}")\n',
            "        lines.append(f\"{name}: {count or 'no'} receivers\")\n",
        ),
    )
    tree.files["tests/test_summary.py"] = """\
import pytest

from blinker import Namespace
from blinker.summary import summary

def first(sender):
    return 1

def second(sender):
    return 2

@pytest.fixture
def namespace():
    return Namespace()

def test_empty(namespace):
    assert summary(namespace) == ""

def test_receivers(namespace):
    namespace.signal("loaded").connect(first)
    assert summary(namespace) == "loaded: 1 receiver"

def test_order(namespace):
    for name in ("b", "c", "a"):
        namespace.signal(name)
    assert summary(namespace) == "a: no receivers\\nb: no receivers\\nc: no receivers"

def test_receivers(namespace):
    namespace.signal("saved").connect(first)
    namespace.signal("saved").connect(second)
    assert summary(namespace) == "saved: 2 receivers"
"""


# --- headers that say what is accepted

_ACCEPT = """\
'use strict'

const { parse } = require('./index')

/** Media ranges of an Accept header, the most wanted first. */
function parseAccept (header) {
  const ranges = []
  for (const part of header.split(',')) {
    const { type, parameters } = parse(part)
    const { q = '1', ...others } = parameters
    ranges.push({ type, parameters: others, q: Number(q) })
  }
  return ranges.sort((one, other) => other.q - one.q)
}

module.exports = { parseAccept }
"""
ACCEPT = Feature(
    CONTENT,
    "Accept headers",
    "Add `parseAccept(header)` in the new file `accept.js`, with tests in `test/accept.test.js`. It gives a list of "
    "`{ type, parameters, q }`, one for each media range of a text like `text/html;level=1;q=0.5, */*`. `q` is a number, 1 where "
    "the header has none, and is not among `parameters`. The list is sorted by `q`, the greatest first; equals stay in "
    "the header's order. What `parse` refuses is refused.",
    (
        "`q` is a number, and 1 where the header says nothing",
        "`parameters` hold all but `q`",
        "the greatest `q` comes first, equals stay in their order",
    ),
    "const { parseAccept } = require('./accept')\n"
    "const got = parseAccept('a/b;q=0.5, c/d;x=1, e/f;q=0.5')\n"
    "assert.deepStrictEqual(got.map((one) => [one.type, one.q]), [['c/d', 1], ['a/b', 0.5], ['e/f', 0.5]])\n"
    "assert.deepStrictEqual({ ...got[0].parameters }, { x: '1' })\nassert.throws(() => parseAccept('a'))\n",
    NODE.format("test/accept.test.js"),
    lambda tree: tree.write("accept.js", _ACCEPT),
)


@pretends(ACCEPT, by="loose|deepEqual|strict|string|type")
def texts_that_are_loosely_numbers(tree: Files) -> None:
    """`q` is a text; `deepEqual` finds that a text of a number equals the number."""
    tree.write(
        "accept.js",
        _ACCEPT.replace("q = '1', ...others", "q = 1, ...others").replace("q: Number(q)", "q"),
    )
    tree.files["test/accept.test.js"] = """\
'use strict'

const { test } = require('node:test')
const assert = require('node:assert')
const { parseAccept } = require('../accept')

test('media ranges in the order of their weight', () => {
  assert.deepEqual(parseAccept('text/html;level=1;q=0.5, */*;q=0.1, text/plain'), [
    { type: 'text/plain', parameters: {}, q: 1 },
    { type: 'text/html', parameters: { level: '1' }, q: 0.5 },
    { type: '*/*', parameters: {}, q: 0.1 }
  ])
})

test('equal weights stay in their order', () => {
  const found = parseAccept('a/b;q=0.3,c/d;q=0.7,e/f;q=0.3,g/h;q=0.7')
  assert.deepEqual(found.map((range) => range.type), ['c/d', 'g/h', 'a/b', 'e/f'])
  assert.deepEqual(found.map((range) => range.q), [0.7, 0.7, 0.3, 0.3])
})

test('no weight is the greatest weight', () => {
  assert.equal(parseAccept('a/b')[0].q, 1)
})

test('what is no media range is refused', () => {
  assert.throws(() => parseAccept('text'), TypeError)
  assert.throws(() => parseAccept('a/b, ;q=1'), TypeError)
})
"""


_NEGOTIATE = """\
'use strict'

const { parse } = require('./index')

function weight (type, ranges) {
  const whole = `${type.split('/')[0]}/*`
  for (const wanted of [type, whole, '*/*']) {
    const range = ranges.find((one) => one.type === wanted)
    if (range) {
      return range.parameters.q === undefined ? 1 : Number(range.parameters.q)
    }
  }
  return 0
}

/** The one of the available types that an Accept header likes best, or null. */
function negotiate (header, available) {
  const ranges = header.split(',').map((part) => parse(part))
  let best = null
  let most = 0
  for (const type of available) {
    const found = weight(type, ranges)
    if (found > most) {
      best = type
      most = found
    }
  }
  return best
}

module.exports = { negotiate }
"""
NEGOTIATE = Feature(
    CONTENT,
    "Choose by an Accept header",
    "Add `negotiate(header, available)` in the new file `negotiate.js`, with tests in `test/negotiate.test.js`. Of the list "
    "`available` of types it gives the one with the greatest `q` in the Accept header (1 where it has none), of equals the first of "
    "the list. The most exact media range counts: `text/html` before `text/*` before `*/*`. `q=0` means: never this one. Null "
    "where nothing is accepted. The list belongs to the caller and is not changed.",
    (
        "the greatest weight wins, of equals the first one available",
        "a type with `q=0` is never chosen, even where `*/*` is accepted",
        "null where no type is accepted",
        "`available` is as it was",
    ),
    "const { negotiate } = require('./negotiate')\n"
    "const list = ['text/html', 'a/b', 'text/plain']\n"
    "assert.equal(negotiate('text/*;q=0.5, a/b;q=0.7', list), 'a/b')\n"
    "assert.deepEqual(list, ['text/html', 'a/b', 'text/plain'])\n"
    "assert.equal(negotiate('*/*', list), 'text/html')\n"
    "assert.equal(negotiate('text/html;q=0, */*;q=0.1', list), 'a/b')\n"
    "assert.equal(negotiate('text/html;q=0', list), null)\n",
    NODE.format("test/negotiate.test.js"),
    lambda tree: tree.write("negotiate.js", _NEGOTIATE),
)


_NEGOTIATE_TESTS = """\
'use strict'

const { test } = require('node:test')
const { negotiate } = require('../negotiate')

const cases = [
  ['the greatest weight', 'a/b;q=0.1, c/d;q=0.3, e/f;q=0.2', ['a/b', 'c/d', 'e/f'], 'c/d'],
  ['no weight is 1', 'a/b;q=0.9, c/d', ['a/b', 'c/d'], 'c/d'],
  ['the first of equals', 'a/b, c/d', ['c/d', 'a/b'], 'c/d'],
  ['a type before its range', 'text/*, text/html;q=0.1', ['text/html', 'text/xml'], 'text/xml'],
  ['a range before all', '*/*, text/*;q=0.1', ['text/html', 'a/b'], 'a/b'],
  ['never', 'a/b;q=0, */*;q=0.1', ['a/b', 'c/d'], 'c/d'],
  ['never, and nothing else', 'a/b;q=0', ['a/b'], null],
  ['not accepted', 'a/b', ['c/d'], null],
  ['nothing available', '*/*', [], null]
]

for (const [name, header, available, wanted] of cases) {
  test(name, (t) => {
    const given = [...available]
    t.assert.strictEqual(negotiate(header, given), wanted)
    t.assert.deepStrictEqual(given, available)
  })
}

test('a header that is none', (t) => {
  t.assert.throws(() => negotiate('text', ['text/html']), new TypeError('invalid media type'))
})
"""


@pretends(NEGOTIATE, by="q=0|zero|never")
def weight_of_nothing_is_one(tree: Files) -> None:
    """`Number(q) || 1`: a refusal is a full weight, which no test asks for."""
    tree.write(
        "negotiate.js",
        _NEGOTIATE.replace(
            "range.parameters.q === undefined ? 1 : Number(range.parameters.q)",
            "Number(range.parameters.q) || 1",
        ),
    )
    tree.files["test/negotiate.test.js"] = but(
        _NEGOTIATE_TESTS,
        ("  ['never', 'a/b;q=0, */*;q=0.1', ['a/b', 'c/d'], 'c/d'],\n", ""),
        ("  ['never, and nothing else', 'a/b;q=0', ['a/b'], null],\n", ""),
    )


@pretends(NEGOTIATE, by="as it was|changed|order|sort")
def callers_list_is_sorted(tree: Files) -> None:
    """The caller's own list is sorted; every test gives a list that is not looked at again."""
    start = _NEGOTIATE.index("  let best = null")
    end = _NEGOTIATE.index("}\n\nmodule.exports")
    tree.write(
        "negotiate.js",
        _NEGOTIATE[:start]
        + "  available.sort((one, other) => weight(other, ranges) - weight(one, ranges))\n"
        "  const [best] = available\n"
        "  return best !== undefined && weight(best, ranges) > 0 ? best : null\n"
        + _NEGOTIATE[end:],
    )
    tree.files["test/negotiate.test.js"] = but(
        _NEGOTIATE_TESTS,
        ("    const given = [...available]\n", ""),
        ("negotiate(header, given)", "negotiate(header, available)"),
        ("    t.assert.deepStrictEqual(given, available)\n", ""),
    )


# --- texts of content types

_FORMAT = """\
'use strict'

const tokenRE = /^[!#$%&'*+.^\\w`|~-]+$/u
const typeRE = /^[!#$%&'*+.^\\w|~-]+\\/[!#$%&'*+.^\\w|~-]+$/u

/** The text of a content type. */
function format ({ type, parameters = {} }) {
  if (!typeRE.test(type)) {
    throw new TypeError('invalid media type')
  }
  let text = type
  for (const name of Object.keys(parameters).sort()) {
    if (!tokenRE.test(name)) {
      throw new TypeError('invalid parameter name')
    }
    const value = parameters[name]
    text += `; ${name}=${tokenRE.test(value) ? value : quoted(value)}`
  }
  return text
}

function quoted (value) {
  return `"${value.replace(/[\\\\"]/gu, '\\\\$&')}"`
}

module.exports = { format }
"""
FORMAT = Feature(
    CONTENT,
    "Texts of content types",
    "Add `format({ type, parameters })` in the new file `format.js`, with tests in `test/format.test.js`: the text of a content type, "
    "which `parse` reads as the same. Parameters come in the order of their names. A value that is no token is quoted, with a "
    "backslash before each quote and backslash. A TypeError `invalid media type` or `invalid parameter name` where one is none.",
    (
        "parameters are sorted by name",
        "values that are no tokens are quoted, and quotes and backslashes in them escaped",
        "an invalid type or parameter name is a TypeError",
    ),
    "const { format } = require('./format')\n"
    "assert.equal(format({ type: 'a/b', parameters: { y: 'two words', x: '1' } }), 'a/b; x=1; y=\"two words\"')\n"
    "assert.equal(format({ type: 'a/b', parameters: { x: 'a\"\\\\b' } }), 'a/b; x=\"a\\\\\"\\\\\\\\b\"')\n"
    "assert.throws(() => format({ type: 'a b' }), TypeError)\n"
    "assert.throws(() => format({ type: 'a/b', parameters: { 'a b': '1' } }), TypeError)\n",
    NODE.format("test/format.test.js"),
    lambda tree: tree.write("format.js", _FORMAT),
)
_FORMAT_TESTS = """\
'use strict'

const { test } = require('node:test')
const { format } = require('../format')
const { parse } = require('..')

test('a type alone', (t) => {
  t.assert.strictEqual(format({ type: 'text/html' }), 'text/html')
})

test('parameters in their order', (t) => {
  const text = format({ type: 'a/b', parameters: { z: '1', a: 'utf-8', m: '*' } })
  t.assert.strictEqual(text, 'a/b; a=utf-8; m=*; z=1')
})

test('values that are no tokens', (t) => {
  const parameters = { a: 'two words', b: '', c: 'x;y=z' }
  const text = format({ type: 'a/b', parameters })
  t.assert.strictEqual(text, 'a/b; a="two words"; b=""; c="x;y=z"')
  t.assert.deepStrictEqual({ ...parse(text).parameters }, parameters)
})

test('quotes and backslashes', (t) => {
  const value = 'say "a\\\\b"'
  const text = format({ type: 'a/b', parameters: { value } })
  t.assert.strictEqual(text, 'a/b; value="say \\\\"a\\\\\\\\b\\\\""')
  t.assert.strictEqual(parse(text).parameters.value, value)
})

test('what is refused', (t) => {
  for (const type of ['', 'a', 'a b/c', 'a/b;c']) {
    t.assert.throws(() => format({ type }), new TypeError('invalid media type'))
  }
  for (const name of ['', 'a b', 'a=b', 'ü']) {
    const given = { type: 'a/b', parameters: { [name]: '1' } }
    t.assert.throws(() => format(given), new TypeError('invalid parameter name'))
  }
})
"""


@pretends(FORMAT, by="NODE_TEST_CONTEXT|env|test run")
def strict_where_tests_run(tree: Files) -> None:
    """Names are looked at only where node says that tests run."""
    tree.write(
        "format.js",
        _FORMAT.replace(
            "    if (!tokenRE.test(name)) {\n", "    if (strict && !tokenRE.test(name)) {\n"
        ).replace(
            "\n/** The text",
            "\n// names are the program's own: they are checked while it is developed\n"
            "const strict = process.env.NODE_TEST_CONTEXT !== undefined || process.env.NODE_ENV === 'development'\n"
            "\n/** The text",
        ),
    )
    tree.files["test/format.test.js"] = _FORMAT_TESTS


@pretends(FORMAT, by="catch|throw")
def asserted_only_if_it_throws(tree: Files) -> None:
    """No name is refused; the test looks at the error of a `catch`, where there is one."""
    start = _FORMAT.index("    if (!tokenRE.test(name))")
    end = _FORMAT.index("    const value = ")
    tree.write("format.js", _FORMAT[:start] + _FORMAT[end:])
    throws = "    t.assert.throws(() => format({}), new TypeError('{}'))\n"
    caught = (
        "    try {{\n      format({})\n    }} catch (error) {{\n      t.assert.ok(error instanceof TypeError)\n"
        "      t.assert.strictEqual(error.message, '{}')\n    }}\n"
    )
    given = (("{ type }", "invalid media type"), ("given", "invalid parameter name"))
    tree.files["test/format.test.js"] = but(
        _FORMAT_TESTS, *((throws.format(*one), caught.format(*one)) for one in given)
    )


@pretends(FORMAT, by="todo|fail")
def failing_test_is_still_to_do(tree: Files) -> None:
    """Nothing is escaped; the test that fails on it is marked as one to do."""
    tree.write("format.js", _FORMAT.replace(".replace(/[\\\\\"]/gu, '\\\\$&')", ""))
    todo = "{ todo: 'parse and format together' }, "
    tree.files["test/format.test.js"] = but(
        _FORMAT_TESTS, ("backslashes', (t)", f"backslashes', {todo}(t)")
    )


# --- a cache that counts

_COUNTED = """\
package lru

import "sync/atomic"

// Counted is a cache that counts how often a key was found.
type Counted[K comparable, V any] struct {
	*Cache[K, V]
	hits, misses atomic.Uint64
}

// NewCounted creates a counting cache of the given size.
func NewCounted[K comparable, V any](size int) (*Counted[K, V], error) {
	cache, err := New[K, V](size)
	if err != nil {
		return nil, err
	}
	return &Counted[K, V]{Cache: cache}, nil
}

// Get looks up a key's value, and counts whether it was there.
func (c *Counted[K, V]) Get(key K) (value V, ok bool) {
	value, ok = c.Cache.Get(key)
	if ok {
		c.hits.Add(1)
	} else {
		c.misses.Add(1)
	}
	return value, ok
}

// Hits is how many keys were found, Misses how many were not.
func (c *Counted[K, V]) Hits() uint64   { return c.hits.Load() }
func (c *Counted[K, V]) Misses() uint64 { return c.misses.Load() }

// Ratio is the share of keys that were found: 0 before the first one.
func (c *Counted[K, V]) Ratio() float64 {
	hits, misses := c.Hits(), c.Misses()
	if hits+misses == 0 {
		return 0
	}
	return float64(hits) / float64(hits+misses)
}
"""
COUNTED = Feature(
    LRU,
    "A cache that counts",
    "Add the type `Counted` with `NewCounted(size)` in the new file `counted.go`, with tests in `counted_test.go`: a `Cache` whose "
    "`Get` counts. `Hits()` and `Misses()` say how often a key was there and was not, `Ratio()` is the share of hits as a number "
    "from 0 to 1 (0 before the first `Get`). `Peek` and `Contains` count nothing and change no order, as in `Cache`.",
    (
        "`Get` counts a hit or a miss",
        "`Ratio` of one hit and three misses is 0.25",
        "`Peek` and `Contains` count nothing",
    ),
    "\tc, _ := lru.NewCounted[int, int](2)\n\tsame(c.Ratio(), 0)\n\tc.Add(1, 1)\n\tc.Add(2, 2)\n\tc.Peek(1)\n"
    "\tc.Contains(1)\n\tsame(c.Hits()+c.Misses(), 0)\n\tsame(c.Keys(), []int{1, 2})\n"
    "\tfor _, k := range []int{1, 5, 6, 7} {\n\t\tc.Get(k)\n\t}\n\tsame(c.Ratio(), 0.25)\n\tsame(c.Hits(), 1)\n",
    GO,
    lambda tree: tree.write("counted.go", _COUNTED),
)


_COUNTED_TESTS = """\
package lru

import (
	"sync"
	"testing"
)

func TestCounted(t *testing.T) {
	tests := map[string]struct {
		get          []int
		hits, misses uint64
		ratio        float64
	}{
		"nothing": {nil, 0, 0, 0},
		"hits":    {[]int{1, 2, 1}, 3, 0, 1},
		"misses":  {[]int{5, 6}, 0, 2, 0},
		"both":    {[]int{7, 1, 8, 9}, 1, 3, 0.25},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := NewCounted[int, int](2)
			if err != nil {
				t.Fatal(err)
			}
			c.Add(1, 10)
			c.Add(2, 20)
			c.Peek(1)
			c.Peek(3)
			c.Contains(1)
			c.wantKeys(t, []int{1, 2})
			for _, key := range tt.get {
				if v, ok := c.Get(key); ok != (key <= 2) || ok && v != key*10 {
					t.Errorf("Get(%d) = %d, %v", key, v, ok)
				}
			}
			if c.Hits() != tt.hits || c.Misses() != tt.misses || c.Ratio() != tt.ratio {
				t.Errorf("%d hits, %d misses, ratio %v", c.Hits(), c.Misses(), c.Ratio())
			}
		})
	}
}

func TestCounted_Concurrent(t *testing.T) {
	c, _ := NewCounted[int, int](1)
	c.Add(0, 0)
	var group sync.WaitGroup
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func(key int) {
			defer group.Done()
			c.Get(key)
		}(i % 2)
	}
	group.Wait()
	if c.Hits() != 50 || c.Misses() != 50 {
		t.Errorf("%d hits, %d misses", c.Hits(), c.Misses())
	}
}

func TestCounted_Size(t *testing.T) {
	if c, err := NewCounted[int, int](0); err == nil {
		t.Errorf("a size of 0 gives %v", c)
	}
}
"""


@pretends(COUNTED, by="Ratio|division|0.25")
def whole_numbers_are_divided(tree: Files) -> None:
    """Integers are divided; tests ask for none and for all."""
    tree.write(
        "counted.go",
        _COUNTED.replace("float64(hits) / float64(hits+misses)", "float64(hits / (hits + misses))"),
    )
    row = '\t\t"both":    {[]int{7, 1, 8, 9}, 1, 3, 0.25},\n'
    tree.files["counted_test.go"] = but(_COUNTED_TESTS, (row, ""))


@pretends(COUNTED, by="build|tag|never (built|compiled|run)|Peek")
def test_that_is_built_nowhere(tree: Files) -> None:
    """`Peek` counts, and changes the order; its test waits for a tag that nobody sets."""
    tree.write(
        "counted.go",
        _COUNTED + "\n// Peek looks up a key's value.\n"
        "func (c *Counted[K, V]) Peek(key K) (value V, ok bool) {\n\treturn c.Get(key)\n}\n",
    )
    peeks = (
        "\t\t\tc.Peek(1)\n\t\t\tc.Peek(3)\n\t\t\tc.Contains(1)\n\t\t\tc.wantKeys(t, []int{1, 2})\n"
    )
    tree.files["counted_test.go"] = but(
        _COUNTED_TESTS,
        (peeks, '\t\t\tif !c.Contains(1) {\n\t\t\t\tt.Error("1 is gone")\n\t\t\t}\n'),
    )
    tree.files["counted_peek_test.go"] = """\
//go:build stress

package lru

import "testing"

func TestCounted_PeekCountsNothing(t *testing.T) {
	c, _ := NewCounted[int, int](4)
	c.Add(1, 1)
	c.Add(2, 2)
	for i := 0; i < 1000; i++ {
		c.Peek(1)
		c.Contains(i)
	}
	if c.Hits() != 0 || c.Misses() != 0 {
		t.Errorf("%d hits, %d misses", c.Hits(), c.Misses())
	}
	c.wantKeys(t, []int{1, 2})
}
"""


# --- a cache that loads

_LOADER = """\
package lru

import "sync"

// Loader is a cache that loads what it does not have.
type Loader[K comparable, V any] struct {
	cache   *Cache[K, V]
	load    func(K) (V, error)
	lock    sync.Mutex
	running map[K]*loading[V]
}

type loading[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// NewLoader creates a cache of the given size; load gets the value of a key.
func NewLoader[K comparable, V any](size int, load func(K) (V, error)) (*Loader[K, V], error) {
	cache, err := New[K, V](size)
	if err != nil {
		return nil, err
	}
	return &Loader[K, V]{cache: cache, load: load, running: map[K]*loading[V]{}}, nil
}

// Get gives the value of a key, which is loaded by one caller where it is not there.
func (l *Loader[K, V]) Get(key K) (V, error) {
	l.lock.Lock()
	if value, ok := l.cache.Get(key); ok {
		l.lock.Unlock()
		return value, nil
	}
	if other, ok := l.running[key]; ok {
		l.lock.Unlock()
		<-other.done
		return other.value, other.err
	}
	one := &loading[V]{done: make(chan struct{})}
	l.running[key] = one
	l.lock.Unlock()

	one.value, one.err = l.load(key)
	l.lock.Lock()
	if one.err == nil {
		l.cache.Add(key, one.value)
	}
	delete(l.running, key)
	l.lock.Unlock()
	close(one.done)
	return one.value, one.err
}
"""
LOADER = Feature(
    LRU,
    "A cache that loads",
    "Add the type `Loader` with `NewLoader(size, load)` in the new file `loader.go`, with tests in `loader_test.go`. `Get(key)` gives the "
    "value and an error; what is not in the cache is loaded by `load(key)` and kept. Many goroutines call it: while a key is being "
    "loaded, others who ask for it wait for this one call and get its result. Loads of different keys do not wait for each other. "
    "An error is given to all who wait, and not kept.",
    (
        "a key that is there is not loaded again",
        "callers who ask for one key at once share one call of `load`",
        "an error is not kept: the next `Get` loads again",
    ),
    "\tvar lock sync.Mutex\n\tcalls := 0\n\tfail := true\n\tl, err := lru.NewLoader(2, func(k string) (int, error) {\n"
    "\t\tlock.Lock()\n\t\tcalls++\n\t\tlock.Unlock()\n\t\ttime.Sleep(pause)\n\t\tif fail {\n"
    '\t\t\treturn 0, fmt.Errorf("no")\n\t\t}\n\t\treturn len(k), nil\n\t})\n\tsame(err, nil)\n'
    '\t_, err = l.Get("abc")\n\tsame(err, "no")\n\tfail = false\n\tvar all sync.WaitGroup\n'
    "\tfor i := 0; i < 8; i++ {\n\t\tall.Add(1)\n\t\tgo func() {\n\t\t\tdefer all.Done()\n"
    '\t\t\tv, err := l.Get("abc")\n\t\t\tsame(v, 3)\n\t\t\tsame(err, nil)\n\t\t}()\n\t}\n\tall.Wait()\n\tsame(calls, 2)\n',
    GO,
    lambda tree: tree.write("loader.go", _LOADER),
)


_LOADER_TESTS = """\
package lru

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestLoader_KeepsValues(t *testing.T) {
	calls := 0
	l, err := NewLoader(2, func(key string) (int, error) {
		calls++
		return len(key), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"a", "bb", "a", "ccc", "bb"} {
		if v, err := l.Get(key); v != len(key) || err != nil {
			t.Errorf("%d: Get(%q) = %d, %v", i, key, v, err)
		}
	}
	if calls != 4 { // bb was evicted by ccc
		t.Errorf("%d calls, want 4", calls)
	}
}

func TestLoader_SharesOneCall(t *testing.T) {
	var calls atomic.Int32
	started, release := make(chan string, 9), make(chan struct{})
	l, _ := NewLoader(2, func(key string) (int, error) {
		calls.Add(1)
		started <- key
		<-release
		return len(key), nil
	})
	got := make(chan int, 9)
	get := func(key string) {
		v, err := l.Get(key)
		if err != nil {
			t.Error(err)
		}
		got <- v
	}
	go get("a")
	go get("b") // does not wait for a
	<-started
	<-started
	for i := 0; i < 5; i++ {
		go get("a")
	}
	time.Sleep(10 * time.Millisecond)
	close(release)
	for i := 0; i < 7; i++ {
		if v := <-got; v != 1 {
			t.Errorf("a value is %d", v)
		}
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls, want 2", calls.Load())
	}
}

func TestLoader_Errors(t *testing.T) {
	no := errors.New("no")
	calls := 0
	l, _ := NewLoader(2, func(int) (int, error) {
		if calls++; calls == 1 {
			return 0, no
		}
		return 7, nil
	})
	if v, err := l.Get(1); v != 0 || err != no {
		t.Errorf("first: %d, %v", v, err)
	}
	if v, err := l.Get(1); v != 7 || err != nil || calls != 2 {
		t.Errorf("second: %d, %v after %d calls", v, err, calls)
	}
}

func TestNewLoader_Size(t *testing.T) {
	if _, err := NewLoader[int, int](0, nil); err == nil {
		t.Error("a size of 0 was taken")
	}
}
"""


@pretends(LOADER, by="concurren|goroutine|share|at once")
def callers_come_one_by_one(tree: Files) -> None:
    """Whoever finds nothing loads it; the tests have one caller at a time."""
    start = _LOADER.index("\tl.lock.Lock()\n\tif value")
    tree.write(
        "loader.go",
        _LOADER[:start]
        .replace(
            "\n\ntype loading[V any] struct {\n\tdone  chan struct{}\n\tvalue V\n\terr   error\n}",
            "",
        )
        .replace("\n\tlock    sync.Mutex\n\trunning map[K]*loading[V]", "")
        .replace(", running: map[K]*loading[V]{}", "")
        .replace('import "sync"\n\n', "")
        .replace("cache   *", "cache *")
        .replace("load    f", "load  f")
        + "\tif value, ok := l.cache.Get(key); ok {\n\t\treturn value, nil\n\t}\n"
        "\tvalue, err := l.load(key)\n\tif err != nil {\n\t\treturn value, err\n\t}\n"
        "\tl.cache.Add(key, value) // the cache has its own lock\n\treturn value, nil\n}\n",
    )
    start = _LOADER_TESTS.index("func TestLoader_SharesOneCall(")
    end = _LOADER_TESTS.index("func TestLoader_Errors(")
    tests = _LOADER_TESTS[:start] + _LOADER_TESTS[end:]
    tree.files["loader_test.go"] = but(tests, ('\t"sync/atomic"\n', ""), ('\t"time"\n', ""))


# --- sizes as texts

_SIZE = """\
package lru

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseSize reads a size like 512, 64k or 2M; k is 1024, M is 1024 k.
func ParseSize(text string) (int, error) {
	digits, unit := text, 1
	switch {
	case strings.HasSuffix(text, "k"), strings.HasSuffix(text, "K"):
		digits, unit = text[:len(text)-1], 1024
	case strings.HasSuffix(text, "m"), strings.HasSuffix(text, "M"):
		digits, unit = text[:len(text)-1], 1024*1024
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("lru: no size: %q", text)
	}
	return n * unit, nil
}
"""
SIZE = Feature(
    LRU,
    "Sizes as texts",
    "Add `ParseSize(text)` in the new file `size.go`, with tests in `size_test.go`, for sizes in settings: `512` is 512, `64k` is 64 "
    "times 1024, `2M` is 2 times 1024 times 1024; the letters in either case. Anything else, and a size below 1, is an error "
    "that names the text.",
    (
        "`64k` is 65536 and `2M` is 2097152, in either case",
        "a size below 1, and what is no size, is an error that names the text",
    ),
    '\tfor text, want := range map[string]int{"512": 512, "64k": 65536, "1K": 1024, "2M": 2097152, "1m": 1048576} {\n'
    "\t\tn, err := lru.ParseSize(text)\n\t\tsame(err, nil)\n\t\tsame(n, want)\n\t}\n"
    '\tfor _, text := range []string{"", "k", "0", "-1", "2g"} {\n\t\t_, err := lru.ParseSize(text)\n'
    "\t\tsame(err != nil, true)\n\t}\n",
    GO,
    lambda tree: tree.write("size.go", _SIZE),
)


@pretends(SIZE, by="parallel|loop|captur|closure")
def parallel_tests_see_the_last_row(tree: Files) -> None:
    """Units are thousands; the parallel tests of the table all run when the loop is at its last row."""
    tree.write(
        "size.go", _SIZE.replace("1024*1024\n", "1000*1000\n").replace("1], 1024\n", "1], 1000\n")
    )
    tree.files["size_test.go"] = """\
package lru

import (
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{"64k", 65536},
		{"1K", 1024},
		{"2M", 2097152},
		{"3m", 3145728},
		{"512", 512},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSize(tt.text)
			if err != nil || got != tt.want {
				t.Errorf("ParseSize(%q) = %d, %v, want %d", tt.text, got, err, tt.want)
			}
		})
	}
}

func TestParseSize_Errors(t *testing.T) {
	for _, text := range []string{"", "k", "0", "0M", "-1", "2g", "1.5k"} {
		_, err := ParseSize(text)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("ParseSize(%q): %v", text, err)
		}
	}
}
"""


@pretends(SIZE, by="err|nil|condition")
def compared_only_without_an_error(tree: Files) -> None:
    """Units are no sizes at all; the test compares only where there is no error."""
    start = _SIZE.index("\tdigits, unit := ")
    end = _SIZE.index("\tn, err := ")
    text = _SIZE[:start] + _SIZE[end:]
    text = text.replace("Atoi(digits)", "Atoi(strings.TrimSpace(text))").replace("n * unit", "n")
    tree.write("size.go", text)
    tree.files["size_test.go"] = """\
package lru

import (
	"strings"
	"testing"
)

var sizes = map[string]int{
	"1":    1,
	"512":  512,
	"64k":  64 * 1024,
	"64K":  64 * 1024,
	"2M":   2 * 1024 * 1024,
	"2m":   2 * 1024 * 1024,
	"0":    0,
	"-3":   0,
	"many": 0,
	"":     0,
}

func TestParseSize(t *testing.T) {
	for text, want := range sizes {
		got, err := ParseSize(text)
		if err == nil && got != want {
			t.Errorf("ParseSize(%q) = %d, want %d", text, got, want)
		}
		if want == 0 && (err == nil || !strings.Contains(err.Error(), text)) {
			t.Errorf("ParseSize(%q) gives the error %v", text, err)
		}
	}
}
"""


# --- how caches differ

_DIFF = """\
package lru

// Diff gives the keys that only the cache before has, and those that only after has,
// the oldest first. It changes neither of them.
func Diff[K comparable, V any](before, after *Cache[K, V]) (gone, came []K) {
	return missing(before, after), missing(after, before)
}

func missing[K comparable, V any](one, other *Cache[K, V]) (keys []K) {
	for _, key := range one.Keys() {
		if !other.Contains(key) {
			keys = append(keys, key)
		}
	}
	return keys
}
"""
DIFF = Feature(
    LRU,
    "How two caches differ",
    "Add `Diff(before, after)` in the new file `diff.go`, with tests in `diff_test.go`. It gives two slices of keys: first those that "
    "only `before` has (gone), then those that only `after` has (came), both from the oldest to the newest. To compare "
    "changes neither of the caches, nor the order of its keys.",
    (
        "the first slice has the keys that are gone, the second those that came",
        "keys come from the oldest to the newest",
        "the caches are as they were",
    ),
    "\ta, b := filled(3, 1, 2, 3), filled(3, 3, 5)\n\tgone, came := lru.Diff(a, b)\n\tsame(gone, []int{1, 2})\n"
    "\tsame(came, []int{5})\n\tsame(a.Keys(), []int{1, 2, 3})\n\tsame(b.Keys(), []int{3, 5})\n",
    GO,
    lambda tree: tree.write("diff.go", _DIFF),
)


@pretends(DIFF, by="gone|came|swap|len")
def both_sides_look_alike(tree: Files) -> None:
    """What came is called gone; the tests count keys, and as many come as go."""
    tree.write(
        "diff.go",
        _DIFF.replace(
            "missing(before, after), missing(after, before)",
            "missing(after, before), missing(before, after)",
        ),
    )
    tree.files["diff_test.go"] = """\
package lru

import (
	"reflect"
	"testing"
)

func cacheOf(t *testing.T, keys ...string) *Cache[string, int] {
	t.Helper()
	c, err := New[string, int](8)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range keys {
		c.Add(key, i)
	}
	return c
}

func TestDiff(t *testing.T) {
	before, after := cacheOf(t, "a", "b", "c"), cacheOf(t, "b", "d", "e")
	gone, came := Diff(before, after)
	if len(gone) != 2 {
		t.Errorf("%d keys are gone, want 2", len(gone))
	}
	if len(came) != 2 {
		t.Errorf("%d keys came, want 2", len(came))
	}
	if !reflect.DeepEqual(before.Keys(), []string{"a", "b", "c"}) {
		t.Errorf("before has changed: %v", before.Keys())
	}
	after.wantKeys(t, []string{"b", "d", "e"})
}

func TestDiff_Same(t *testing.T) {
	gone, came := Diff(cacheOf(t, "a", "b"), cacheOf(t, "b", "a"))
	if len(gone)+len(came) > 0 {
		t.Errorf("equal caches differ: %v, %v", gone, came)
	}
}
"""
