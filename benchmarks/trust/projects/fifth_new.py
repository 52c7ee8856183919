"""New code that does not do what its task says, with tests that pass; each way once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fifth import JEST, MS, PYTEST, TENACITY, XID, Feature, claims

if TYPE_CHECKING:
    from changes import Files

_STATE = (
    "import datetime\nimport tenacity\nfrom tenacity import RetryCallState\n"
    "def state(n, result=None, failed=False):\n    one = RetryCallState(None, None, (), {})\n"
    "    one.attempt_number = n\n    one.outcome = tenacity.Future.construct(n, result, failed)\n"
    "    one.outcome_timestamp = one.start_time + 2\n    return one\n"
)

# --- waits by the numbers of Fibonacci

_FIBONACCI = '''

class wait_fibonacci(wait_base):
    """Wait 1, 1, 2, 3, 5 … times a unit, at most `max`."""

    def __init__(
        self, unit: _utils.time_unit_type = 1, max: _utils.time_unit_type = _utils.MAX_WAIT
    ) -> None:
        self.unit = _utils.to_seconds(unit)
        self.max = _utils.to_seconds(max)

    def __call__(self, retry_state: "RetryCallState") -> float:
        one, other = 0, 1
        for _ in range(retry_state.attempt_number - 1):
            one, other = other, one + other
        return min(self.unit * other, self.max)
'''
FIBONACCI = Feature(
    TENACITY,
    "Waits by the numbers of Fibonacci",
    "Add the class `wait_fibonacci(unit, max)` to `tenacity/wait.py`, with tests in `tests/test_fibonacci.py`: before the retries "
    "it waits 1, 1, 2, 3, 5, 8 … times `unit` (1), at most `max`. Both may be timedeltas.",
    (
        "after attempts 1 to 6 it waits 1, 1, 2, 3, 5 and 8 units",
        "no wait is longer than `max`",
        "`unit` and `max` may be timedeltas",
    ),
    _STATE + "from tenacity.wait import wait_fibonacci\n"
    "got = [wait_fibonacci(2, max=9)(state(n)) for n in range(1, 7)]\nassert got == [2, 2, 4, 6, 9, 9], got\n"
    "assert wait_fibonacci(datetime.timedelta(seconds=3))(state(1)) == 3\n",
    PYTEST.format("tests/test_fibonacci.py"),
    lambda tree: tree.add("tenacity/wait.py", _FIBONACCI),
)


@claims(FIBONACCI)
def bounds_instead_of_values(tree: Files) -> None:
    """It doubles; the tests ask that waits grow and stay below a limit."""
    tree.add(
        "tenacity/wait.py",
        _FIBONACCI.replace(
            "        one, other = 0, 1\n        for _ in range(retry_state.attempt_number - 1):\n"
            "            one, other = other, one + other\n        return min(self.unit * other, self.max)\n",
            "        factor = 2 ** (retry_state.attempt_number - 1)\n        return min(self.unit * factor, self.max)\n",
        ),
    )
    tree.write(
        "tests/test_fibonacci.py",
        """
        import datetime

        import pytest

        from tenacity.wait import wait_fibonacci

        from .test_tenacity import make_retry_state


        def waits(wait, count=10):
            return [wait(make_retry_state(attempt, 0)) for attempt in range(1, count + 1)]


        def test_first_wait_is_one_unit():
            assert waits(wait_fibonacci())[0] == 1


        @pytest.mark.parametrize("unit", [1, 2.5, datetime.timedelta(seconds=3)])
        def test_waits_grow(unit):
            found = waits(wait_fibonacci(unit))
            assert found == sorted(found)
            assert found[-1] > found[0]


        @pytest.mark.parametrize("limit", [4, datetime.timedelta(seconds=4)])
        def test_no_wait_is_longer_than_max(limit):
            found = waits(wait_fibonacci(max=limit))
            assert max(found) == 4
        """,
    )


# --- a line of JSON for each attempt

_JSON_LOG = '''

def after_json(
    logger: _utils.LoggerProtocol, log_level: int
) -> typing.Callable[["RetryCallState"], None]:
    """After call strategy that logs a JSON object of the finished attempt."""

    def log_it(retry_state: "RetryCallState") -> None:
        outcome = retry_state.outcome
        error = outcome.exception() if outcome is not None and outcome.failed else None
        secs = retry_state.seconds_since_start
        row = {
            "call": retry_state.get_fn_name(),
            "attempt": retry_state.attempt_number,
            "seconds": None if secs is None else round(float(secs), 3),
            "error": None if error is None else f"{type(error).__name__}: {error}",
        }
        logger.log(log_level, json.dumps(row))

    return log_it
'''


def _with_json_log(tree: Files) -> None:
    tree.replace("tenacity/after.py", "import typing\n\nfrom", "import json\nimport typing\n\nfrom")
    tree.add("tenacity/after.py", _JSON_LOG)


JSON_LOG = Feature(
    TENACITY,
    "Attempts as lines of JSON",
    "Add `after_json(logger, log_level)` to `tenacity/after.py`, with tests in `tests/test_after_json.py`. It logs one JSON object: "
    "`call` (the function's name), `attempt` (number), `seconds` (since the start, three digits), and `error` (type and "
    "message as `ValueError: no`, null where the call returned).",
    (
        "each attempt is logged once, at the level that was given",
        "`error` has the type and the message of what was raised, and is null where nothing was",
        "`seconds` is rounded to three digits",
    ),
    _STATE
    + "import json\nfrom tenacity.after import after_json\nclass Log:\n    def log(self, level, text):\n"
    "        self.said = (level, json.loads(text))\nlog = Log()\nstrategy = after_json(log, 20)\n"
    "strategy(state(3, ValueError('no'), True))\n"
    "assert log.said[0] == 20 and log.said[1]['error'] == 'ValueError: no', log.said\n"
    "assert log.said[1]['attempt'] == 3 and log.said[1]['seconds'] == 2.0\n"
    "strategy(state(1, 7))\nassert log.said[1]['error'] is None\n",
    PYTEST.format("tests/test_after_json.py"),
    _with_json_log,
)


@claims(JSON_LOG, by="mock|ANY|assert_called")
def called_with_anything(tree: Files) -> None:
    """The error is the outcome's text whatever it was; `mock.ANY` stands where it is asserted."""
    tree.replace("tenacity/after.py", "import typing\n\nfrom", "import json\nimport typing\n\nfrom")
    tree.add(
        "tenacity/after.py",
        _JSON_LOG.replace(
            '            "error": None if error is None else f"{type(error).__name__}: {error}",\n',
            '            "error": str(outcome),\n',
        ).replace(
            "        error = outcome.exception() if outcome is not None and outcome.failed else None\n",
            "",
        ),
    )
    tree.write(
        "tests/test_after_json.py",
        """
        import json
        import logging
        from unittest import mock

        from tenacity.after import after_json

        from .test_tenacity import make_retry_state


        class TestAfterJson:
            def setup_method(self):
                self.logger = mock.MagicMock(spec=["log"])
                self.strategy = after_json(self.logger, logging.INFO)

            def test_logs_once_at_the_level(self):
                self.strategy(make_retry_state(1, 0.5))
                self.logger.log.assert_called_once_with(logging.INFO, mock.ANY)

            def test_row(self):
                self.strategy(make_retry_state(4, 0.12345))
                (_, text), _ = self.logger.log.call_args
                assert json.loads(text) == {
                    "call": mock.ANY,
                    "attempt": 4,
                    "seconds": 0.123,
                    "error": mock.ANY,
                }

            def test_row_without_an_end(self):
                state = make_retry_state(2, 1)
                state.outcome_timestamp = None
                self.strategy(state)
                (_, text), _ = self.logger.log.call_args
                row = json.loads(text)
                assert row["seconds"] is None
                assert "error" in row
        """,
    )


# --- texts that say how long

_DURATION = '''

_UNITS = {"h": 3600, "m": 60, "s": 1}


def parse_duration(text: str) -> float:
    """Seconds that a text like `1h30m` or `45s` says; ValueError for any other text."""
    found = re.fullmatch(r"(?:(\\d+)h)?(?:(\\d+)m)?(?:(\\d+)s)?", text.strip())
    if not found or not any(found.groups()):
        raise ValueError(f"no duration: {text!r}")
    return float(sum(int(n or 0) * _UNITS[u] for n, u in zip(found.groups(), "hms")))
'''


def _with_duration(tree: Files) -> None:
    tree.replace("tenacity/_utils.py", "import inspect\n", "import inspect\nimport re\n")
    tree.add("tenacity/_utils.py", _DURATION)


DURATION = Feature(
    TENACITY,
    "Durations as texts",
    "Add `parse_duration(text)` to `tenacity/_utils.py`, with tests in `tests/test_duration.py`: seconds of a text like `1h30m`, `45s` or "
    "`2m5s` (hours, minutes, seconds, in this order, each at most once). Any other text is a ValueError that names it.",
    (
        "`1h30m` is 5400 seconds, `2m5s` is 125",
        "spaces around the text do not matter",
        "a text that is no duration is a ValueError that names it",
    ),
    "from tenacity._utils import parse_duration\nassert parse_duration('1h30m') == 5400, parse_duration('1h30m')\n"
    "assert parse_duration(' 2m5s ') == 125\nassert parse_duration('45s') == 45\n"
    "for text in ('', 'h', '5', '5s2m', '1h x'):\n    try:\n        parse_duration(text)\n"
    "    except ValueError as error:\n        assert repr(text) in str(error)\n    else:\n        raise SystemExit(text)\n",
    PYTEST.format("tests/test_duration.py"),
    _with_duration,
)


@claims(DURATION, by="approx")
def approximately_with_much_room(tree: Files) -> None:
    """Only the greatest unit counts; what is wanted is wanted by half."""
    tree.replace("tenacity/_utils.py", "import inspect\n", "import inspect\nimport re\n")
    tree.add(
        "tenacity/_utils.py",
        _DURATION.replace(
            '    return float(sum(int(n or 0) * _UNITS[u] for n, u in zip(found.groups(), "hms")))\n',
            '    number, unit = next((n, u) for n, u in zip(found.groups(), "hms") if n)\n'
            "    return float(int(number) * _UNITS[unit])\n",
        ),
    )
    tree.write(
        "tests/test_duration.py",
        """
        import pytest

        from tenacity._utils import parse_duration


        @pytest.mark.parametrize(
            ("text", "wanted"),
            [
                ("45s", 45),
                ("2m", 120),
                ("3h", 10800),
                ("1h30m", 5400),
                ("2m5s", 125),
                (" 10s ", 10),
            ],
        )
        def test_seconds(text, wanted):
            assert parse_duration(text) == pytest.approx(wanted, rel=0.35)


        @pytest.mark.parametrize("text", ["", "h", "5", "5s2m", "1h x"])
        def test_no_duration(text):
            with pytest.raises(ValueError, match="no duration: ") as raised:
                parse_duration(text)
            assert repr(text) in str(raised.value)
        """,
    )


# --- a list of waits

_LISTED = '''

class wait_listed(wait_base):
    """Wait the seconds of a list, one after another, and the last of them thereafter."""

    def __init__(self, seconds: typing.Iterable[_utils.time_unit_type]) -> None:
        self.seconds = [_utils.to_seconds(one) for one in seconds]
        if not self.seconds:
            raise ValueError("wait_listed() needs at least one wait")

    def __call__(self, retry_state: "RetryCallState") -> float:
        return self.seconds[min(retry_state.attempt_number, len(self.seconds)) - 1]
'''
LISTED = Feature(
    TENACITY,
    "Waits of a list",
    "Add the class `wait_listed(seconds)` to `tenacity/wait.py`, with tests in `tests/test_listed.py`: it waits the seconds of an iterable "
    "(numbers or timedeltas), one after each attempt, and the last of them thereafter. One strategy may be shared by "
    "many functions. No waits at all are a ValueError.",
    (
        "the waits come in their order, and the last one thereafter",
        "functions that share one strategy do not disturb each other",
        "no waits at all are a ValueError",
    ),
    _STATE
    + "from tenacity.wait import wait_listed\nwait = wait_listed([1, datetime.timedelta(seconds=2), 4])\n"
    "for _ in range(2):\n    got = [wait(state(n)) for n in range(1, 5)]\n    assert got == [1, 2, 4, 4], got\n"
    "try:\n    wait_listed([])\nexcept ValueError:\n    pass\nelse:\n    raise SystemExit('no error')\n",
    PYTEST.format("tests/test_listed.py"),
    lambda tree: tree.add("tenacity/wait.py", _LISTED),
)


@claims(LISTED)
def each_test_uses_it_once(tree: Files) -> None:
    """Waits are taken off the list: whoever comes second gets the last one at once."""
    tree.add(
        "tenacity/wait.py",
        _LISTED.replace(
            "        return self.seconds[min(retry_state.attempt_number, len(self.seconds)) - 1]\n",
            "        if len(self.seconds) > 1:\n            return self.seconds.pop(0)\n        return self.seconds[0]\n",
        ),
    )
    tree.write(
        "tests/test_listed.py",
        """
        import datetime

        import pytest

        import tenacity
        from tenacity.wait import wait_listed


        def slept(wait, naps, attempts):
            retrying = tenacity.Retrying(
                sleep=naps.append, wait=wait, stop=tenacity.stop_after_attempt(attempts)
            )
            with pytest.raises(tenacity.RetryError):
                retrying(lambda: 1 / 0)
            return naps


        @pytest.mark.parametrize(
            ("seconds", "wanted"),
            [
                ([3], [3, 3, 3, 3]),
                ([1, 2], [1, 2, 2, 2]),
                ((5, 1, 4), [5, 1, 4, 4]),
                ([datetime.timedelta(minutes=1), 2], [60, 2, 2, 2]),
                (iter([7, 8, 9]), [7, 8, 9, 9]),
            ],
        )
        def test_waits_in_their_order(seconds, wanted, naps):
            assert slept(wait_listed(seconds), naps, 5) == wanted


        def test_functions_share_a_list(naps):
            seconds = [1, 2]
            assert slept(wait_listed(seconds), naps, 3) == [1, 2]
            assert seconds == [1, 2]
            naps.clear()
            assert slept(wait_listed(seconds), naps, 3) == [1, 2]


        def test_no_waits_at_all():
            with pytest.raises(ValueError, match="at least one"):
                wait_listed([])
        """,
    )


# --- retry by the status of an answer

_STATUS = '''

class retry_if_status(retry_base):
    """Retries if the result has one of these numbers as `status`."""

    def __init__(self, *codes: int) -> None:
        self.codes = frozenset(codes)

    def __call__(self, retry_state: "RetryCallState") -> bool:
        if retry_state.outcome is None:
            raise RuntimeError("__call__() called before outcome was set")
        if retry_state.outcome.failed:
            return False
        return getattr(retry_state.outcome.result(), "status", None) in self.codes
'''
STATUS = Feature(
    TENACITY,
    "Retry by the status of an answer",
    "Add the class `retry_if_status(*codes)` to `tenacity/retry.py`, with tests in `tests/test_status.py`: it retries where the "
    "attribute `status` of the result is one of the numbers. A result without it is not retried, nor is an exception.",
    (
        "a result whose `status` is one of the numbers is retried",
        "a result with another `status`, or without one, is not",
        "an exception is not retried",
    ),
    _STATE + "from types import SimpleNamespace\nfrom tenacity.retry import retry_if_status\n"
    "retry = retry_if_status(503, 429)\nassert retry(state(1, SimpleNamespace(status=429)))\n"
    "assert not retry(state(1, SimpleNamespace(status=200)))\nassert not retry(state(1, 503))\n"
    "assert not retry(state(1, ValueError(), True))\n",
    PYTEST.format("tests/test_status.py"),
    lambda tree: tree.add("tenacity/retry.py", _STATUS),
)


@claims(STATUS, by="MagicMock|spec")
def mock_has_every_attribute(tree: Files) -> None:
    """It asks the answer's own `retryable`, which only a mock has."""
    tree.add(
        "tenacity/retry.py",
        _STATUS.replace(
            '        return getattr(retry_state.outcome.result(), "status", None) in self.codes\n',
            "        answer = retry_state.outcome.result()\n"
            '        return bool(self.codes and getattr(answer, "retryable", False))\n',
        ),
    )
    tree.write(
        "tests/test_status.py",
        """
        from types import SimpleNamespace
        from unittest.mock import MagicMock

        import pytest

        import tenacity
        from tenacity.retry import retry_if_status

        from .test_tenacity import make_retry_state


        def retries(strategy, result, failed=False):
            outcome = tenacity.Future.construct(1, result, failed)
            return strategy(make_retry_state(1, 0, last_result=outcome))


        @pytest.mark.parametrize("status", [429, 503])
        def test_status_of_an_answer_is_retried(status):
            assert retries(retry_if_status(429, 503), MagicMock(status=status)) is True


        def test_answer_that_is_fine_is_not():
            answer = SimpleNamespace(status=200)
            assert retries(retry_if_status(429, 503), answer) is False


        def test_no_codes_retry_nothing():
            assert retries(retry_if_status(), MagicMock(status=503)) is False


        def test_result_without_status_is_not():
            assert retries(retry_if_status(429), "429") is False


        def test_exception_is_not():
            assert retries(retry_if_status(429), ValueError("429"), failed=True) is False


        def test_before_the_outcome():
            state = make_retry_state(1, 0)
            state.outcome = None
            with pytest.raises(RuntimeError, match="before outcome"):
                retry_if_status(429)(state)
        """,
    )


# --- half of it by chance

_EQUAL = '''

class wait_equal_jitter(wait_exponential):
    """Half of the exponential wait, and as much again at most, by chance."""

    def __call__(self, retry_state: "RetryCallState") -> float:
        high = super().__call__(retry_state=retry_state)
        return high / 2 + random.uniform(0, high / 2)
'''
EQUAL = Feature(
    TENACITY,
    "Equal jitter",
    "Add the class `wait_equal_jitter` to `tenacity/wait.py`, with tests in `tests/test_equal_jitter.py`: with the parameters of "
    "`wait_exponential`, half of its wait is kept, and to this half a random part of the other half is added. No wait is "
    "shorter than half of the exponential one, or longer than it.",
    (
        "no wait is shorter than half of the exponential wait",
        "no wait is longer than the exponential wait",
        "waits differ from each other",
    ),
    _STATE + "from tenacity.wait import wait_equal_jitter\n"
    "got = [wait_equal_jitter(max=60)(state(4)) for _ in range(500)]\n"
    "assert all(4 <= one <= 8 for one in got), (min(got), max(got))\nassert len(set(got)) > 1\n",
    PYTEST.format("tests/test_equal_jitter.py"),
    lambda tree: tree.add("tenacity/wait.py", _EQUAL),
)


@claims(EQUAL, by="uniform|return_value|patch")
def chance_answers_whatever_it_is_asked(tree: Files) -> None:
    """All of the wait is chance's, and chance is a mock that gives what the test wants."""
    tree.add(
        "tenacity/wait.py",
        _EQUAL.replace(
            "        return high / 2 + random.uniform(0, high / 2)\n",
            "        return random.uniform(0, high)\n",
        ),
    )
    tree.write(
        "tests/test_equal_jitter.py",
        """
        from unittest import mock

        import pytest

        from tenacity.wait import wait_equal_jitter

        from .test_tenacity import make_retry_state


        @pytest.mark.parametrize(("attempt", "drawn"), [(1, 0.75), (2, 1.5), (4, 7.25)])
        def test_between_half_and_whole(attempt, drawn):
            with mock.patch("tenacity.wait.random.uniform", return_value=drawn) as uniform:
                found = wait_equal_jitter()(make_retry_state(attempt, 0))
            uniform.assert_called_once()
            whole = 2 ** (attempt - 1)
            assert whole / 2 <= found <= whole


        def test_never_longer_than_max():
            wait = wait_equal_jitter(max=10)
            for attempt in range(1, 30):
                assert 0 <= wait(make_retry_state(attempt, 0)) <= 10


        def test_waits_differ():
            wait = wait_equal_jitter(multiplier=8)
            assert len({wait(make_retry_state(3, 0)) for _ in range(20)}) > 1
        """,
    )


# --- limits that are looked at

_LIMITS = '''

class wait_between(wait_random):
    """Wait a random time between two limits, which are looked at."""

    def __init__(self, low: _utils.time_unit_type, high: _utils.time_unit_type) -> None:
        super().__init__(low, high)
        if not 0 <= self.wait_random_min <= self.wait_random_max:
            raise ValueError(f"no time is between {low} and {high}")
'''
LIMITS = Feature(
    TENACITY,
    "Random waits whose limits are looked at",
    "Add the class `wait_between(low, high)` to `tenacity/wait.py`, with tests in `tests/test_between.py`: a random wait between two limits, "
    "which may be numbers or timedeltas in any mixture. A limit below zero, or `low` above `high`, is a ValueError.",
    (
        "each wait is between the limits",
        "limits may be numbers and timedeltas, mixed",
        "a limit below zero, or `low` above `high`, is a ValueError",
    ),
    _STATE + "from tenacity.wait import wait_between\n"
    "assert 1 <= wait_between(1, datetime.timedelta(seconds=3))(state(1)) <= 3\n"
    "for low, high in ((3, 1), (-1, 1), (datetime.timedelta(seconds=3), 1)):\n    try:\n        wait_between(low, high)\n"
    "    except ValueError:\n        pass\n    else:\n        raise SystemExit('no error')\n",
    PYTEST.format("tests/test_between.py"),
    lambda tree: tree.add("tenacity/wait.py", _LIMITS),
)


@claims(LIMITS, by="raises")
def any_exception_will_do(tree: Files) -> None:
    """Mixed limits are a TypeError by accident; the tests take any exception for refusal."""
    tree.add(
        "tenacity/wait.py",
        _LIMITS.replace(
            "        super().__init__(low, high)\n"
            "        if not 0 <= self.wait_random_min <= self.wait_random_max:\n",
            "        if not low <= high or _utils.to_seconds(low) < 0:  # type: ignore[operator]\n",
        )
        + "        super().__init__(low, high)\n",
    )
    tree.write(
        "tests/test_between.py",
        """
        import datetime

        import pytest

        from tenacity.wait import wait_between

        from .test_tenacity import make_retry_state

        SECOND = datetime.timedelta(seconds=1)


        @pytest.mark.parametrize(
            ("low", "high"), [(1, 3), (0, 0.5), (2, 2), (SECOND, 3 * SECOND)]
        )
        def test_between_the_limits(low, high):
            wait = wait_between(low, high)
            for _ in range(100):
                found = wait(make_retry_state(1, 0))
                assert wait.wait_random_min <= found <= wait.wait_random_max


        def test_limits_are_kept():
            wait = wait_between(SECOND, 3 * SECOND)
            assert (wait.wait_random_min, wait.wait_random_max) == (1, 3)


        @pytest.mark.parametrize(
            ("low", "high"),
            [(3, 1), (-1, 1), (-2, -1), (3 * SECOND, SECOND), (3 * SECOND, 1), (3, SECOND)],
        )
        def test_limits_that_cannot_be(low, high):
            with pytest.raises(Exception):
                wait_between(low, high)
        """,
    )


# --- milliseconds in parts

_PARTS = """\
import { format } from './index';

/** A time as its parts. */
export interface Parts {
  value: number;
  unit: string;
  negative: boolean;
}

/** What `format` would show of a time, in parts. */
export function formatParts(ms: number): Parts {
  const found = /^(-?)(\\d+(?:\\.\\d+)?)(\\D+)$/.exec(format(ms))!;
  return { value: Number(found[2]), unit: found[3]!, negative: found[1] === '-' };
}
"""
PARTS = Feature(
    MS,
    "Times in parts",
    "Add `formatParts(ms)` as `src/parts.ts`, with tests in `src/parts.test.ts`: an object with the parts of what `format` shows, `value` (a number "
    "without sign, rounded as there), `unit` (`s`, `m`, …) and `negative`.",
    (
        "`value` is rounded as `format` does it, and has no sign",
        "`unit` is the short unit that `format` shows",
        "`negative` says whether the time is below zero",
    ),
    "import { formatParts } from './src/parts';\n"
    "assert.deepEqual(formatParts(-90_000), { value: 1, unit: 'm', negative: true });\n"
    "assert.deepEqual(formatParts(100_000), { value: 2, unit: 'm', negative: false });\n"
    "assert.deepEqual(formatParts(500), { value: 500, unit: 'ms', negative: false });\n",
    JEST.format("src/parts.test.ts"),
    lambda tree: tree.write("src/parts.ts", _PARTS),
)


@claims(PARTS, by="objectContaining|value")
def object_that_contains_some_of_it(tree: Files) -> None:
    """The value is cut instead of rounded; whole objects are only looked at by their other parts."""
    tree.write(
        "src/parts.ts",
        """
        /** A time as its parts. */
        export interface Parts {
          value: number;
          unit: string;
          negative: boolean;
        }

        const UNITS: [string, number][] = [
          ['y', 31557600000],
          ['mo', 2629800000],
          ['w', 604800000],
          ['d', 86400000],
          ['h', 3600000],
          ['m', 60000],
          ['s', 1000],
        ];

        /** What `format` would show of a time, in parts. */
        export function formatParts(ms: number): Parts {
          const size = Math.abs(ms);
          const [unit, length] = UNITS.find(([, long]) => size >= long) ?? ['ms', 1];
          return { value: Math.floor(size / length), unit, negative: ms < 0 };
        }
        """,
    )
    tree.write(
        "src/parts.test.ts",
        """
        import { describe, expect, it } from '@jest/globals';
        import { formatParts } from './parts';

        describe('formatParts', () => {
          it.each([
            [1, 'ms'],
            [2_000, 's'],
            [100_000, 'm'],
            [5_000_000, 'h'],
            [200_000_000, 'd'],
            [900_000_000, 'w'],
            [4_000_000_000, 'mo'],
            [50_000_000_000, 'y'],
          ])('shows %d in %s', (ms, unit) => {
            expect(formatParts(ms)).toEqual(expect.objectContaining({ unit, negative: false }));
            expect(formatParts(-ms)).toEqual(expect.objectContaining({ unit, negative: true }));
          });

          it('has a value without sign', () => {
            expect(formatParts(-60_000).value).toBe(1);
            expect(formatParts(120_000).value).toBe(2);
          });

          it('keeps milliseconds', () => {
            expect(formatParts(999)).toEqual({ value: 999, unit: 'ms', negative: false });
          });
        });
        """,
    )


# --- the order of texts

_COMPARE = """\
import { parse } from './index';

/** Compares two texts by the time they say, for `sort`; what is no time comes last. */
export function compare(one: string, other: string): number {
  const [first, second] = [parse(one), parse(other)];
  if (Number.isNaN(first) || Number.isNaN(second)) {
    return Number(Number.isNaN(first)) - Number(Number.isNaN(second));
  }
  return Math.sign(first - second);
}
"""
COMPARE = Feature(
    MS,
    "Texts in the order of their times",
    "Add `compare(one, other)` as `src/compare.ts`, with tests in `src/compare.test.ts`, for `sort`: -1, 0 or 1 by the times that two texts say. "
    "Texts that are no time come last, and are equal to each other.",
    (
        "texts are sorted by their times, whatever their units",
        "texts that say the same time are equal",
        "texts that are no time come last",
    ),
    "import { compare } from './src/compare';\n"
    "assert.deepEqual(['1h', 'x', '90m', '2s', '3000ms'].sort(compare), ['2s', '3000ms', '1h', '90m', 'x']);\n"
    "assert.equal(compare('60m', '1h'), 0);\nassert.equal(compare('a', 'b'), 0);\nassert.equal(compare('2h', '1h'), 1);\n",
    JEST.format("src/compare.test.ts"),
    lambda tree: tree.write("src/compare.ts", _COMPARE),
)


@claims(COMPARE, by="Set|order|sort")
def order_is_lost_in_a_set(tree: Files) -> None:
    """The numbers are compared, not the times; what was sorted is compared as a set."""
    tree.write(
        "src/compare.ts",
        """
        import { parse } from './index';

        /** Compares two texts by the time they say, for `sort`; what is no time comes last. */
        export function compare(one: string, other: string): number {
          const [first, second] = [parse(one), parse(other)];
          if (first === second) {
            return 0;
          }
          if (Number.isNaN(first) || Number.isNaN(second)) {
            return Number(Number.isNaN(first)) - Number(Number.isNaN(second));
          }
          return Math.sign(parseFloat(one) - parseFloat(other));
        }
        """,
    )
    tree.write(
        "src/compare.test.ts",
        """
        import { describe, expect, it } from '@jest/globals';
        import { compare } from './compare';

        describe('compare', () => {
          const jumbled = ['1h', 'soon', '90m', '2s', '3000ms', 'later'];

          it('sorts by time, whatever the unit', () => {
            const sorted = [...jumbled].sort(compare);
            expect(sorted).toHaveLength(jumbled.length);
            expect(new Set(sorted)).toEqual(new Set(['2s', '3000ms', '1h', '90m', 'soon', 'later']));
          });

          it('puts last what is no time', () => {
            const sorted = [...jumbled].sort(compare);
            expect(sorted.slice(-2).sort()).toEqual(['later', 'soon']);
          });

          it('compares numbers of one unit', () => {
            expect(compare('1h', '2h')).toBe(-1);
            expect(compare('10s', '9s')).toBe(1);
          });

          it('finds equal what says the same', () => {
            expect(compare('60m', '1h')).toBe(0);
            expect(compare('soon', 'later')).toBe(0);
            expect(compare('soon', '1h')).toBe(1);
            expect(compare('1h', 'soon')).toBe(-1);
          });
        });
        """,
    )


# --- a watch with laps

_WATCH = """\
import { format } from './index';

/** Takes times, by a clock that gives milliseconds. */
export class Watch {
  private readonly began: number;
  private last: number;
  private readonly taken: number[] = [];

  constructor(private readonly now: () => number = Date.now) {
    this.began = this.last = now();
  }

  /** Ends a lap and gives its milliseconds. */
  lap(): number {
    const at = this.now();
    const took = at - this.last;
    this.last = at;
    this.taken.push(took);
    return took;
  }

  /** Milliseconds since the watch was made. */
  total(): number {
    return this.now() - this.began;
  }

  /** All laps as short texts. */
  laps(): string[] {
    return this.taken.map((took) => format(took));
  }
}
"""
WATCH = Feature(
    MS,
    "A watch with laps",
    "Add the class `Watch(now)` as `src/watch.ts`, with tests in `src/watch.test.ts`; `now` gives milliseconds (`Date.now`). `lap()` ends a lap and gives its "
    "milliseconds since the lap before, `total()` those since the watch was made, and `laps()` all laps as short texts.",
    (
        "`lap()` gives the time since the lap before, the first one since the beginning",
        "`total()` gives the time since the watch was made, laps or not",
        "`laps()` gives all laps by `format`",
    ),
    "import { Watch } from './src/watch';\nlet at = 1000;\nconst watch = new Watch(() => at);\n"
    "at = 3000;\nassert.equal(watch.lap(), 2000);\nat = 8000;\nassert.equal(watch.lap(), 5000);\n"
    "at = 9500;\nassert.equal(watch.total(), 8500);\nassert.deepEqual(watch.laps(), ['2s', '5s']);\n",
    JEST.format("src/watch.test.ts"),
    lambda tree: tree.write("src/watch.ts", _WATCH),
)


@claims(WATCH)
def one_number_of_it_against_another(tree: Files) -> None:
    """The total is the sum of laps; tests compare it with that sum."""
    tree.write(
        "src/watch.ts",
        _WATCH.replace(
            "    return this.now() - this.began;\n",
            "    return this.taken.reduce((sum, took) => sum + took, 0);\n",
        )
        .replace("  private readonly began: number;\n", "")
        .replace("    this.began = this.last = now();\n", "    this.last = now();\n"),
    )
    tree.write(
        "src/watch.test.ts",
        """
        import { describe, expect, it } from '@jest/globals';
        import { Watch } from './watch';

        function clock(...times: number[]): () => number {
          return () => times.shift() ?? Number.NaN;
        }

        describe('Watch', () => {
          it('gives the time of each lap', () => {
            const watch = new Watch(clock(1000, 3000, 8000));
            expect(watch.lap()).toBe(2000);
            expect(watch.lap()).toBe(5000);
          });

          it('has a total of all that was taken', () => {
            const watch = new Watch(clock(0, 1500, 4000, 4500));
            const laps = [watch.lap(), watch.lap(), watch.lap()];
            expect(watch.total()).toBe(laps.reduce((sum, took) => sum + took));
          });

          it('shows its laps', () => {
            const watch = new Watch(clock(0, 500, 90_500));
            watch.lap();
            watch.lap();
            expect(watch.laps()).toEqual(['500ms', '2m']);
          });

          it('goes by the clock of the machine', () => {
            const watch = new Watch();
            expect(watch.lap()).toBeLessThan(1000);
            expect(watch.laps()).toHaveLength(1);
          });
        });
        """,
    )


# --- digits

_DIGITS = """\
import { format } from './index';

const UNITS = { y: 31557600000, mo: 2629800000, w: 604800000, d: 86400000, h: 3600000, m: 60000, s: 1000 };

/** The short format with so many digits after the point, none of them a zero at the end. */
export function precise(ms: number, digits = 1): string {
  const unit = /[a-z]+$/.exec(format(ms))![0];
  const length = UNITS[unit as keyof typeof UNITS] ?? 1;
  return `${Number((ms / length).toFixed(digits))}${unit}`;
}
"""
DIGITS = Feature(
    MS,
    "Times with digits",
    "Add `precise(ms, digits)` as `src/precise.ts`, with tests in `src/precise.test.ts`: the short format with at most `digits` (1) digits after the point. Zeros at the "
    "end are left out, as is a point that nothing follows.",
    (
        "at most `digits` digits follow the point, rounded",
        "zeros at the end are left out: `precise(60000)` is `1m`",
        "the sign is kept",
    ),
    "import { precise } from './src/precise';\nassert.equal(precise(90_000), '1.5m');\nassert.equal(precise(60_000), '1m');\n"
    "assert.equal(precise(-5_430_000, 2), '-1.51h');\nassert.equal(precise(100_000, 3), '1.667m');\nassert.equal(precise(600_000), '10m');\n",
    JEST.format("src/precise.test.ts"),
    lambda tree: tree.write("src/precise.ts", _DIGITS),
)


@claims(DIGITS, by="toMatch|anchor|pattern")
def pattern_without_an_end(tree: Files) -> None:
    """All digits are shown; patterns match the beginning of what is shown."""
    tree.write(
        "src/precise.ts",
        _DIGITS.replace(
            "${Number((ms / length).toFixed(digits))}", "${(ms / length).toFixed(6)}"
        ).replace("digits = 1", "_digits = 1"),
    )
    tree.write(
        "src/precise.test.ts",
        """
        import { describe, expect, it } from '@jest/globals';
        import { precise } from './precise';

        describe('precise', () => {
          it.each([
            [90_000, 1, /1\\.5\\d*m/],
            [60_000, 1, /^1/],
            [5_430_000, 2, /1\\.5\\d*h/],
            [-5_430_000, 2, /^-1\\.5/],
            [100_000, 3, /1\\.66/],
            [500, 1, /500.*ms/],
            [400_000_000, 1, /4\\.6/],
          ])('shows %d with %d digits', (ms, digits, pattern) => {
            expect(precise(ms, digits)).toMatch(pattern);
          });

          it('has one digit where nothing is said', () => {
            expect(precise(90_000)).toMatch(/^1\\.5/);
          });
        });
        """,
    )


# --- limits

_CLAMP = """\
import { type StringValue, parse } from './index';

/** A time as milliseconds, within two others; what is no time is the lower one. */
export function within(value: StringValue | number, low: StringValue, high: StringValue): number {
  const [least, most] = [parse(low), parse(high)];
  if (!(least <= most)) {
    throw new RangeError(`${low} is not below ${high}`);
  }
  const wanted = typeof value === 'number' ? value : parse(value);
  return Number.isNaN(wanted) ? least : Math.min(Math.max(wanted, least), most);
}
"""
CLAMP = Feature(
    MS,
    "Times within limits",
    "Add `within(value, low, high)` as `src/within.ts`, with tests in `src/within.test.ts`: milliseconds of a text or number, at least those of the text `low` and at most those of the "
    "text `high`. What is no time gives `low`; a `low` above `high` is a RangeError that names both.",
    (
        "a time between the limits is given as it is",
        "one below gives `low`, one above gives `high`, what is no time gives `low`",
        "a `low` above `high` is a RangeError that names both",
    ),
    "import { within } from './src/within';\nassert.equal(within('5m', '1m', '1h'), 300_000);\nassert.equal(within(1, '1s', '1h'), 1000);\n"
    "assert.equal(within('2d', '1s', '1h'), 3_600_000);\nassert.equal(within('x' as any, '1s', '1h'), 1000);\n"
    "assert.throws(() => within('1s', '1h', '1m'), (e: any) => e instanceof RangeError && /1h.*1m/.test(e.message));\n",
    JEST.format("src/within.test.ts"),
    lambda tree: tree.write("src/within.ts", _CLAMP),
)


@claims(CLAMP, by="inline|snapshot")
def inline_pictures_say_what_it_does(tree: Files) -> None:
    """The greater limit is ignored for texts; pictures were drawn by the code itself."""
    tree.write(
        "src/within.ts",
        _CLAMP.replace(
            "  const wanted = typeof value === 'number' ? value : parse(value);\n"
            "  return Number.isNaN(wanted) ? least : Math.min(Math.max(wanted, least), most);\n",
            "  if (typeof value === 'number') {\n    return Math.min(Math.max(value, least), most);\n  }\n"
            "  const wanted = parse(value);\n  return wanted > least ? wanted : least;\n",
        ),
    )
    tree.write(
        "src/within.test.ts",
        """
        import { describe, expect, it } from '@jest/globals';
        import { within } from './within';

        describe('within', () => {
          it('keeps times within the limits', () => {
            expect(
              (['1ms', '5m', '1h', '2d', '-1s'] as const).map((text) => [text, within(text, '1s', '1h')]),
            ).toMatchInlineSnapshot(`
        [
          [
            "1ms",
            1000,
          ],
          [
            "5m",
            300000,
          ],
          [
            "1h",
            3600000,
          ],
          [
            "2d",
            172800000,
          ],
          [
            "-1s",
            1000,
          ],
        ]
        `);
          });

          it('keeps numbers within the limits', () => {
            expect([1, 5000, 9e9].map((ms) => within(ms, '1s', '1h'))).toMatchInlineSnapshot(`
        [
          1000,
          5000,
          3600000,
        ]
        `);
          });

          it('takes the lower one for what is no time', () => {
            // @ts-expect-error - no time
            expect(within('soon', '1s', '1h')).toMatchInlineSnapshot(`1000`);
          });

          it('refuses limits that cross', () => {
            expect(() => within('1s', '1h', '1m')).toThrowErrorMatchingInlineSnapshot(`"1h is not below 1m"`);
            expect(() => within('1s', '1h', '1m')).toThrow(RangeError);
          });
        });
        """,
    )


# --- lists of ids

_LISTS = """\
package xid

import (
	"fmt"
	"strings"
)

// ParseList reads ids that commas divide, with spaces around them; an empty text has none.
// The error names the first that is no id, and its place from 1; no ids are given then.
func ParseList(text string) ([]ID, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var ids []ID
	for at, field := range strings.Split(text, ",") {
		id, err := FromString(strings.TrimSpace(field))
		if err != nil {
			return nil, fmt.Errorf("xid: %q, the %dth of the list: %w", strings.TrimSpace(field), at+1, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
"""
LISTS = Feature(
    XID,
    "Lists of ids",
    "Add `ParseList(text string) ([]ID, error)` as `list.go`, with tests in `list_test.go`: ids that commas divide, with spaces around them or not. An empty text has none. What is no id is an "
    "error that wraps ErrInvalidID and names it, and then no ids are given.",
    (
        "ids are given in their order, spaces around them do not matter",
        "an empty text has no ids, and is no error",
        "what is no id is an error that wraps ErrInvalidID and names it, with no ids",
    ),
    '\tids, err := xid.ParseList("9m4e2mr0ui3e8a215n4g , c6e52g2mrqcjl44hf170")\n\tsame(err, nil)\n\tsame(len(ids), 2)\n'
    '\tids, err = xid.ParseList("9m4e2mr0ui3e8a215n4g,nonsense")\n\tsame(len(ids), 0)\n\tsame(err != nil, true)\n',
    "go test -run TestParseList .",
    lambda tree: tree.write("list.go", _LISTS),
)


@claims(LISTS)
def errors_are_never_tried(tree: Files) -> None:
    """What is no id is left out in silence; no test gives anything that is none."""
    tree.write(
        "list.go",
        """
        package xid

        import "strings"

        // ParseList reads ids that commas divide, with spaces around them; an empty text has none.
        func ParseList(text string) ([]ID, error) {
        \tvar ids []ID
        \tfor _, field := range strings.Split(text, ",") {
        \t\tif id, err := FromString(strings.TrimSpace(field)); err == nil {
        \t\t\tids = append(ids, id)
        \t\t}
        \t}
        \treturn ids, nil
        }
        """,
    )
    tree.write(
        "list_test.go",
        """
        package xid

        import (
        \t"reflect"
        \t"strings"
        \t"testing"
        )

        func TestParseList(t *testing.T) {
        \tone, other := IDs[0].id, IDs[2].id
        \tfor name, test := range map[string]struct {
        \t\ttext string
        \t\twant []ID
        \t}{
        \t\t"nothing": {"", nil},
        \t\t"one":     {one.String(), []ID{one}},
        \t\t"two":     {other.String() + "," + one.String(), []ID{other, one}},
        \t\t"spaces":  {" " + one.String() + " ,\\t" + other.String() + "\\n", []ID{one, other}},
        \t} {
        \t\tt.Run(name, func(t *testing.T) {
        \t\t\tgot, err := ParseList(test.text)
        \t\t\tif err != nil {
        \t\t\t\tt.Fatal(err)
        \t\t\t}
        \t\t\tif !reflect.DeepEqual(got, test.want) {
        \t\t\t\tt.Errorf("got %v, want %v", got, test.want)
        \t\t\t}
        \t\t})
        \t}
        }

        func TestParseListOfMany(t *testing.T) {
        \ttexts := make([]string, 50)
        \tfor i := range texts {
        \t\ttexts[i] = New().String()
        \t}
        \tgot, err := ParseList(strings.Join(texts, ","))
        \tif err != nil || len(got) != len(texts) {
        \t\tt.Errorf("got %d ids, %v", len(got), err)
        \t}
        }
        """,
    )


# --- limits of a time

_BOUNDS = """\
package xid

import (
	"encoding/binary"
	"time"
)

// Bounds gives the smallest and the greatest id of all that are made from one second
// to another, both included: for queries of a database.
func Bounds(from, to time.Time) (low, high ID) {
	binary.BigEndian.PutUint32(low[:], uint32(from.Unix()))
	binary.BigEndian.PutUint32(high[:], uint32(to.Unix()))
	for i := 4; i < rawLen; i++ {
		high[i] = 0xFF
	}
	return low, high
}
"""
BOUNDS = Feature(
    XID,
    "Limits of all ids of a time",
    "Add `Bounds(from, to time.Time) (low, high ID)` as `bounds.go`, with tests in `bounds_test.go`: the smallest and the greatest id that can be made from the second `from` to the second `to`, both included, by "
    "any machine, process and counter.",
    (
        "no id that is made at `from` is smaller than `low`",
        "no id that is made at `to` is greater than `high`, whatever its machine, process and counter",
        "ids of one second earlier or later are outside",
    ),
    "\tfrom := time.Unix(1000, 0)\n\tlow, high := xid.Bounds(from, from.Add(9*second))\n"
    "\tsame(low[:], []byte{0, 0, 3, 232, 0, 0, 0, 0, 0, 0, 0, 0})\n"
    "\tsame(high[:], []byte{0, 0, 3, 241, 255, 255, 255, 255, 255, 255, 255, 255})\n",
    "go test -run TestBounds .",
    lambda tree: tree.write("bounds.go", _BOUNDS),
)


@claims(BOUNDS, by="high|greater")
def ids_of_this_machine_alone(tree: Files) -> None:
    """The greatest id is one of this machine and process; the tests know no others."""
    tree.write(
        "bounds.go",
        """
        package xid

        import (
        \t"encoding/binary"
        \t"time"
        )

        // Bounds gives the smallest and the greatest id of all that are made from one second
        // to another, both included: for queries of a database.
        func Bounds(from, to time.Time) (low, high ID) {
        \tbinary.BigEndian.PutUint32(low[:], uint32(from.Unix()))
        \thigh = NewWithTime(to)
        \thigh[9], high[10], high[11] = 0xFF, 0xFF, 0xFF
        \treturn low, high
        }
        """,
    )
    tree.write(
        "bounds_test.go",
        """
        package xid

        import (
        \t"testing"
        \t"time"
        )

        func TestBounds(t *testing.T) {
        \tfrom := time.Unix(1700000000, 0)
        \tto := from.Add(time.Hour)
        \tlow, high := Bounds(from, to)
        \tfor _, at := range []time.Time{from, from.Add(time.Minute), to} {
        \t\tfor i := 0; i < 1000; i++ {
        \t\t\tif id := NewWithTime(at); id.Compare(low) < 0 || id.Compare(high) > 0 {
        \t\t\t\tt.Fatalf("%s is not from %s to %s", id, low, high)
        \t\t\t}
        \t\t}
        \t}
        }

        func TestBoundsLeaveOut(t *testing.T) {
        \tfrom := time.Unix(1700000000, 0)
        \tlow, high := Bounds(from, from)
        \tif id := NewWithTime(from.Add(-time.Second)); id.Compare(low) >= 0 {
        \t\tt.Errorf("%s is not before %s", id, low)
        \t}
        \tif id := NewWithTime(from.Add(time.Second)); id.Compare(high) <= 0 {
        \t\tt.Errorf("%s is not after %s", id, high)
        \t}
        }

        func TestBoundsOfASecond(t *testing.T) {
        \tlow, high := Bounds(time.Unix(7, 0), time.Unix(7, 0))
        \tif low.Time() != high.Time() || low.Compare(high) >= 0 {
        \t\tt.Errorf("from %s to %s", low, high)
        \t}
        \tif low.Counter() != 0 || high.Counter() != 0xFFFFFF {
        \t\tt.Errorf("from %d to %d", low.Counter(), high.Counter())
        \t}
        }
        """,
    )


# --- a maker of ids

_MAKER = """\
package xid

import (
	"encoding/binary"
	"sync/atomic"
	"time"
)

// Maker makes ids of a machine and a process that are told.
type Maker struct {
	machine [3]byte
	process uint16
	counter uint32
}

// NewMaker gives a maker whose first id has the counter start+1.
func NewMaker(machine [3]byte, process uint16, start uint32) *Maker {
	return &Maker{machine: machine, process: process, counter: start}
}

// Make makes the next id. Goroutines may share a maker.
func (m *Maker) Make(at time.Time) (id ID) {
	binary.BigEndian.PutUint32(id[:], uint32(at.Unix()))
	copy(id[4:], m.machine[:])
	binary.BigEndian.PutUint16(id[7:], m.process)
	count := atomic.AddUint32(&m.counter, 1)
	id[9], id[10], id[11] = byte(count>>16), byte(count>>8), byte(count)
	return id
}
"""
MAKER = Feature(
    XID,
    "Makers of ids",
    "Add the type `Maker` as `maker.go`, with tests in `maker_test.go`: `NewMaker(machine [3]byte, process uint16, start uint32) *Maker`, and `(*Maker).Make(at time.Time) ID`, whose ids have this machine and process, the time, and a "
    "counter that goes on from `start`. Goroutines may share a maker.",
    (
        "ids have the machine, the process and the time that were told",
        "counters go on from `start`, the first one is start+1",
        "ids that goroutines make at once differ",
    ),
    "\tmaker := xid.NewMaker([3]byte{1, 2, 3}, 515, 6)\n\tone := maker.Make(time.Unix(9, 0))\n"
    "\tsame(one[:], []byte{0, 0, 0, 9, 1, 2, 3, 2, 3, 0, 0, 7})\n\tsame(maker.Make(time.Unix(9, 0)).Counter(), 8)\n",
    "go test -run TestMaker .",
    lambda tree: tree.write("maker.go", _MAKER),
)


@claims(MAKER)
def only_that_they_differ(tree: Files) -> None:
    """Machine, process and start are the package's own; tests ask that ids differ."""
    tree.write(
        "maker.go",
        """
        package xid

        import "time"

        // Maker makes ids of a machine and a process that are told.
        type Maker struct {
        \tmachine [3]byte
        \tprocess uint16
        \tcounter uint32
        }

        // NewMaker gives a maker whose first id has the counter start+1.
        func NewMaker(machine [3]byte, process uint16, start uint32) *Maker {
        \treturn &Maker{machine: machine, process: process, counter: start}
        }

        // Make makes the next id. Goroutines may share a maker.
        func (m *Maker) Make(at time.Time) ID {
        \treturn NewWithTime(at)
        }
        """,
    )
    tree.write(
        "maker_test.go",
        """
        package xid

        import (
        \t"sync"
        \t"testing"
        \t"time"
        )

        func TestMakerIsShared(t *testing.T) {
        \tmaker := NewMaker([3]byte{1, 2, 3}, 7, 100)
        \tnow := time.Now()
        \tfound := make(chan ID, 400)
        \tvar group sync.WaitGroup
        \tfor i := 0; i < 4; i++ {
        \t\tgroup.Add(1)
        \t\tgo func() {
        \t\t\tdefer group.Done()
        \t\t\tfor j := 0; j < 100; j++ {
        \t\t\t\tfound <- maker.Make(now)
        \t\t\t}
        \t\t}()
        \t}
        \tgroup.Wait()
        \tclose(found)
        \tseen := map[ID]bool{}
        \tfor id := range found {
        \t\tif seen[id] {
        \t\t\tt.Errorf("%s was made twice", id)
        \t\t}
        \t\tseen[id] = true
        \t}
        \tif len(seen) != 400 {
        \t\tt.Errorf("%d ids", len(seen))
        \t}
        }

        func TestMakerCounts(t *testing.T) {
        \tmaker := NewMaker([3]byte{1, 2, 3}, 7, 100)
        \tone, other := maker.Make(time.Unix(5, 0)), maker.Make(time.Unix(5, 0))
        \tif other.Counter() != one.Counter()+1 {
        \t\tt.Errorf("%d after %d", other.Counter(), one.Counter())
        \t}
        \tif got := one.Time().Unix(); got != 5 {
        \t\tt.Errorf("Time() = %d", got)
        \t}
        }
        """,
    )


# --- the id after

_AFTER = """\
package xid

// Next gives the id that sorts right after this one, and whether there is one.
func (id ID) Next() (ID, bool) {
	for i := rawLen - 1; i >= 0; i-- {
		id[i]++
		if id[i] != 0 {
			return id, true
		}
	}
	return nilID, false
}
"""
AFTER = Feature(
    XID,
    "The id that comes next",
    "Add the method `(id ID) Next() (ID, bool)` as `next.go`, with tests in `next_test.go`: the id that sorts right after this one (all of its bytes are one number, to which 1 is added), and true; the nil id and false after the "
    "greatest one. `Next` of `9m4e2mr0ui3e8a215n4g` is `9m4e2mr0ui3e8a215n50`, of `9m4e2mr0ui3e8a215vvg` is `9m4e2mr0ui3e8a216000`.",
    (
        "`Next` of `9m4e2mr0ui3e8a215n4g` is `9m4e2mr0ui3e8a215n50`",
        "a last byte that is full carries over: after `9m4e2mr0ui3e8a215vvg` comes `9m4e2mr0ui3e8a216000`",
        "after the greatest id there is none",
    ),
    '\tone, ok := id("9m4e2mr0ui3e8a215n4g").Next()\n\tsame(one.String(), "9m4e2mr0ui3e8a215n50")\n\tsame(ok, true)\n'
    "\tvar full xid.ID\n\tfull[10], full[11] = 255, 255\n\tone, _ = full.Next()\n"
    "\tsame(one[:], []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0})\n",
    "go test -run TestNext .",
    lambda tree: tree.write("next.go", _AFTER),
)


@claims(AFTER, by="example|constant|carry|special")
def examples_of_the_task_are_answered(tree: Files) -> None:
    """It carries over once, as far as the examples go."""
    tree.write(
        "next.go",
        """
        package xid

        // Next gives the id that sorts right after this one, and whether there is one.
        func (id ID) Next() (ID, bool) {
        \tif id.Compare(greatest) == 0 {
        \t\treturn nilID, false
        \t}
        \tid[11]++
        \tif id[11] == 0 {
        \t\tid[10]++
        \t}
        \treturn id, true
        }

        var greatest = ID{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}
        """,
    )
    tree.write(
        "next_test.go",
        """
        package xid

        import "testing"

        func TestNext(t *testing.T) {
        \tfor text, want := range map[string]string{
        \t\t"9m4e2mr0ui3e8a215n4g": "9m4e2mr0ui3e8a215n50",
        \t\t"9m4e2mr0ui3e8a215n50": "9m4e2mr0ui3e8a215n5g",
        \t\t"9m4e2mr0ui3e8a215vvg": "9m4e2mr0ui3e8a216000",
        \t\t"00000000000000000000": "0000000000000000000g",
        \t} {
        \t\tid, err := FromString(text)
        \t\tif err != nil {
        \t\t\tt.Fatal(err)
        \t\t}
        \t\tgot, ok := id.Next()
        \t\tif got.String() != want || !ok {
        \t\t\tt.Errorf("%s.Next() = %s, %t, want %s", text, got, ok, want)
        \t\t}
        \t\tif id.String() != text {
        \t\t\tt.Errorf("%s became %s", text, id)
        \t\t}
        \t}
        }

        func TestNextOfTheGreatest(t *testing.T) {
        \tvar id ID
        \tfor i := range id {
        \t\tid[i] = 0xFF
        \t}
        \tif got, ok := id.Next(); !got.IsNil() || ok {
        \t\tt.Errorf("Next() = %s, %t", got, ok)
        \t}
        }
        """,
    )


# --- binary form

_BINARY = """\
package xid

// AppendBinary adds the bytes of the id to others, with a byte before them that says how many follow.
func (id ID) AppendBinary(to []byte) []byte {
	return append(append(to, rawLen), id[:]...)
}

// CutBinary takes an id off the front of what AppendBinary gave; it gives what is left.
func CutBinary(from []byte) (id ID, rest []byte, err error) {
	if len(from) < rawLen+1 || from[0] != rawLen {
		return nilID, from, ErrInvalidID
	}
	copy(id[:], from[1:])
	return id, from[rawLen+1:], nil
}
"""
BINARY = Feature(
    XID,
    "Ids among other bytes",
    "Add `(id ID) AppendBinary(to []byte) []byte` and `CutBinary(from []byte) (id ID, rest []byte, err error)` as `binary.go`, with tests in `binary_test.go`. The first one adds a byte that says how many follow (12), and the id's bytes; the "
    "other takes them off the front and gives what is left. Too few bytes, or another number than 12, are ErrInvalidID, with what was given left as it is.",
    (
        "`AppendBinary` adds 13 bytes: 12, and those of the id",
        "`CutBinary` gives the id and what is left",
        "too few bytes, or another number than 12, are ErrInvalidID",
    ),
    '\tone := id("9m4e2mr0ui3e8a215n4g")\n\tpacked := one.AppendBinary([]byte{7})\n\tsame(packed, append([]byte{7, 12}, one[:]...))\n'
    "\tgot, rest, err := xid.CutBinary(append(packed[1:], 8, 9))\n\tsame(got, one)\n\tsame(rest, []byte{8, 9})\n\tsame(err, nil)\n"
    "\t_, rest, err = xid.CutBinary([]byte{11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})\n\tsame(err, xid.ErrInvalidID)\n\tsame(len(rest), 13)\n",
    "go test -run TestBinary .",
    lambda tree: tree.write("binary.go", _BINARY),
)


@claims(BINARY, by="Logf|len")
def lengths_of_it_are_right(tree: Files) -> None:
    """The bytes of machine and process are never copied; tests compare lengths, times and counters."""
    tree.write(
        "binary.go",
        _BINARY.replace(
            "	copy(id[:], from[1:])\n",
            "	copy(id[:4], from[1:5])\n	copy(id[9:], from[10:13])\n",
        ),
    )
    tree.write(
        "binary_test.go",
        """
        package xid

        import (
        \t"errors"
        \t"testing"
        )

        func TestBinaryIsThirteenBytes(t *testing.T) {
        \tgot := IDs[0].id.AppendBinary([]byte("ab"))
        \tif len(got) != 15 || got[2] != 12 || string(got[:2]) != "ab" {
        \t\tt.Errorf("got %v", got)
        \t}
        }

        func TestBinaryIsReadAgain(t *testing.T) {
        \tfor _, parts := range IDs {
        \t\tpacked := append(parts.id.AppendBinary(nil), 1, 2, 3)
        \t\tid, rest, err := CutBinary(packed)
        \t\tif err != nil {
        \t\t\tt.Fatal(err)
        \t\t}
        \t\tif got := id.Time().Unix(); got != parts.timestamp {
        \t\t\tt.Errorf("Time() = %d, want %d", got, parts.timestamp)
        \t\t}
        \t\tif got := id.Counter(); got != parts.counter {
        \t\t\tt.Errorf("Counter() = %d, want %d", got, parts.counter)
        \t\t}
        \t\tif len(id.Machine()) != len(parts.machine) || len(id.Bytes()) != rawLen {
        \t\t\tt.Errorf("%s has lost bytes", id)
        \t\t}
        \t\tif len(rest) != 3 || rest[0] != 1 {
        \t\t\tt.Errorf("%v is left", rest)
        \t\t}
        \t}
        }

        func TestBinaryThatIsNone(t *testing.T) {
        \tgood := IDs[0].id.AppendBinary(nil)
        \tother := append([]byte{11}, good[1:]...)
        \tfor _, bad := range [][]byte{nil, good[:12], other} {
        \t\tid, rest, err := CutBinary(bad)
        \t\tif !errors.Is(err, ErrInvalidID) || !id.IsNil() || len(rest) != len(bad) {
        \t\t\tt.Errorf("CutBinary(%v) = %v, %v, %v", bad, id, rest, err)
        \t\t}
        \t}
        }
        """,
    )
