"""A proof as a statement: a stranger with a clone sees whether it is true, and ten lies of it."""

import copy as copies
import json
import shutil
import subprocess

import pytest
from built import build, copy, opened_at
from jsonschema import Draft202012Validator
from workplace import a_task

from runner.app.prove.ship_and_tag import ShipRequest, ship
from runner.app.prove.task_evidence import (
    attest_ship,
    attest_task,
    check_attestation,
    find_evidence,
    require_current,
)
from runner.errors import RunnerError
from runner.report.attestations import encode

MODEL = "def total(prices):\n    return sum(prices)\n"
TEST = (
    "import unittest\nfrom shop import total\n\n\nclass Total(unittest.TestCase):\n"
    "    def test_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
UNITTEST = "python3 -m unittest -q test_shop"
TASKS = (
    a_task("TASK-001", "Total", blocks={"shop.py": MODEL, "test_shop.py": TEST}, tests=[UNITTEST]),
    a_task("TASK-002", "Check", needs=["TASK-001"], tests=["grep -q def shop.py"]),
    a_task("TASK-003", "Words", blocks={"words.md": "# Words\n"}),
)
HEX = {"type": "string", "pattern": "^[0-9a-f]{40,64}$"}
RESOURCE = {
    "type": "object",
    "required": ["digest"],
    "properties": {
        "name": {"type": "string"},
        "uri": {"type": "string"},
        "digest": {"type": "object", "minProperties": 1, "additionalProperties": HEX},
    },
}
NAMES = {"type": "array", "items": {"type": "string"}}
SCHEMA = {
    "type": "object",
    "required": ["_type", "subject", "predicateType", "predicate"],
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {"type": "array", "minItems": 1, "items": RESOURCE},
        "predicateType": {"const": "https://in-toto.io/attestation/test-result/v0.1"},
        "predicate": {
            "type": "object",
            "required": ["result", "configuration"],
            "properties": {
                "result": {"enum": ["PASSED", "WARNED", "FAILED"]},
                "configuration": {"type": "array", "items": RESOURCE},
                "url": {"type": "string"},
                "passedTests": NAMES,
                "warnedTests": NAMES,
                "failedTests": NAMES,
            },
        },
    },
}
"""The fields of the published predicate, as its text has them."""


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return build(tmp_path_factory.mktemp("attest"), *TASKS)


@pytest.fixture
def shop(template, tmp_path, alone):
    return copy(template, tmp_path / "shop", alone)


def a_statement(place, typed="1"):
    project = opened_at(place)
    found = find_evidence(project, typed)
    return attest_task(project, found.task.id, found.known.spec)


def checked(place, statement):
    return check_attestation(opened_at(place), encode(statement).encode())


def a_clone(place, folder, home):
    subprocess.run(["git", "clone", "-q", str(place.root), str(folder)], check=True)
    return type(place)(folder, home)


@pytest.mark.parametrize(("typed", "subjects"), [("1", ["commit", "tree"]), ("2", ["tree"])])
def test_a_clone_makes_the_same_statement_and_finds_it_true(shop, tmp_path, alone, typed, subjects):
    statement = a_statement(shop, typed)
    Draft202012Validator(SCHEMA).validate(statement)
    assert [one["name"] for one in statement["subject"]] == subjects
    assert statement["predicate"]["result"] == "PASSED"
    assert f"TC-00{typed}" in statement["predicate"]["passedTests"]
    clone = a_clone(shop, tmp_path / "clone", alone)
    assert encode(a_statement(clone, typed)) == encode(statement)
    found = checked(clone, statement)
    assert (found.kind, found.name, found.faults) == ("task", f"TASK-00{typed}", ())


def test_it_names_what_ran_and_nothing_else(shop):
    ran = {proof.id for proof in find_evidence(opened_at(shop), "1").evidence.proofs}
    assert set(a_statement(shop)["predicate"]["passedTests"]) == ran


def test_what_nothing_proved_is_not_attested(shop):
    with pytest.raises(RunnerError, match="nothing to attest"):
        a_statement(shop, "3")


LIES = {
    "a result that is no word of it": ("predicate.result", "OK"),
    "a failure that is called passed": ("predicate.failedTests", ["TC-001"]),
    "another commit": ("subject.0.digest.gitCommit", "0" * 40),
    "another tree": ("subject.1.digest.gitTree", "1" * 40),
    "other work": ("predicate.configuration.0.digest.sha256", "2" * 64),
    "another proof": ("predicate.configuration.1.digest.sha256", "3" * 64),
    "a commit that is not here": ("predicate.configuration.2.digest.gitCommit", "4" * 40),
    "a test that did not run": ("predicate.passedTests", ["TC-001", "TC-002", "coverage"]),
    "no test at all": ("predicate.passedTests", []),
    "another predicate": ("predicateType", "https://example.org/anything/v1"),
    "another kind of statement": ("_type", "https://in-toto.io/Statement/v0.1"),
    "a digest in capitals": ("subject.1.digest.gitTree", "A" * 40),
    "a digest that is cut": ("subject.1.digest.gitTree", "a" * 12),
    "no subject": ("subject", []),
    "a subject without a digest": ("subject.0", {"name": "commit"}),
    "another task": ("predicate.configuration.2.name", "TASK-002/told-in"),
    "a configuration that says nothing": ("predicate.configuration", []),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_planted_lie_is_found(shop, lie):
    path, value = LIES[lie]
    statement = copies.deepcopy(a_statement(shop))
    assert checked(shop, statement).faults == ()
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place = statement
    for step in steps:
        place = place[step]
    place[last] = value
    assert checked(shop, statement).faults


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b'{"_type": 1, "_type": 2}', b"\xff"])
def test_what_is_no_json_is_told(shop, data):
    with pytest.raises(RunnerError, match="not an attestation"):
        check_attestation(opened_at(shop), data)


@pytest.mark.parametrize("data", [b"[]", b"3", b"{}", b'{"predicate": [], "subject": {}}'])
def test_json_of_another_shape_has_faults(shop, data):
    assert check_attestation(opened_at(shop), data).faults


def test_a_message_that_lies_about_its_tree_is_found(shop):
    statement = a_statement(shop)
    told = statement["subject"][0]["digest"]["gitCommit"]
    message = shop.git("log", "-1", "--format=%B", told)
    (shop.root / "shop.py").write_text(MODEL.replace("sum(prices)", "0"))
    shop.git("add", "shop.py")
    shop.git("commit", "-q", "-m", message)
    forged = copies.deepcopy(statement)
    commit = shop.git("rev-parse", "HEAD").strip()
    forged["subject"][0]["digest"]["gitCommit"] = commit
    forged["predicate"]["configuration"][2]["digest"]["gitCommit"] = commit
    assert checked(shop, forged).faults  # the tree is another one


def test_a_plan_that_asks_for_something_else_is_not_proven_again(shop):
    found = checked(shop, a_statement(shop))
    require_current(opened_at(shop), found)
    plan = shop.root / "TASK-GRAPH.md"
    plan.write_text(plan.read_text().replace(UNITTEST, "true"))
    with pytest.raises(RunnerError, match="in the plan differs"):
        require_current(opened_at(shop), found)


# --- a ship ---------------------------------------------------------------------------


def test_a_ship_leaves_a_statement_that_clones_find_true(shop, heard, tmp_path, alone):
    shop.git("config", "user.name", "A Person")
    done = ship(opened_at(shop), ShipRequest(unproven=True), heard)
    statement = json.loads((shop.root / done.attestation).read_text())
    assert statement["predicate"]["verifiedLevels"] == ["RUNNER_SOME_PROVEN"]
    names = [one["uri"] for one in statement["predicate"]["inputAttestations"]]
    assert [name.rpartition(":")[2] for name in names] == ["TASK-001", "TASK-002"]
    clone = a_clone(shop, tmp_path / "clone", alone)
    assert checked(clone, statement).faults == ()
    for path, value in (
        ("verifiedLevels", ["RUNNER_ALL_PROVEN"]),
        ("verificationResult", "FINE"),
        ("policy", {"uri": "TASK-GRAPH.md", "digest": {"sha256": "5" * 64}}),
        ("inputAttestations", []),
    ):
        lie = copies.deepcopy(statement)
        lie["predicate"][path] = value
        assert checked(clone, lie).faults, path
    other = statement["subject"][0] | {"name": "v9"}
    assert checked(clone, statement | {"subject": [other, statement["subject"][1]]}).faults


def test_a_commit_that_declares_nothing_is_no_ship(shop):
    head = shop.git("rev-parse", "HEAD").strip()
    statement = attest_ship(opened_at(shop), "v1", head, "2026-01-01T00:00:00Z")
    assert [one.where for one in checked(shop, statement).faults] == ["subject[0]"]


# --- signed by a key ------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_key_of_ssh_signs_it_and_another_file_is_not_signed(shop, tmp_path):
    file, key, signers = tmp_path / "proof.json", tmp_path / "key", tmp_path / "signers"
    file.write_text(encode(a_statement(shop)))
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a@example.org", "-f", str(key)]
    subprocess.run(make, check=True)
    signers.write_text(f"a@example.org {key.with_suffix('.pub').read_text()}")
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", "in-toto", str(file)]
    subprocess.run(sign, check=True)
    who = ["-f", str(signers), "-I", "a@example.org", "-n", "in-toto", "-s", f"{file}.sig"]

    def holds(data):
        verify = ["ssh-keygen", "-Y", "verify", *who]
        return subprocess.run(verify, input=data, capture_output=True, check=False).returncode == 0

    assert holds(file.read_bytes())
    assert not holds(file.read_bytes().replace(b"PASSED", b"FAILED"))
