"""Which words mean what: the texts are those of the programs and their providers."""

import threading
import time

import pytest

from runner.implementers.agents.agent_session import Following, SessionBounds
from runner.implementers.agents.preset import PRESETS, classify_failure
from runner.implementers.agents.transcript import Transcript, find_crash, without_events
from runner.implementers.base import Allowance
from runner.model import Failure, digest_of
from runner.process.base import Ended, Ran

WORDS = {
    "claude": {
        "Invalid API key · Please run /login": Failure.DETERMINISTIC,
        "Not logged in · Please run /login": Failure.DETERMINISTIC,
        "Failed to authenticate. API Error: 401 scripted": Failure.DETERMINISTIC,
        "OAuth token has expired. Please obtain a new token": Failure.DETERMINISTIC,
        "Credit balance is too low": Failure.DETERMINISTIC,
        "API Error: Repeated 529 Overloaded errors. The API is at capacity": Failure.TRANSIENT,
        "API Error: Request rejected (429) · rate limited": Failure.TRANSIENT,
        "API Error: Connection error.": Failure.TRANSIENT,
        "Claude AI usage limit reached|1999999999": Failure.TRANSIENT,
        "There's an issue with the selected model (x). It may not exist": Failure.DETERMINISTIC,
        "error: unknown option '--tools'": Failure.DETERMINISTIC,
    },
    "codex": {
        "unexpected status 401 Unauthorized: scripted, url: http://h/v1": Failure.DETERMINISTIC,
        "You've hit your usage limit. Try again in 3 hours": Failure.TRANSIENT,
        "stream disconnected before completion": Failure.TRANSIENT,
        "The 'o9' model is not supported when using Codex": Failure.DETERMINISTIC,
        "exceeded retry limit, last status: 429 Too Many Requests": Failure.TRANSIENT,
        "Quota exceeded. Check your plan and billing details": Failure.DETERMINISTIC,
    },
    "gemini": {
        "Invalid auth method selected.": Failure.DETERMINISTIC,
        "API key not valid. Please pass a valid API key.": Failure.DETERMINISTIC,
        "got status: RESOURCE_EXHAUSTED": Failure.TRANSIENT,
        "got status: 503 Service Unavailable": Failure.TRANSIENT,
        "Gemini CLI is not running in a trusted directory": Failure.DETERMINISTIC,
        "fetch failed sending request": Failure.TRANSIENT,
    },
    "opencode": {
        "ProviderAuthError API key is missing": Failure.DETERMINISTIC,
        "ProviderModelNotFoundError model not found: a/b": Failure.DETERMINISTIC,
        "APIError Overloaded": Failure.TRANSIENT,
        "Unable to connect. Is the computer able to access the url?": Failure.TRANSIENT,
    },
    "aider": {
        "litellm.AuthenticationError: OpenAIException - scripted": Failure.DETERMINISTIC,
        "litellm.RateLimitError: RateLimitError": Failure.TRANSIENT,
        "litellm.APIConnectionError: Cannot connect to host": Failure.TRANSIENT,
        "litellm.ServiceUnavailableError: Service Unavailable": Failure.TRANSIENT,
        "litellm.NotFoundError: The model `x` does not exist": Failure.DETERMINISTIC,
    },
}


@pytest.mark.parametrize(
    ("name", "words", "failure"),
    [(name, words, kind) for name, table in WORDS.items() for words, kind in table.items()],
)
def test_words_of_a_failure(name, words, failure):
    found = classify_failure(words, PRESETS[name].signs)
    assert (found.failure if found else None) is failure


def test_what_says_nothing_known_is_nobodys_guess():
    assert classify_failure("the tests fail: 3 of 40") is None


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("429 Too Many Requests, retry-after: 30", 30),
        ("Rate limit reached. Please try again in 1.5s.", 1.5),
        ("Rate limit reached. Please try again in 250ms.", 0.25),
        ('RESOURCE_EXHAUSTED "retryDelay": "17s"', 17),
        ("You've hit your usage limit. Try again in 3 hours", 3 * 3600),
        ("usage limit; try again in 99999h", 24 * 3600),
        ("overloaded", 0),
    ],
)
def test_the_time_that_is_asked_for_is_read(words, seconds):
    assert classify_failure(words).retry_after == seconds


def test_a_limit_that_names_its_end_is_waited_for():
    ends = int(time.time()) + 600
    found = classify_failure(f"Claude AI usage limit reached|{ends}")
    assert found.retry_after == pytest.approx(600, abs=30)


def test_a_refusal_is_never_waited_for():
    assert classify_failure("401 Unauthorized; retry after 30").retry_after == 0


EVENT = '{"type":"assistant","message":{"content":"x"}}'


def test_events_stay_in_the_log_and_words_are_told():
    cut = 'tent":"end of a cut line"}\n'
    assert without_events(f"{EVENT}\nlog in first\n  {EVENT}\n") == "log in first"
    assert without_events(f"{EVENT}\n[1, 2] is a list\n{{\n") == "[1, 2] is a list"
    assert without_events(cut) == cut.strip(), "what is no JSON as it stands may be words"


def ran(code, tail=""):
    return Ran(code, 1.0, Ended.EXITED, digest_of(b""), 0, tail)


@pytest.mark.parametrize(
    ("ended", "crash"),
    [
        (ran(139), "SIGSEGV"),
        (ran(134, f"{EVENT}\nAborted"), "SIGABRT"),
        (ran(143), ""),
        (ran(1, "Traceback (most recent call last):\n  File\nKeyError: 1"), "KeyError: 1"),
        (ran(101, "thread 'main' panicked at src/main.rs:1:2:\nboom"), "boom"),
        (ran(1, "I could not do it"), ""),
        (ran(0, "Traceback (most recent call last):"), ""),
    ],
)
def test_a_crash_of_the_program_is_told_from_its_giving_up(ended, crash):
    assert find_crash(ended) == crash


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("Open https://x.example/login in a browser", "last output: Open https://x.example/login"),
        ("Connecting …\n", "last output: Connecting …"),
        ("", "the agent may be waiting for the network or a login"),
        (EVENT + "\n", None),
    ],
)
def test_a_program_that_waits_says_so(tmp_path, monkeypatch, written, told):
    monkeypatch.setattr("runner.implementers.agents.agent_session._QUIET", 0.3)
    log, heard = tmp_path / "log", []
    log.write_text(written)
    bounds = SessionBounds(Allowance(), threading.Event())
    transcript = Transcript(lambda _event: None, heard.append)
    with Following(log, PRESETS["claude"].dialect, transcript, bounds):
        time.sleep(1.0)
    waits = [line for line in heard if line.startswith("no output for")]
    assert len(waits) == (told is not None)
    assert told is None or told in waits[0]
