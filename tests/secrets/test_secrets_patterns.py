"""Every named shape is found, what almost is one is not."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from secret_samples import samples

from runner.secrets import patterns
from runner.secrets.find import find
from runner.secrets.load_rules import builtin_shapes, shape_of
from runner.secrets.patterns import linear

SAMPLES = list(samples())
SHAPES = builtin_shapes()
IDS = [f"{number}-{row[0]}" for number, row in enumerate(SAMPLES)]
CONTEXTS = ('x = "{}"', "f('{}')", '{{"a": "{}"}}', "A={}\n", "see `{}`.", "- a: {}\n")


def names_in(text):
    return {secret.shape.name for secret in find(text.encode())}


@pytest.mark.parametrize(("name", "key", "around", "near"), SAMPLES, ids=IDS)
def test_a_key_of_the_shape_is_found_whole_under_its_name(name, key, around, near):
    text = around.format(key)
    found = [s for s in find(text.encode()) if s.shape.name == name]
    assert found, f"{name} is not found"
    assert key in text[found[0].start : found[0].end] or name == "private-key"
    assert any(s.end - s.start >= len(key) - 1 for s in found)


@pytest.mark.parametrize(("name", "key", "around", "near"), SAMPLES, ids=IDS)
def test_what_only_begins_like_the_shape_is_left_alone(name, key, around, near):
    assert names_in(around.format(near)) == set()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_key_is_found_in_every_kind_of_file(context):
    missed = [
        name
        for name, key, around, _ in SAMPLES
        if around == "{}" and "\n" not in key and not names_in(context.format(key))
    ]
    assert missed == []


def test_every_shape_has_a_sample():
    assert {shape.name for shape in SHAPES} == {row[0] for row in SAMPLES}


def test_there_are_more_than_a_hundred_named_shapes():
    assert len({shape.title for shape in SHAPES}) > 100


def test_every_shape_says_how_it_is_called_and_where_to_read_it_from():
    for shape in SHAPES:
        assert re.fullmatch(r"[a-z0-9-]+", shape.name)
        assert shape.title
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", shape.env)
        assert shape.needles
        assert linear(shape.regex).groups <= 1
        assert not shape.ignore_case or all(n == n.lower() for n in shape.needles)


def test_two_keys_side_by_side_are_two():
    keys = [key for name, key, around, _ in SAMPLES if name == "github" and "." not in key][:2]
    assert len(find(" ".join(keys).encode())) == 2


def test_a_name_is_no_key():
    for text in (
        "risk-" + "0123456789abcdef" * 3,
        "def get_secret_key_from_environment(name): return os.environ[name]",
        "token = tokenizer.encode_plus(special_tokens_map_extended)",
        'password = os.environ["DATABASE_PASSWORD_V2"]',
        "api_key: ${API_KEY_FOR_PRODUCTION_2}",
        'secret_name = "projects/my-app/secrets/db-password"',
    ):
        assert names_in(text) == set(), text


@pytest.mark.parametrize(("name", "key", "around", "near"), SAMPLES, ids=IDS)
def test_a_hint_never_hides_what_the_shape_would_find(name, key, around, near):
    text = around.format(key).encode()
    fitting = [s for s in SHAPES if s.name == name and linear(s.regex).search(text)]
    assert fitting
    assert all(not s.hint or linear(s.hint).search(text) for s in fitting)
    assert any(needle.encode() in text.lower() or needle.encode() in text
               for s in fitting for needle in s.needles)  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("to_redact", [False, True])
def test_how_it_is_looked_for_changes_nothing_but_the_time(monkeypatch, to_redact):
    every = ("{}", *CONTEXTS)
    texts = [
        context.format(row[1]) for at, row in enumerate(SAMPLES) for context in every[at % 3 :: 3]
    ]
    texts += [row[2].format(row[place]) for row in SAMPLES for place in (1, 3)]

    def found(*, worth, short):
        monkeypatch.setattr(patterns, "_WORTH_GATES", worth)
        monkeypatch.setattr(patterns, "_SHORT", short)
        monkeypatch.setattr(patterns, "_prepared", {})
        return [list(patterns.places(text.encode(), to_redact=to_redact)) for text in texts]

    without = found(worth=1 << 60, short=0)
    assert sum(map(len, without)) > len(SAMPLES)
    assert without == found(worth=-1, short=0)  # behind gates
    assert without == found(worth=1 << 60, short=1 << 20)  # by how literals begin


def test_a_shape_of_a_clone_without_a_literal_is_found_in_a_short_text(monkeypatch):
    every = (*SHAPES, shape_of({"name": "own", "regex": "q[0-9]{3}z"}))
    monkeypatch.setattr(patterns, "all_shapes", lambda: every)
    assert "own" in {place.shape.name for place in patterns.places(b"run q123z")}
    assert not list(patterns.places(b"run q12z"))


def test_a_process_that_looks_through_little_compiles_no_gate():
    looking = (
        "import sys; from runner.secrets import patterns;"
        "text = b'x = 1\\n' * 100; n = int(sys.argv[1]);"
        "[list(patterns.places(text)) for _ in range(n)]; "
        "print(sum(one.gates is not None for one in patterns._prepared.values()))"
    )
    for rounds, compiled in ((3, "0"), (1_000, "1")):
        argv = [sys.executable, "-c", looking, str(rounds)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == compiled
