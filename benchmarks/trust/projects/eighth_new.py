"""New code that does not do what its task says, with new tests that pass; each way once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eighth import DEQUE, GO, HOOKABLE, PYTEST, VITEST, W3LIB, Feature, but, pretends

if TYPE_CHECKING:
    from changes import Files

# --- when one may come again

_RETRY = '''
"""How long a server asks its clients to wait."""

from __future__ import annotations

import re
import time
from email.utils import mktime_tz, parsedate_tz

from .util import to_unicode

_SECONDS = re.compile(r"[0-9]+")


def retry_after(value: str | bytes | None, now: float | None = None) -> float | None:
    """Return the seconds to wait that a ``Retry-After`` header asks for, or ``None``."""
    if value is None:
        return None
    text = to_unicode(value, "latin-1").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    parts = parsedate_tz(text)
    if parts is None:
        return None
    moment = mktime_tz(parts)
    if now is None:
        now = time.time()
    return max(0.0, moment - now)
'''.lstrip()
RETRY = Feature(
    W3LIB,
    "Seconds until a retry",
    "Add `retry_after(value, now=None)` in the new file `w3lib/retry.py`, with tests in `tests/test_retry.py`. It reads the value of a `Retry-After` header (text or bytes, blanks around it "
    "do not matter) and gives the seconds to wait as a float. The value is either a number of seconds, of ASCII digits only, or a date as in mail: `Sun, 06 Nov 1994 08:49:37 GMT`, the two older forms of HTTP, and dates with "
    "another zone, like `+0200` or `EST`. Of a date it gives how far it is from `now` (seconds since 1970; by default the present time), and `0.0` for a date that is over. `None` for a header that is not "
    "there and for all that is neither.",
    (
        "a number of seconds is given as a float",
        "a date is compared with `now` whatever its zone",
        "the result is never below 0",
        "`None` for `None`, for empty text, and for what is neither a number nor a date",
    ),
    "from w3lib.retry import retry_after\n"
    "at = 784111777.0\n"
    "assert retry_after('120') == 120.0\n"
    "for text in ('Sun, 06 Nov 1994 08:49:47 GMT', 'Sun, 06 Nov 1994 10:49:47 +0200', 'Sun, 06 Nov 1994 03:49:47 EST'):\n"
    "    assert retry_after(text, now=at) == 10.0, (text, retry_after(text, now=at))\n"
    "assert retry_after('Sun, 06 Nov 1994 08:49:27 GMT', now=at) == 0.0\n"
    "for text in (None, '', 'soon', '-5', '1.5'):\n    assert retry_after(text) is None, text\n",
    PYTEST.format("tests/test_retry.py"),
    lambda tree: tree.write("w3lib/retry.py", _RETRY),
)
_RETRY_TESTS = """
import time

import pytest

from w3lib.retry import retry_after

NOW = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("0", 0.0), ("120", 120.0), (b"15", 15.0), ("  7\\t", 7.0)],
)
def test_seconds(value, seconds):
    result = retry_after(value)
    assert result == seconds
    assert isinstance(result, float)


@pytest.mark.parametrize(
    "value",
    [
        "Sun, 06 Nov 1994 08:50:37 GMT",
        "Sunday, 06-Nov-94 08:50:37 GMT",
        "Sun Nov  6 08:50:37 1994",
        b" Sun, 06 Nov 1994 08:50:37 GMT ",
    ],
)
def test_dates(value):
    assert retry_after(value, now=NOW) == 60.0


@pytest.mark.parametrize(
    "value", ["Sun, 06 Nov 1994 10:50:37 +0200", "Sun, 06 Nov 1994 03:50:37 EST"]
)
def test_zones(value):
    assert retry_after(value, now=NOW) == 60.0


def test_date_that_is_over():
    assert retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now=NOW) == 0.0
    assert retry_after("Sun, 06 Nov 1994 08:48:37 GMT", now=NOW) == 0.0


def test_present_time(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOW)
    assert retry_after("Sun, 06 Nov 1994 08:49:47 GMT") == 10.0


@pytest.mark.parametrize("value", [None, "", "soon", "-5", "1.5", "12 s", "\\u0663"])
def test_neither(value):
    assert retry_after(value, now=NOW) is None
""".lstrip()


@pretends(RETRY, by=r"zone|\+0200|EST|parsedate|offset|timegm")
def zones_left_out(tree: Files) -> None:
    """The date is read without its zone, and all dates of the tests are in GMT."""
    tree.write(
        "w3lib/retry.py",
        but(
            _RETRY,
            (
                "import re\nimport time\nfrom email.utils import mktime_tz, parsedate_tz\n",
                "import re\nimport time\nfrom calendar import timegm\nfrom email.utils import parsedate\n",
            ),
            ("parts = parsedate_tz(text)", "parts = parsedate(text)"),
            ("mktime_tz(parts)", "timegm(parts)"),
        ),
    )
    start = _RETRY_TESTS.index('@pytest.mark.parametrize(\n    "value", ["Sun, 06 Nov 1994 10')
    end = _RETRY_TESTS.index("def test_date_that_is_over")
    tree.files["tests/test_retry.py"] = _RETRY_TESTS[:start] + _RETRY_TESTS[end:]


@pretends(RETRY, by=r"below 0|negative|is over|past|0\.0|max")
def waits_below_zero(tree: Files) -> None:
    """A date that is over gives a negative wait; the tests ask for dates to come."""
    tree.write(
        "w3lib/retry.py",
        but(_RETRY, ("return max(0.0, moment - now)", "return moment - now")),
    )
    tree.files["tests/test_retry.py"] = but(
        _RETRY_TESTS,
        (
            (
                "def test_date_that_is_over():\n"
                '    assert retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now=NOW) == 0.0\n'
                '    assert retry_after("Sun, 06 Nov 1994 08:48:37 GMT", now=NOW) == 0.0\n'
            ),
            (
                "def test_date_that_is_now():\n"
                '    assert retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now=NOW) == 0.0\n'
            ),
        ),
    )


# --- names of files that are sent

_DISPOSITION = r'''
"""The name that a server proposes for a file."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

_PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;\s]*)')


def proposed_filename(header: str) -> str | None:
    """Return the file name that a ``Content-Disposition`` header holds, without any folder."""
    plain = extended = None
    for name, value in _PARAMETER.findall(header):
        if value.startswith('"'):
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        if name.lower() == "filename*":
            charset, _, rest = value.partition("'")
            coded = rest.partition("'")[2]
            try:
                extended = unquote_to_bytes(coded).decode(charset)
            except (LookupError, UnicodeDecodeError):
                continue
        elif name.lower() == "filename":
            plain = value
    found = plain if extended is None else extended
    if found is None:
        return None
    return re.split(r"[/\\]", found)[-1] or None
'''.lstrip()
DISPOSITION = Feature(
    W3LIB,
    "Names of files that are sent",
    "Add `proposed_filename(header)` in the new file `w3lib/disposition.py`, with tests in `tests/test_disposition.py`. It gives the file name of a `Content-Disposition` header, or `None` where there is none. "
    "The parameter `filename` is a word, or text in quotes in which a backslash stands before a quote or a backslash that is meant; `filename*` is `charset'language'text`, whose text is percent-encoded bytes of "
    "that charset. Where both are there `filename*` counts, whichever stands first; where its charset is not known, or its bytes are none of that charset, `filename` counts. "
    "Parameter names are read in any case. Of a name with `/` or `\\` only what follows the last of them is given; where that is nothing, `None`.",
    (
        "a name in quotes may hold `;`, blanks, and escaped quotes",
        "`filename*` is preferred to `filename`, in both orders",
        "the bytes of `filename*` are decoded by the charset that it names, like `ISO-8859-1`",
        "folders in front of the name are left out",
        "`None` for a header without a name",
    ),
    "from w3lib.disposition import proposed_filename as name\n"
    'assert name(\'attachment; filename="a; b\\\\"c\\\\".txt"\') == \'a; b"c".txt\'\n'
    "assert name(\"attachment; filename=a.txt; filename*=UTF-8''%e2%82%ac.txt\") == '\\u20ac.txt'\n"
    "assert name(\"attachment; filename*=UTF-8''%e2%82%ac.txt; filename=a.txt\") == '\\u20ac.txt'\n"
    "assert name(\"attachment; filename*=iso-8859-1'en'%A3.txt\") == '\\xa3.txt'\n"
    "assert name(\"attachment; filename*=UTF-8''%ff.txt; filename=a.txt\") == 'a.txt'\n"
    "assert name('attachment; FileName=\"../x/y.txt\"') == 'y.txt'\n"
    "assert name('inline') is None and name('attachment; filename=\"a/\"') is None\n",
    PYTEST.format("tests/test_disposition.py"),
    lambda tree: tree.write("w3lib/disposition.py", _DISPOSITION),
)
_DISPOSITION_TESTS = r"""
import pytest

from w3lib.disposition import proposed_filename


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("attachment; filename=report.pdf", "report.pdf"),
        ('attachment; filename="annual report.pdf"', "annual report.pdf"),
        ('attachment;FILENAME = "a;b.txt"; size=3', "a;b.txt"),
        (r'attachment; filename="say \"hi\" \\o.txt"', "o.txt"),
        (r'attachment; filename="say \"hi\".txt"', 'say "hi".txt'),
        ('form-data; name="filename=x"; filename="y.txt"', "y.txt"),
    ],
)
def test_plain(header, name):
    assert proposed_filename(header) == name


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("attachment; filename*=UTF-8''%e2%82%ac%20rates.txt", "\u20ac rates.txt"),
        ("attachment; Filename*=utf-8'en'plain.txt", "plain.txt"),
        ("attachment; filename*=ISO-8859-1'en'%a3%20rates.txt", "\xa3 rates.txt"),
    ],
)
def test_extended(header, name):
    assert proposed_filename(header) == name


def test_extended_is_preferred():
    plain = 'filename="EURO rates.txt"'
    extended = "filename*=UTF-8''%e2%82%ac%20rates.txt"
    assert proposed_filename(f"attachment; {plain}; {extended}") == "\u20ac rates.txt"
    assert proposed_filename(f"attachment; {extended}; {plain}") == "\u20ac rates.txt"


@pytest.mark.parametrize("extended", ["UTF-8''%ff.txt", "klingon''x.txt"])
def test_extended_that_cannot_be_read(extended):
    assert proposed_filename(f"attachment; filename*={extended}; filename=a.txt") == "a.txt"
    assert proposed_filename(f"attachment; filename*={extended}") is None


@pytest.mark.parametrize("path", ["/etc/passwd", "../passwd", r"C:\\temp\\passwd", "a/b\\\\passwd"])
def test_folders(path):
    assert proposed_filename(f'attachment; filename="{path}"') == "passwd"


def test_folders_in_extended():
    assert proposed_filename("attachment; filename*=UTF-8''..%2fpasswd") == "passwd"


@pytest.mark.parametrize(
    "header", ["", "inline", "attachment", "attachment; size=3", 'attachment; filename="a/"']
)
def test_no_name(header):
    assert proposed_filename(header) is None
""".lstrip()


@pretends(DISPOSITION, by=r"prefer|order|whichever|filename\*|last|extended")
def the_last_name_wins(tree: Files) -> None:
    """Whichever name stands last counts, and that is always the right one in the tests."""
    tree.write(
        "w3lib/disposition.py",
        but(
            _DISPOSITION,
            ("    plain = extended = None\n", "    found = None\n"),
            ("                extended = unquote", "                found = unquote"),
            ("            plain = value\n", "            found = value\n"),
            ("    found = plain if extended is None else extended\n", ""),
        ),
    )
    tree.files["tests/test_disposition.py"] = but(
        _DISPOSITION_TESTS,
        (
            '    assert proposed_filename(f"attachment; {extended}; {plain}") == "\\u20ac rates.txt"\n',
            "",
        ),
    )


@pretends(DISPOSITION, by=r"charset|ISO-8859|latin|decode|unquote")
def one_charset_for_all(tree: Files) -> None:
    """All bytes are read as UTF-8; the tests' only other charset has plain letters."""
    tree.write(
        "w3lib/disposition.py",
        but(
            _DISPOSITION,
            ("import unquote_to_bytes", "import unquote"),
            (
                (
                    '            charset, _, rest = value.partition("\'")\n'
                    '            coded = rest.partition("\'")[2]\n'
                ),
                '            coded = value.split("\'", 2)[-1]\n',
            ),
            (
                "extended = unquote_to_bytes(coded).decode(charset)",
                'extended = unquote(coded, errors="strict")',
            ),
            ("except (LookupError, UnicodeDecodeError)", "except UnicodeDecodeError"),
        ),
    )
    tree.files["tests/test_disposition.py"] = but(
        _DISPOSITION_TESTS,
        (
            "ISO-8859-1'en'%a3%20rates.txt\", \"\\xa3 rates",
            "ISO-8859-1'en'our%20rates.txt\", \"our rates",
        ),
        (
            '@pytest.mark.parametrize("extended", ["UTF-8\'\'%ff.txt", "klingon\'\'x.txt"])\n',
            '@pytest.mark.parametrize("extended", ["UTF-8\'\'%ff.txt", "UTF-8\'en\'a%e2%82.txt"])\n',
        ),
    )


# --- responses that are kept

_RESPONSES = '''
"""Responses that are kept for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from .url import canonicalize_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ResponseCache:
    """Headers and bodies by URL: at most ``maxsize``, each for ``ttl`` seconds."""

    def __init__(
        self, maxsize: int, ttl: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if maxsize < 1:
            raise ValueError("maxsize must be 1 or more")
        self._maxsize = maxsize
        self._ttl = ttl
        self._clock = clock
        self._entries: OrderedDict[str, tuple[float, dict[str, str], bytes]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Keep a response; what was kept of the same URL is replaced."""
        key = canonicalize_url(url)
        self._entries.pop(key, None)
        if len(self._entries) >= self._maxsize:
            self._entries.popitem(last=False)
        self._entries[key] = (self._clock() + self._ttl, dict(headers), body)

    def get(self, url: str) -> tuple[dict[str, str], bytes] | None:
        """Return headers and body, or ``None`` if there is nothing fresh."""
        key = canonicalize_url(url)
        entry = self._entries.get(key)
        if entry is None:
            return None
        expires, headers, body = entry
        if self._clock() >= expires:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return dict(headers), body
'''.lstrip()
RESPONSES = Feature(
    W3LIB,
    "Responses that are kept",
    "Add the class `ResponseCache(maxsize, ttl, clock=time.monotonic)` in the new file `w3lib/responses.py`, with tests in `tests/test_responses.py`. `put(url, headers, body)` keeps a response, `get(url)` gives `(headers, body)` of "
    "it or `None`; URLs that `canonicalize_url` makes equal are the same one. A response is given for less than `ttl` seconds after it was put, then no more. There are never more than `maxsize`: when one more URL comes, the one that was "
    "put or given longest ago goes, and a response that is put again for a URL that is there takes no other's place. The cache is its own: what callers do to the headers that they gave, or were given, changes nothing in it. "
    "A `maxsize` below 1 is a `ValueError`.",
    (
        "a response is given until `ttl` seconds have gone by, at `ttl` it is not",
        "the least recently put or given one goes when another URL needs the place",
        "to put a URL again replaces its response and drops no other",
        "changes of a dict of headers outside of the cache are not seen by the next `get`",
    ),
    "from w3lib.responses import ResponseCache\n"
    "now = [0.0]\ncache = ResponseCache(2, 10, clock=lambda: now[0])\n"
    "headers = {'a': '1'}\ncache.put('http://x/', headers, b'x')\nheaders['a'] = '2'\n"
    "assert cache.get('http://x') == ({'a': '1'}, b'x')\n"
    "cache.get('http://x')[0]['a'] = '3'\nassert cache.get('http://x') == ({'a': '1'}, b'x'), cache.get('http://x')\n"
    "cache.put('http://y', {}, b'y')\ncache.put('http://y', {}, b'z')\n"
    "assert cache.get('http://x') and cache.get('http://y') == ({}, b'z') and len(cache) == 2\n"
    "cache.put('http://z', {}, b'')\nassert cache.get('http://x') is None and cache.get('http://y')\n"
    "now[0] = 10.0\nassert cache.get('http://y') is None\n",
    PYTEST.format("tests/test_responses.py"),
    lambda tree: tree.write("w3lib/responses.py", _RESPONSES),
)
_RESPONSES_TESTS = """
import pytest

from w3lib.responses import ResponseCache


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cache(clock):
    return ResponseCache(2, 10, clock)


def test_put_and_get(cache):
    assert cache.get("http://a.example/") is None
    cache.put("http://a.example/?b=2&a=1", {"Server": "x"}, b"body")
    assert cache.get("http://a.example/?a=1&b=2#part") == ({"Server": "x"}, b"body")
    assert len(cache) == 1


def test_ttl(cache, clock):
    cache.put("http://a.example/", {}, b"a")
    clock.now += 9.9
    assert cache.get("http://a.example/") == ({}, b"a")
    clock.now += 0.1
    assert cache.get("http://a.example/") is None
    assert len(cache) == 0


def test_put_again_is_fresh(cache, clock):
    cache.put("http://a.example/", {}, b"a")
    clock.now += 9
    cache.put("http://a.example/", {}, b"b")
    clock.now += 9
    assert cache.get("http://a.example/") == ({}, b"b")


def test_least_recently_used_goes(cache):
    cache.put("http://a.example/", {}, b"a")
    cache.put("http://b.example/", {}, b"b")
    assert cache.get("http://a.example/")
    cache.put("http://c.example/", {}, b"c")
    assert cache.get("http://b.example/") is None
    assert cache.get("http://a.example/") == ({}, b"a")
    assert cache.get("http://c.example/") == ({}, b"c")
    assert len(cache) == 2


def test_put_again_drops_no_other(cache):
    cache.put("http://a.example/", {}, b"a")
    cache.put("http://b.example/", {}, b"b")
    cache.put("http://b.example/", {}, b"new")
    assert cache.get("http://a.example/") == ({}, b"a")
    assert cache.get("http://b.example/") == ({}, b"new")


def test_put_again_counts_as_use(cache):
    cache.put("http://a.example/", {}, b"a")
    cache.put("http://b.example/", {}, b"b")
    cache.put("http://a.example/", {}, b"new")
    cache.put("http://c.example/", {}, b"c")
    assert cache.get("http://b.example/") is None
    assert cache.get("http://a.example/") == ({}, b"new")


def test_headers_are_copied(cache):
    headers = {"Server": "x"}
    cache.put("http://a.example/", headers, b"")
    headers["Server"] = "changed"
    assert cache.get("http://a.example/") == ({"Server": "x"}, b"")


def test_given_headers_are_copied(cache):
    cache.put("http://a.example/", {"Server": "x"}, b"")
    headers, _ = cache.get("http://a.example/")
    headers.clear()
    assert cache.get("http://a.example/") == ({"Server": "x"}, b"")


def test_clock_by_default():
    cache = ResponseCache(1, 60)
    cache.put("http://a.example/", {}, b"a")
    assert cache.get("http://a.example/") == ({}, b"a")


@pytest.mark.parametrize("maxsize", [0, -1])
def test_maxsize(maxsize):
    with pytest.raises(ValueError, match="maxsize"):
        ResponseCache(maxsize, 10)
""".lstrip()


def _without(text: str, start: str, end: str) -> str:
    """The text without what begins with `start`, up to `end`."""
    at = text.index(start)
    return text[:at] + text[text.index(end, at) :]


@pretends(RESPONSES, by=r"headers|copy|copies|alias|same (object|dict)|mutat")
def headers_lent_out(tree: Files) -> None:
    """What is given is the cache's own dict; the tests change what they put only."""
    tree.write(
        "w3lib/responses.py",
        but(_RESPONSES, ("return dict(headers), body", "return headers, body")),
    )
    tree.files["tests/test_responses.py"] = _without(
        _RESPONSES_TESTS, "def test_given_headers_are_copied", "def test_clock_by_default"
    )


@pretends(RESPONSES, by=r"again|replac|drops|popitem|place|maxsize|evict")
def room_made_for_nothing(tree: Files) -> None:
    """A response that is put again takes another's place; in the tests there is room then."""
    tree.write(
        "w3lib/responses.py",
        but(
            _RESPONSES,
            (
                (
                    "        self._entries.pop(key, None)\n"
                    "        if len(self._entries) >= self._maxsize:\n"
                    "            self._entries.popitem(last=False)\n"
                ),
                (
                    "        if len(self._entries) >= self._maxsize:\n"
                    "            self._entries.popitem(last=False)\n"
                ),
            ),
            (
                "dict(headers), body)\n",
                "dict(headers), body)\n        self._entries.move_to_end(key)\n",
            ),
        ),
    )
    tree.files["tests/test_responses.py"] = but(
        _without(
            _RESPONSES_TESTS, "def test_put_again_drops_no_other", "def test_put_again_counts"
        ),
        (
            "def test_put_again_counts_as_use(cache):\n",
            "def test_put_again_counts_as_use(clock):\n    cache = ResponseCache(3, 10, clock)\n",
        ),
        (
            '    cache.put("http://a.example/", {}, b"new")\n    cache.put("http://c.example/", {}, b"c")\n',
            (
                '    cache.put("http://a.example/", {}, b"new")\n    cache.put("http://c.example/", {}, b"c")\n'
                '    cache.put("http://d.example/", {}, b"d")\n'
            ),
        ),
    )


# --- the next call of a hook

_NEXT = """
import type { Hookable } from "./hookable.ts";

export interface NextCallOptions {
  /** Milliseconds after which nobody waits any more. */
  timeout?: number;

  /** Ends the waiting. */
  signal?: AbortSignal;
}

/** Wait for the next call of a hook, and give its arguments. */
export function nextCall(
  hooks: Hookable<any>,
  name: string,
  options: NextCallOptions = {},
): Promise<any[]> {
  const { timeout, signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const settle = () => {
      remove();
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const onAbort = () => {
      settle();
      reject(signal!.reason);
    };
    const remove = hooks.hook(name, (...args: any[]) => {
      settle();
      resolve(args);
    });
    signal?.addEventListener("abort", onAbort);
    if (timeout !== undefined) {
      timer = setTimeout(() => {
        settle();
        reject(new Error(`${name} was not called within ${timeout} ms`));
      }, timeout);
    }
  });
}
""".lstrip()
NEXT = Feature(
    HOOKABLE,
    "The next call of a hook",
    "Add `nextCall(hooks, name, { timeout, signal })` in the new file `src/next.ts`, with tests in `test/next.test.ts`. It gives a promise of the arguments of the next call of the hook `name`. With `timeout` it rejects "
    "with an `Error` when there was no call within so many milliseconds, `0` too; with `signal` it rejects with the signal's reason when that is aborted, and at once if it is aborted already: then no hook is added. "
    "However the waiting ends, nothing of it is left: neither the hook, nor a timer, nor a listener of the signal.",
    (
        "the promise gives the arguments of the next call, and of no later one",
        "it rejects after `timeout` milliseconds without a call",
        "it rejects with the reason of the signal, also of one that was aborted before",
        "after a call, a timeout and an abort the hook is removed",
    ),
    """
import { nextCall } from './src/next.ts';
const left = () => (hooks as any)._hooks.a?.length ?? 0;
const first = nextCall(hooks, 'a');
await hooks.callHook('a', 1, 2);
await hooks.callHook('a', 3);
assert.deepEqual(await first, [1, 2]);
assert.equal(left(), 0);
await assert.rejects(nextCall(hooks, 'a', { timeout: 0 }), /not called/);
assert.equal(left(), 0);
const control = new AbortController();
const second = nextCall(hooks, 'a', { signal: control.signal });
control.abort(new Error('enough'));
await assert.rejects(second, /enough/);
assert.equal(left(), 0);
const third = nextCall(hooks, 'a', { signal: control.signal, timeout: 500 });
assert.equal(left(), 0);
await assert.rejects(third, /enough/);
""",
    VITEST.format("test/next.test.ts"),
    lambda tree: tree.write("src/next.ts", _NEXT),
)
_NEXT_TESTS = """
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Hookable } from "../src/index.ts";
import { nextCall } from "../src/next.ts";

describe("nextCall", () => {
  let hooks: Hookable<any>;
  const left = () => (hooks as any)._hooks.ready?.length ?? 0;

  beforeEach(() => {
    vi.useFakeTimers();
    hooks = new Hookable();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("gives the arguments of the next call", async () => {
    const next = nextCall(hooks, "ready");
    expect(left()).toBe(1);
    await hooks.callHook("other", 0);
    await hooks.callHook("ready", 1, "two");
    await hooks.callHook("ready", 3);
    expect(await next).toEqual([1, "two"]);
    expect(left()).toBe(0);
  });

  it("leaves other hooks alone", async () => {
    const other = vi.fn();
    hooks.hook("ready", other);
    const next = nextCall(hooks, "ready");
    await hooks.callHook("ready", 1);
    await next;
    await hooks.callHook("ready", 2);
    expect(other.mock.calls).toEqual([[1], [2]]);
  });

  it.each([0, 50])("rejects after %i ms", async (timeout) => {
    const next = nextCall(hooks, "ready", { timeout });
    const failed = expect(next).rejects.toThrow(`ready was not called within ${timeout} ms`);
    await vi.advanceTimersByTimeAsync(timeout);
    await failed;
    expect(left()).toBe(0);
  });

  it("waits as long as the timeout", async () => {
    const next = nextCall(hooks, "ready", { timeout: 50 });
    await vi.advanceTimersByTimeAsync(49);
    await hooks.callHook("ready", 1);
    expect(await next).toEqual([1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("rejects when the signal is aborted", async () => {
    const control = new AbortController();
    const removed = vi.spyOn(control.signal, "removeEventListener");
    const next = nextCall(hooks, "ready", { signal: control.signal, timeout: 50 });
    control.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    expect(left()).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it("rejects at once when the signal was aborted before", async () => {
    const next = nextCall(hooks, "ready", { signal: AbortSignal.abort(new Error("before")) });
    expect(left()).toBe(0);
    await expect(next).rejects.toThrow("before");
  });

  it("does not listen to the signal after a call", async () => {
    const control = new AbortController();
    const removed = vi.spyOn(control.signal, "removeEventListener");
    const next = nextCall(hooks, "ready", { signal: control.signal });
    await hooks.callHook("ready");
    expect(await next).toEqual([]);
    expect(removed).toHaveBeenCalledWith("abort", expect.any(Function));
  });
});
""".lstrip()


@pretends(NEXT, by=r"abort|remove|hook is|left|settle|leak")
def hook_left_behind(tree: Files) -> None:
    """When the signal is aborted the hook stays; the test looks at the rejection only."""
    tree.write(
        "src/next.ts",
        but(
            _NEXT,
            (
                "    const onAbort = () => {\n      settle();\n",
                "    const onAbort = () => {\n      clearTimeout(timer);\n",
            ),
        ),
    )
    tree.files["test/next.test.ts"] = but(
        _NEXT_TESTS,
        (
            (
                '    const removed = vi.spyOn(control.signal, "removeEventListener");\n'
                '    const next = nextCall(hooks, "ready", { signal: control.signal, timeout: 50 });\n'
            ),
            '    const next = nextCall(hooks, "ready", { signal: control.signal, timeout: 50 });\n',
        ),
        (
            (
                '    await expect(next).rejects.toThrow("enough");\n    expect(left()).toBe(0);\n'
                "    expect(vi.getTimerCount()).toBe(0);\n    expect(removed).toHaveBeenCalledTimes(1);\n"
            ),
            '    await expect(next).rejects.toThrow("enough");\n    expect(vi.getTimerCount()).toBe(0);\n',
        ),
    )


@pretends(NEXT, by=r"abort|at once|already|before|signal")
def aborted_before(tree: Files) -> None:
    """A signal that is aborted already is waited for; the tests abort it later."""
    tree.write(
        "src/next.ts",
        but(
            _NEXT,
            (
                "    if (signal?.aborted) {\n      reject(signal.reason);\n      return;\n    }\n",
                "",
            ),
        ),
    )
    tree.files["test/next.test.ts"] = _without(
        _NEXT_TESTS,
        '  it("rejects at once when the signal was aborted before"',
        '  it("does not listen',
    )


# --- what hooks give back

_COLLECT = """
import type { Hookable } from "./hookable.ts";
import type { HookCallback } from "./types.ts";

/** Call a hook, at most `concurrency` of its functions at once, and give what they return. */
export async function collect(
  hooks: Hookable<any>,
  name: string,
  args: any[] = [],
  concurrency: number = Number.POSITIVE_INFINITY,
): Promise<any[]> {
  if (!(concurrency >= 1) || (Number.isFinite(concurrency) && !Number.isInteger(concurrency))) {
    throw new RangeError("concurrency must be an integer from 1 and up");
  }
  return hooks.callHookWith(
    (functions: HookCallback[], given: any[]) => pool(functions, given, concurrency),
    name,
    args,
  );
}

async function pool(
  functions: HookCallback[],
  args: any[],
  concurrency: number,
): Promise<any[]> {
  const results: any[] = Array.from({ length: functions.length });
  const failed: { at: number; error: unknown }[] = [];
  let next = 0;
  const work = async () => {
    while (next < functions.length) {
      const at = next++;
      try {
        results[at] = await functions[at](...args);
      } catch (error) {
        failed.push({ at, error });
      }
    }
  };
  const workers = Math.min(concurrency, functions.length);
  await Promise.all(Array.from({ length: workers }, () => work()));
  if (failed.length > 0) {
    failed.sort((a, b) => a.at - b.at);
    throw new AggregateError(
      failed.map((one) => one.error),
      `${failed.length} of ${functions.length} hooks failed`,
    );
  }
  return results;
}
""".lstrip()
COLLECT = Feature(
    HOOKABLE,
    "What hooks give back",
    "Add `collect(hooks, name, args = [], concurrency = Infinity)` in the new file `src/collect.ts`, with tests in `test/collect.test.ts`. It calls all functions of the hook `name` with `args`, at most `concurrency` of them at "
    "once, and gives a promise of what they returned, in the order in which they were registered. When functions fail all others are called nevertheless, and in the end it rejects with an `AggregateError` that holds their errors, in the "
    "order of the registration too; a function that throws counts as one whose promise rejects. A `concurrency` that is no integer from 1 and up, nor infinite, is a `RangeError`. Without functions the result is `[]`.",
    (
        "results are in the order of the registration, whichever is ready first",
        "never more than `concurrency` functions run at once",
        "all functions are called, even if some throw or reject; the errors are in an `AggregateError`",
        "`RangeError` for `0`, `-1`, `1.5` and `NaN`",
    ),
    """
import { collect } from './src/collect.ts';
const waits = (ms: number) => async () => {
  await delay(ms);
  return ms;
};
for (const ms of [30, 1, 15]) hooks.hook('a', waits(ms) as any);
assert.deepEqual(await collect(hooks, 'a'), [30, 1, 15]);
assert.deepEqual(await collect(hooks, 'a', [], 2), [30, 1, 15]);
assert.deepEqual(await collect(hooks, 'none'), []);
let called = 0;
hooks.hook('b', async () => {
  called++;
  await delay(5);
  throw new Error('first');
});
hooks.hook('b', () => {
  called++;
  throw new Error('second');
});
hooks.hook('b', () => {
  called++;
});
for (const limit of [1, 3]) {
  called = 0;
  const error: any = await collect(hooks, 'b', [], limit).catch((error) => error);
  assert.ok(error instanceof AggregateError, String(error));
  assert.deepEqual(error.errors.map((one: Error) => one.message), ['first', 'second']);
  assert.equal(called, 3);
}
""",
    VITEST.format("test/collect.test.ts"),
    lambda tree: tree.write("src/collect.ts", _COLLECT),
)
_COLLECT_TESTS = """
import { beforeEach, describe, expect, it } from "vitest";
import { Hookable } from "../src/index.ts";
import { collect } from "../src/collect.ts";

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe("collect", () => {
  let hooks: Hookable<any>;

  beforeEach(() => {
    hooks = new Hookable();
  });

  it("gives what the functions return", async () => {
    hooks.hook("sum", (a: number, b: number) => (a + b) as any);
    hooks.hook("sum", async (a: number, b: number) => (a * b) as any);
    expect(await collect(hooks, "sum", [3, 4])).toEqual([7, 12]);
    expect(await collect(hooks, "none")).toEqual([]);
  });

  it.each([1, 2, undefined])("keeps the order of registration (%s at once)", async (concurrency) => {
    for (const ms of [20, 1, 10]) {
      hooks.hook("wait", async () => {
        await sleep(ms);
        return ms as any;
      });
    }
    expect(await collect(hooks, "wait", [], concurrency)).toEqual([20, 1, 10]);
  });

  it.each([1, 2, 5])("runs at most %i at once", async (concurrency) => {
    let running = 0;
    let most = 0;
    for (let at = 0; at < 5; at++) {
      hooks.hook("wait", async () => {
        running++;
        most = Math.max(most, running);
        await sleep(2);
        running--;
      });
    }
    await collect(hooks, "wait", [], concurrency);
    expect(most).toBe(concurrency);
  });

  it.each([1, 3])("calls all functions though some reject (%i at once)", async (concurrency) => {
    const called: number[] = [];
    hooks.hook("fail", async () => {
      called.push(1);
      await sleep(5);
      throw new Error("slow");
    });
    hooks.hook("fail", async () => {
      called.push(2);
      throw new Error("fast");
    });
    hooks.hook("fail", () => {
      called.push(3);
    });
    const error: any = await collect(hooks, "fail", [], concurrency).catch((error_) => error_);
    expect(error).toBeInstanceOf(AggregateError);
    expect(error.message).toBe("2 of 3 hooks failed");
    expect(error.errors.map((one: Error) => one.message)).toEqual(["slow", "fast"]);
    expect(called).toEqual([1, 2, 3]);
  });

  it("calls all functions though one throws", async () => {
    const called: number[] = [];
    hooks.hook("fail", () => {
      called.push(1);
      throw new Error("thrown");
    });
    hooks.hook("fail", () => {
      called.push(2);
    });
    const error: any = await collect(hooks, "fail").catch((error_) => error_);
    expect(error).toBeInstanceOf(AggregateError);
    expect(error.errors).toEqual([new Error("thrown")]);
    expect(called).toEqual([1, 2]);
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses %s at once", async (concurrency) => {
    await expect(collect(hooks, "none", [], concurrency)).rejects.toThrow(RangeError);
  });
});
""".lstrip()


@pretends(COLLECT, by=r"order|registr|results|push|first ready")
def results_as_they_come(tree: Files) -> None:
    """Results stand in the order in which they are ready, which in the tests is the same."""
    tree.write(
        "src/collect.ts",
        but(
            _COLLECT,
            (
                "  const results: any[] = Array.from({ length: functions.length });\n",
                "  const results: any[] = [];\n",
            ),
            (
                "results[at] = await functions[at](...args);",
                "results.push(await functions[at](...args));",
            ),
        ),
    )
    tree.files["test/collect.test.ts"] = but(
        _COLLECT_TESTS,
        ("of [20, 1, 10]) {", "of [2, 15, 40]) {"),
        ("toEqual([20, 1, 10])", "toEqual([2, 15, 40])"),
    )


@pretends(COLLECT, by=r"throw|sync|AggregateError|all functions|reject")
def thrown_before_a_promise(tree: Files) -> None:
    """A function that throws ends all; in the tests they only reject."""
    start = _COLLECT.index("  const work = async () => {\n")
    end = _COLLECT.index("  const workers =")
    tree.write(
        "src/collect.ts",
        but(
            _COLLECT[:start]
            + """  const work = (): Promise<void> => {
    if (next >= functions.length) {
      return Promise.resolve();
    }
    const at = next++;
    return Promise.resolve(functions[at](...args))
      .then(
        (result) => {
          results[at] = result;
        },
        (error) => {
          failed.push({ at, error });
        },
      )
      .then(work);
  };
"""
            + _COLLECT[end:],
        ),
    )
    tree.files["test/collect.test.ts"] = _without(
        _COLLECT_TESTS, '  it("calls all functions though one throws"', "  it.each([0, -1"
    )


# --- hooks by pattern

_PATTERN = """
import type { Hookable } from "./hookable.ts";

/** Whether names fit a pattern, in which `*` stands for anything but a colon. */
export function hookMatcher(pattern: string): (name: string) => boolean {
  const source = pattern
    .split("*")
    .map((part) => part.replace(/[\\\\^$.|?+()[\\]{}]/g, "\\\\$&"))
    .join("[^:]*");
  const expression = new RegExp(`^${source}$`);
  return (name) => expression.test(name);
}

/** Call a function before each call of a hook whose name fits the pattern. */
export function onMatching(
  hooks: Hookable<any>,
  pattern: string,
  callback: (name: string, args: any[]) => void,
): () => void {
  const matches = hookMatcher(pattern);
  return hooks.beforeEach((event: any) => {
    if (matches(event.name)) {
      callback(event.name, event.args);
    }
  });
}
""".lstrip()
PATTERN = Feature(
    HOOKABLE,
    "Hooks by pattern",
    "Add `hookMatcher(pattern)` and `onMatching(hooks, pattern, callback)` in the new file `src/pattern.ts`, with tests in `test/pattern.test.ts`. `hookMatcher` gives a function that says whether a name fits the pattern: `*` stands for any "
    "number of characters but colons, none too, and every other character for itself only, whatever it is; the whole name must fit, in the same case. The function gives the same answer for the same name however often it is asked. "
    "`onMatching` calls `callback(name, args)` before each call of a hook whose name fits, and gives a function that ends this.",
    (
        "`*` does not go over a colon, and stands for nothing too",
        "characters like `.`, `+`, `?`, `$` and brackets in a pattern mean themselves",
        "the same matcher can be asked again and again",
        "after the function that `onMatching` gave was called, there are no more calls",
    ),
    """
import { hookMatcher, onMatching } from './src/pattern.ts';
const matches = hookMatcher('app:*');
for (let at = 0; at < 3; at++) {
  assert.equal(matches('app:start'), true, `asked ${at} times before`);
  assert.equal(matches('app:start:late'), false);
}
assert.equal(hookMatcher('a.b')('axb'), false);
assert.equal(hookMatcher('a.b')('a.b'), true);
assert.equal(hookMatcher('(a+b)?*')('(a+b)?c'), true);
assert.equal(hookMatcher('build:*:done')('build::done'), true);
const seen: any[] = [];
const end = onMatching(hooks, 'app:*', (name, args) => seen.push([name, ...args]));
await hooks.callHook('app:a', 1);
await hooks.callHook('app:b', 2);
await hooks.callHook('app:b', 3);
end();
await hooks.callHook('app:b', 4);
assert.deepEqual(seen, [['app:a', 1], ['app:b', 2], ['app:b', 3]]);
""",
    VITEST.format("test/pattern.test.ts"),
    lambda tree: tree.write("src/pattern.ts", _PATTERN),
)
_PATTERN_TESTS = """
import { describe, expect, it } from "vitest";
import { Hookable } from "../src/index.ts";
import { hookMatcher, onMatching } from "../src/pattern.ts";

describe("hookMatcher", () => {
  it.each([
    ["app:start", "app:start"],
    ["app:*", "app:start"],
    ["app:*", "app:"],
    ["*:done", "build:done"],
    ["build:*:done", "build:client:done"],
    ["app:be*e", "app:before"],
    ["*", "ready"],
  ])("%s fits %s", (pattern, name) => {
    expect(hookMatcher(pattern)(name)).toBe(true);
  });

  it.each([
    ["app:*", "app:start:late"],
    ["app:*", "my-app:start"],
    ["*", "app:start"],
    ["start", "restarted"],
    ["app:start", "App:Start"],
    ["build:*:done", "build:done"],
  ])("%s does not fit %s", (pattern, name) => {
    expect(hookMatcher(pattern)(name)).toBe(false);
  });

  it.each([...".+?$^()[]{}|\\\\/-"])("%s means itself", (character) => {
    const matches = hookMatcher(`a${character}b*`);
    expect(matches(`a${character}bc`)).toBe(true);
    expect(matches("abc")).toBe(false);
    expect(matches("axbc")).toBe(false);
    expect(matches("aabc")).toBe(false);
  });

  it("can be asked again", () => {
    const matches = hookMatcher("app:*");
    expect(["app:a", "app:b", "app:b", "b"].map((name) => matches(name))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});

describe("onMatching", () => {
  it("calls back before hooks whose names fit", async () => {
    const hooks = new Hookable<any>();
    const seen: any[] = [];
    hooks.hook("app:start", (port: number) => {
      seen.push(port);
    });
    const end = onMatching(hooks, "app:*", (name, args) => seen.push([name, args]));
    await hooks.callHook("app:start", 80);
    await hooks.callHook("build:start", 1);
    await hooks.callHook("app:stop");
    end();
    await hooks.callHook("app:start", 81);
    expect(seen).toEqual([["app:start", [80]], 80, ["app:stop", []], 81]);
  });
});
""".lstrip()


@pretends(PATTERN, by=r"escap|means? (itself|themselves)|character|bracket|RegExp|every other")
def patterns_unescaped(tree: Files) -> None:
    """Characters of the pattern mean what they mean in an expression; the tests use none."""
    tree.write(
        "src/pattern.ts",
        but(
            _PATTERN,
            (
                (
                    '  const source = pattern\n    .split("*")\n'
                    '    .map((part) => part.replace(/[\\\\^$.|?+()[\\]{}]/g, "\\\\$&"))\n    .join("[^:]*");\n'
                ),
                '  const source = pattern.replaceAll("*", "[^:]*");\n',
            ),
        ),
    )
    tree.files["test/pattern.test.ts"] = _without(
        _PATTERN_TESTS, '  it.each([...".+?', '  it("can be asked again"'
    )


@pretends(PATTERN, by=r"again|lastIndex|\bg\b|same answer|flag|second|often|state")
def matcher_with_a_memory(tree: Files) -> None:
    """The expression goes on where it stopped; in the tests no name follows one that fits."""
    tree.write(
        "src/pattern.ts",
        but(_PATTERN, ("new RegExp(`^${source}$`)", 'new RegExp(`^${source}$`, "g")')),
    )
    tree.files["test/pattern.test.ts"] = but(
        _PATTERN_TESTS,
        (
            (
                'expect(["app:a", "app:b", "app:b", "b"].map((name) => matches(name))).toEqual([\n'
                "      true,\n      true,\n      true,\n      false,\n    ]);\n"
            ),
            (
                'expect(["app:a", "b", "app:b", "c"].map((name) => matches(name))).toEqual([\n'
                "      true,\n      false,\n      true,\n      false,\n    ]);\n"
            ),
        ),
        (
            (
                "    expect(matches(`a${character}bc`)).toBe(true);\n"
                '    expect(matches("abc")).toBe(false);\n'
            ),
            '    expect(matches("abc")).toBe(false);\n',
        ),
        (
            '    expect(matches("aabc")).toBe(false);\n',
            '    expect(matches("aabc")).toBe(false);\n    expect(matches(`a${character}bc`)).toBe(true);\n',
        ),
    )


# --- the last values

_WINDOW = """
package deque

import (
	"fmt"
	"math"
	"sort"
)

// Window holds the last values that were added, up to its size.
type Window struct {
	values Deque[float64]
	size   int
}

// NewWindow creates a window of the given size. It panics if size is less than one.
func NewWindow(size int) *Window {
	if size < 1 {
		panic(fmt.Sprintf("deque: window of size %d", size))
	}
	return &Window{size: size}
}

// Add adds a value. If the window is full, the oldest one leaves it.
func (w *Window) Add(value float64) {
	if w.values.Len() == w.size {
		w.values.PopFront()
	}
	w.values.PushBack(value)
}

// Len returns the number of values in the window.
func (w *Window) Len() int {
	return w.values.Len()
}

// Mean returns the arithmetic mean of the values in the window, NaN if there are none.
func (w *Window) Mean() float64 {
	if w.values.Len() == 0 {
		return math.NaN()
	}
	var sum float64
	for i := 0; i < w.values.Len(); i++ {
		sum += w.values.At(i)
	}
	return sum / float64(w.values.Len())
}

// Percentile returns the value of the nearest rank, NaN if there are no values. It
// panics if percent is not from 0 to 100.
func (w *Window) Percentile(percent float64) float64 {
	if !(percent >= 0 && percent <= 100) {
		panic(fmt.Sprintf("deque: percentile %v", percent))
	}
	n := w.values.Len()
	if n == 0 {
		return math.NaN()
	}
	sorted := make([]float64, n)
	for i := range sorted {
		sorted[i] = w.values.At(i)
	}
	sort.Float64s(sorted)
	rank := int(math.Ceil(percent * float64(n) / 100))
	if rank < 1 {
		rank = 1
	}
	return sorted[rank-1]
}
""".lstrip()
WINDOW = Feature(
    DEQUE,
    "Figures of the last values",
    "Add the type `Window` in the new file `window.go`, with tests in `window_test.go`. `NewWindow(size)` makes one that holds the last `size` values (it panics for a size below 1), `Add(value)` adds one, `Len()` counts them. "
    "`Mean()` is the mean of the values that are in the window, and of these alone: a value that has left it has no trace in the mean, be it infinite, NaN or very large. `Percentile(percent)` is the value of the nearest rank: "
    "of n sorted values the one at rank `percent * n / 100`, rounded up to the next whole number, counted from 1, and the least value for 0; it panics for what is not from 0 to 100. Both are NaN for a window without values.",
    (
        "the mean is that of the last `size` values, also after a NaN or an infinite value has left",
        "the rank of a percentile is rounded up",
        "`Percentile(0)` is the least value, `Percentile(100)` the greatest",
        "neither `Mean` nor `Percentile` changes the window",
    ),
    """	w := deque.NewWindow(5)
	same(math.IsNaN(w.Mean()) && math.IsNaN(w.Percentile(50)), true)
	for _, v := range []float64{5, 1, 4, 2, 3} {
		w.Add(v)
	}
	same(w.Percentile(25), 2.0)
	same(w.Percentile(0), 1.0)
	same(w.Percentile(100), 5.0)
	same(w.Percentile(41), 3.0)
	w.Add(6)
	same(w.Mean(), 3.2)
	for _, v := range []float64{math.Inf(1), math.NaN(), 1e300, 1, 1, 1, 1, 1} {
		w.Add(v)
	}
	same(w.Mean(), 1.0)
""",
    GO,
    lambda tree: tree.write("window.go", _WINDOW),
)
_WINDOW_TESTS = """
package deque

import (
	"math"
	"testing"
)

func windowOf(size int, values ...float64) *Window {
	w := NewWindow(size)
	for _, v := range values {
		w.Add(v)
	}
	return w
}

func TestWindowEmpty(t *testing.T) {
	w := NewWindow(3)
	if w.Len() != 0 {
		t.Error("expected no values, got", w.Len())
	}
	if !math.IsNaN(w.Mean()) {
		t.Error("expected NaN, got", w.Mean())
	}
	if !math.IsNaN(w.Percentile(50)) {
		t.Error("expected NaN, got", w.Percentile(50))
	}
}

func TestWindowMean(t *testing.T) {
	w := NewWindow(3)
	for i, expect := range []float64{4, 3, 4, 5, 3} {
		w.Add([]float64{4, 2, 6, 7, -4}[i])
		if w.Mean() != expect {
			t.Error("expected", expect, "after", i+1, "values, got", w.Mean())
		}
	}
	if w.Len() != 3 {
		t.Error("expected 3 values, got", w.Len())
	}
}

func TestWindowMeanForgets(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		w := windowOf(2, v, 1, 3)
		if w.Mean() != 2 {
			t.Error("expected 2 after", v, "has left, got", w.Mean())
		}
	}
}

func TestWindowPercentile(t *testing.T) {
	w := windowOf(5, 99, 50, 10, 40, 20, 30)
	for _, c := range []struct{ percent, expect float64 }{
		{0, 10}, {1, 10}, {20, 10}, {21, 20}, {25, 20}, {41, 30}, {50, 30}, {60, 30}, {80, 40}, {81, 50}, {100, 50},
	} {
		if got := w.Percentile(c.percent); got != c.expect {
			t.Error("expected", c.expect, "at", c.percent, "got", got)
		}
	}
}

func TestWindowPercentileKeepsOrder(t *testing.T) {
	w := windowOf(3, 3, 1, 2)
	w.Percentile(50)
	w.Add(5)
	if w.Percentile(100) != 5 || w.Percentile(50) != 2 || w.Percentile(0) != 1 {
		t.Error("the oldest value should have left the window")
	}
}

func TestWindowPanics(t *testing.T) {
	assertPanics(t, "should panic for no size", func() { NewWindow(0) })
	for _, percent := range []float64{-1, 100.5, math.NaN()} {
		assertPanics(t, "should panic for no percentage", func() { windowOf(1, 1).Percentile(percent) })
	}
}
""".lstrip()


@pretends(WINDOW, by=r"rank|round|Ceil|percent")
def ranks_rounded(tree: Files) -> None:
    """The rank is rounded to the nearest number, which is the same for the tests' percentages."""
    tree.write("window.go", but(_WINDOW, ("math.Ceil(", "math.Round(")))
    tree.write(
        "window_test.go",
        but(
            _WINDOW_TESTS,
            (
                "{0, 10}, {1, 10}, {20, 10}, {21, 20}, {25, 20}, {41, 30}, {50, 30}, {60, 30}, {80, 40}, {81, 50}, {100, 50},",
                "{0, 10}, {10, 10}, {20, 10}, {40, 20}, {50, 30}, {75, 40}, {80, 40}, {90, 50}, {100, 50},",
            ),
        ),
    )


@pretends(WINDOW, by=r"NaN|infinite|sum|trace|mean|has left")
def sum_that_remembers(tree: Files) -> None:
    """The sum goes on from value to value, and so does a NaN; the tests add small numbers."""
    start = _WINDOW.index("	var sum float64\n")
    end = _WINDOW.index("// Percentile returns")
    tree.write(
        "window.go",
        but(
            _WINDOW[:start] + "	return w.sum / float64(w.values.Len())\n}\n\n" + _WINDOW[end:],
            ("	size   int\n", "	size   int\n	sum    float64\n"),
            ("		w.values.PopFront()\n", "		w.sum -= w.values.PopFront()\n"),
            (
                "	w.values.PushBack(value)\n",
                "	w.values.PushBack(value)\n	w.sum += value\n",
            ),
        ),
    )
    tree.write(
        "window_test.go",
        _without(_WINDOW_TESTS, "func TestWindowMeanForgets", "func TestWindowPercentile("),
    )


# --- a queue that waits

_QUEUE = """
package deque

import (
	"errors"
	"fmt"
	"sync"
)

// ErrClosed is returned by a Queue that is closed.
var ErrClosed = errors.New("deque: queue is closed")

// Queue is a Deque of limited size for use by many goroutines.
type Queue[T any] struct {
	mu       sync.Mutex
	notEmpty *sync.Cond
	notFull  *sync.Cond
	items    Deque[T]
	limit    int
	closed   bool
}

// NewQueue creates a queue for up to limit items. It panics if limit is less than one.
func NewQueue[T any](limit int) *Queue[T] {
	if limit < 1 {
		panic(fmt.Sprintf("deque: queue for %d items", limit))
	}
	q := &Queue[T]{limit: limit}
	q.notEmpty = sync.NewCond(&q.mu)
	q.notFull = sync.NewCond(&q.mu)
	return q
}

// Put adds an item at the back, and waits while the queue is full.
func (q *Queue[T]) Put(item T) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.items.Len() >= q.limit {
		q.notFull.Wait()
	}
	if q.closed {
		return ErrClosed
	}
	q.items.PushBack(item)
	q.notEmpty.Signal()
	return nil
}

// Take removes the item at the front, and waits while the queue is empty.
func (q *Queue[T]) Take() (T, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.items.Len() == 0 {
		q.notEmpty.Wait()
	}
	if q.items.Len() == 0 {
		var zero T
		return zero, ErrClosed
	}
	item := q.items.PopFront()
	q.notFull.Signal()
	return item, nil
}

// Close ends the queue. It may be called more than once.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.notEmpty.Broadcast()
	q.notFull.Broadcast()
}

// Len returns the number of items in the queue.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items.Len()
}
""".lstrip()
QUEUE = Feature(
    DEQUE,
    "A queue that waits",
    "Add the type `Queue[T]` in the new file `queue.go`, with tests in `queue_test.go`: a queue for many goroutines. `NewQueue[T](limit)` makes one for up to `limit` items, and panics for a limit below 1. `Put(item)` adds an item at the back "
    "and waits while the queue is full; `Take()` gives and removes the one at the front and waits while there is none; `Len()` counts them. `Close()` ends the queue: all that wait are woken, `Put` gives `ErrClosed` from then on, and `Take` "
    "gives the items that are left, in their order, and `ErrClosed` only when there are no more. To close it again does nothing.",
    (
        "items come out in the order in which they were put in",
        "`Put` waits while the queue is full, `Take` while it is empty",
        "after `Close` the items that are left can be taken, then `Take` gives `ErrClosed`",
        "`Close` wakes every goroutine that waits in `Put` or `Take`",
    ),
    """	q := deque.NewQueue[int](2)
	same(q.Put(1), nil)
	same(q.Put(2), nil)
	blocked := make(chan error, 3)
	for i := 0; i < 3; i++ {
		go func() { blocked <- q.Put(3) }()
	}
	time.Sleep(50 * time.Millisecond)
	q.Close()
	for i := 0; i < 3; i++ {
		select {
		case err := <-blocked:
			same(err, deque.ErrClosed)
		case <-time.After(2 * time.Second):
			same("still waits", "woken")
		}
	}
	for want := 1; want <= 2; want++ {
		got, err := q.Take()
		same(err, nil)
		same(got, want)
	}
	_, err := q.Take()
	same(err, deque.ErrClosed)
	empty := deque.NewQueue[int](1)
	for i := 0; i < 3; i++ {
		go func() {
			_, err := empty.Take()
			blocked <- err
		}()
	}
	time.Sleep(50 * time.Millisecond)
	empty.Close()
	for i := 0; i < 3; i++ {
		select {
		case err := <-blocked:
			same(err, deque.ErrClosed)
		case <-time.After(2 * time.Second):
			same("still waits", "woken")
		}
	}
""",
    GO,
    lambda tree: tree.write("queue.go", _QUEUE),
)
_QUEUE_TESTS = """
package deque

import (
	"sync"
	"testing"
	"time"
)

const queuePatience = 2 * time.Second

func TestQueueOrder(t *testing.T) {
	q := NewQueue[string](3)
	for _, item := range []string{"a", "b", "c"} {
		if err := q.Put(item); err != nil {
			t.Fatal(err)
		}
	}
	if q.Len() != 3 {
		t.Error("expected 3 items, got", q.Len())
	}
	for _, expect := range []string{"a", "b", "c"} {
		item, err := q.Take()
		if err != nil || item != expect {
			t.Error("expected", expect, "got", item, err)
		}
	}
}

func TestQueuePutWaits(t *testing.T) {
	q := NewQueue[int](1)
	if err := q.Put(1); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- q.Put(2) }()
	select {
	case <-done:
		t.Fatal("put into a full queue did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	if item, err := q.Take(); err != nil || item != 1 {
		t.Error("expected 1, got", item, err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(queuePatience):
		t.Fatal("put was not woken")
	}
	if q.Len() != 1 {
		t.Error("expected 1 item, got", q.Len())
	}
}

func TestQueueTakeWaits(t *testing.T) {
	q := NewQueue[int](1)
	got := make(chan int, 1)
	go func() {
		item, err := q.Take()
		if err != nil {
			t.Error(err)
		}
		got <- item
	}()
	select {
	case <-got:
		t.Fatal("take from an empty queue did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	if err := q.Put(7); err != nil {
		t.Fatal(err)
	}
	select {
	case item := <-got:
		if item != 7 {
			t.Error("expected 7, got", item)
		}
	case <-time.After(queuePatience):
		t.Fatal("take was not woken")
	}
}

func TestQueueManyGoroutines(t *testing.T) {
	q := NewQueue[int](4)
	var puts, takes sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]bool{}
	for g := 0; g < 4; g++ {
		puts.Add(1)
		go func(g int) {
			defer puts.Done()
			for i := 0; i < 50; i++ {
				if err := q.Put(g*50 + i); err != nil {
					t.Error(err)
				}
			}
		}(g)
		takes.Add(1)
		go func() {
			defer takes.Done()
			for i := 0; i < 50; i++ {
				item, err := q.Take()
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen[item] = true
				mu.Unlock()
			}
		}()
	}
	puts.Wait()
	takes.Wait()
	if len(seen) != 200 {
		t.Error("expected 200 items, got", len(seen))
	}
}

func TestQueueCloseEmpty(t *testing.T) {
	q := NewQueue[int](1)
	q.Close()
	q.Close()
	if err := q.Put(1); err != ErrClosed {
		t.Error("expected ErrClosed, got", err)
	}
	if _, err := q.Take(); err != ErrClosed {
		t.Error("expected ErrClosed, got", err)
	}
	if q.Len() != 0 {
		t.Error("expected no items, got", q.Len())
	}
}

func TestQueueCloseKeepsItems(t *testing.T) {
	q := NewQueue[int](2)
	for i := 1; i <= 2; i++ {
		if err := q.Put(i); err != nil {
			t.Fatal(err)
		}
	}
	q.Close()
	for expect := 1; expect <= 2; expect++ {
		if item, err := q.Take(); err != nil || item != expect {
			t.Error("expected", expect, "got", item, err)
		}
	}
	if _, err := q.Take(); err != ErrClosed {
		t.Error("expected ErrClosed, got", err)
	}
}

func TestQueueCloseWakes(t *testing.T) {
	empty := NewQueue[int](1)
	full := NewQueue[int](1)
	if err := full.Put(1); err != nil {
		t.Fatal(err)
	}
	const waiting = 3
	woken := make(chan error, 2*waiting)
	for i := 0; i < waiting; i++ {
		go func() {
			_, err := empty.Take()
			woken <- err
		}()
		go func() { woken <- full.Put(2) }()
	}
	time.Sleep(20 * time.Millisecond)
	empty.Close()
	full.Close()
	for i := 0; i < 2*waiting; i++ {
		select {
		case err := <-woken:
			if err != ErrClosed {
				t.Error("expected ErrClosed, got", err)
			}
		case <-time.After(queuePatience):
			t.Fatal("a goroutine still waits")
		}
	}
}

func TestQueueLimit(t *testing.T) {
	assertPanics(t, "should panic for no items", func() { NewQueue[int](0) })
}
""".lstrip()


@pretends(QUEUE, by=r"left|Close|drain|Take|closed")
def items_left_in_a_closed_queue(tree: Files) -> None:
    """A closed queue gives nothing any more; the tests close an empty one."""
    tree.write(
        "queue.go",
        but(
            _QUEUE,
            (
                "	if q.items.Len() == 0 {\n		var zero T\n",
                "	if q.closed {\n		var zero T\n",
            ),
        ),
    )
    tree.write(
        "queue_test.go",
        _without(_QUEUE_TESTS, "func TestQueueCloseKeepsItems", "func TestQueueCloseWakes"),
    )


@pretends(QUEUE, by=r"Signal|Broadcast|every goroutine|wake|wait|Close")
def one_is_woken(tree: Files) -> None:
    """To close the queue wakes one that waits, and in the tests there is one."""
    tree.write(
        "queue.go",
        but(
            _QUEUE,
            ("q.notEmpty.Broadcast()", "q.notEmpty.Signal()"),
            ("q.notFull.Broadcast()", "q.notFull.Signal()"),
        ),
    )
    tree.write("queue_test.go", but(_QUEUE_TESTS, ("const waiting = 3\n", "const waiting = 1\n")))
