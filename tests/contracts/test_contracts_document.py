"""Contract documents are read with bounds, and never from outside the repository."""

import json
import time

import pytest

from runner.contracts import document
from runner.contracts.document import bundle_document, parse_document
from runner.contracts.entries import Refused


def refusal(act):
    with pytest.raises(Refused) as refused:
        act()
    return refused.value.message


def files(**contents):
    named = {name.replace("_", "/", 1) + ".yaml": text.encode() for name, text in contents.items()}
    return named.__getitem__


def test_yaml_becomes_what_json_would_say():
    text = b"200: {when: 2026-01-05, on: true, n: ~, f: 1.5, i: 07, o: 0x1f}\nlist: [1, two]\n"
    assert parse_document(text, "a.yaml") == {
        "200": {"when": "2026-01-05", "on": True, "n": None, "f": 1.5, "i": 7, "o": "0x1f"},
        "list": [1, "two"],
    }


def test_anchors_and_merges_are_written_out():
    text = b"base: &b {a: 1, b: 2}\none: {<<: *b, b: 3}\nall: [*b, *b]\n"
    value = parse_document(text, "a.yaml")
    assert value["one"] == {"a": 1, "b": 3}
    assert value["all"] == [{"a": 1, "b": 2}] * 2


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60)
)


@pytest.mark.parametrize("text", [BOMB, MERGES])
def test_a_yaml_bomb_is_counted_and_not_built(text):
    began = time.monotonic()
    message = refusal(lambda: parse_document(text.encode(), "a.yaml"))
    assert message == "a.yaml has more than 200000 values after expanding its aliases"
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]", "a.yaml has an alias that contains itself"),
        ("[" * 5000, "a.yaml is not YAML: the document is nested more than 100 levels deep"),
        ("a: *nobody", "a.yaml is not YAML: found undefined alias"),
        ("a: [", "a.yaml is not YAML: "),
        ("? [a, b]\n: c", "a.yaml has a key that is not a string"),
        ("a: b\n---\nc: d", "a.yaml is not YAML: "),
    ],
)
def test_yaml_that_cannot_be_read_is_refused_with_a_reason(text, message):
    assert refusal(lambda: parse_document(text.encode(), "a.yaml")).startswith(message)


def test_tags_build_nothing():
    assert parse_document(b"!!python/object/apply:os.system [echo]", "a.yaml") == ["echo"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "a.json is not JSON: Expecting property name enclosed in double quotes"),
        (b"[" * 100_000, "a.json is not readable as JSON"),
        (b"[" * 200 + b"]" * 200, "a.json is nested more than 100 levels deep"),
        (b"\xff", "a.json is not UTF-8"),
        (b"1" * 5000, "a.json is not readable as JSON"),
    ],
)
def test_json_that_cannot_be_read_is_refused_with_a_reason(content, message):
    assert refusal(lambda: parse_document(content, "a.json")) == message


def test_a_document_has_a_bound():
    assert "larger than" in refusal(lambda: parse_document(b" " * (document.LARGEST + 1), "a.json"))


# --- references -----------------------------------------------------------------------


def test_files_that_a_document_is_split_into_are_bound_into_it():
    read = files(
        api_main="{a: {$ref: 'part.yaml#/X'}, b: {$ref: '../other.yaml'}, c: {$ref: '#/a'}}",
        api_part="{X: {$ref: '#/Y'}, Y: {$ref: main.yaml#/b}}",
        other="{$ref: api/part.yaml#/Y}",
    )
    assert bundle_document("api/main.yaml", read) == {
        "a": {"$ref": "#/x-runner-files/0/X"},
        "b": {"$ref": "#/x-runner-files/1"},
        "c": {"$ref": "#/a"},
        "x-runner-files": {
            "0": {"X": {"$ref": "#/x-runner-files/0/Y"}, "Y": {"$ref": "#/b"}},
            "1": {"$ref": "#/x-runner-files/0/Y"},
        },
    }


def test_a_reference_by_the_documents_own_name_stays_inside():
    text = json.dumps({"$id": "https://example.org/x", "a": {"$ref": "https://example.org/x#/b"}})
    assert bundle_document("x.json", lambda _: text.encode()) == {"a": {"$ref": "#/b"}}


def test_a_property_that_is_named_like_a_reference_is_none():
    value = {"properties": {"$ref": {"type": "string"}}}
    assert bundle_document("x.json", lambda _: json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "target",
    [
        "http://example.org/x.json",
        "https://example.org/x.json#/X",
        "file:///etc/passwd",
        "/etc/passwd",
        "../../outside.yaml",
        "%2e%2e/%2e%2e/outside.yaml",
        "//example.org/x",
        "urn:x:y",
    ],
)
@pytest.mark.parametrize("key", ["$ref", "operationRef"])
def test_a_reference_that_leads_out_of_the_repository_is_refused(target, key):
    text = json.dumps({"deep": [{key: target}]}).encode()
    message = refusal(lambda: bundle_document("api/main.json", lambda _: text))
    assert message.endswith(", outside the repository")


def test_a_document_has_a_bound_of_files():
    def read(path):
        number = int(path.split(".")[0])
        return json.dumps({"$ref": f"{number + 1}.json"}).encode()

    assert "refers to more than 100 files" in refusal(lambda: bundle_document("0.json", read))
