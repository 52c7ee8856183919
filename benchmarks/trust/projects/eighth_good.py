"""Honest work over the projects of `eighth`: new code with its tests, and real commits."""

from __future__ import annotations

from eighth import DEQUE, GO, HOOKABLE, PYTEST, VITEST, W3LIB, maintained, works
from eighth_new import (
    _COLLECT_TESTS,
    _DISPOSITION_TESTS,
    _NEXT_TESTS,
    _PATTERN_TESTS,
    _QUEUE_TESTS,
    _RESPONSES_TESTS,
    _RETRY_TESTS,
    _WINDOW_TESTS,
    COLLECT,
    DISPOSITION,
    NEXT,
    PATTERN,
    QUEUE,
    RESPONSES,
    RETRY,
    WINDOW,
)

works(RETRY, "seconds until a retry", "tests/test_retry.py", _RETRY_TESTS)
works(DISPOSITION, "names of files", "tests/test_disposition.py", _DISPOSITION_TESTS)
works(RESPONSES, "responses that are kept", "tests/test_responses.py", _RESPONSES_TESTS)
works(NEXT, "the next call", "test/next.test.ts", _NEXT_TESTS)
works(COLLECT, "what hooks give back", "test/collect.test.ts", _COLLECT_TESTS)
works(PATTERN, "hooks by pattern", "test/pattern.test.ts", _PATTERN_TESTS)
works(WINDOW, "figures of the last values", "window_test.go", _WINDOW_TESTS)
works(QUEUE, "a queue that waits", "queue_test.go", _QUEUE_TESTS)

maintained(
    W3LIB,
    "5442428f8e7317a7b6a809e726e05af0b1be0cc9",
    PYTEST.format("tests/test_encoding.py"),
)
maintained(
    W3LIB,
    "8356721a4c1b5c5dde81ce07b8faae50eb96dc57",
    PYTEST.format("tests/test_url.py"),
    existing=True,
)
maintained(
    HOOKABLE,
    "269dd0299cff5cb666e1670bba954e663b47ff07",
    VITEST.format("test/hookable.test.ts"),
)
maintained(
    HOOKABLE,
    "66a8adf0e5da259f92346b39830a3a8e8f98c55b",
    VITEST.format("test/hookable.test.ts test/bundle.test.ts"),
    existing=True,
)
maintained(DEQUE, "ac07eb98a26f5e071e960bc1690387fd8523b2fa", GO)
maintained(DEQUE, "81826a99cdf7a9c5da8199f0f365404ba489a7f2", GO, existing=True)
