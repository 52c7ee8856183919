"""`evidence --format in-toto` and `verify-attestation`, as they are typed."""

import json

import pytest
from workplace import a_task

TASK = a_task("TASK-001", "Check", tests=["grep -q shop README.md"])


@pytest.fixture
def shop(workplace):
    workplace.commit({"README.md": "# shop\n"})
    workplace.plan(TASK)
    assert workplace.run("--no-sandbox").code == 0
    return workplace


def attested(place, **changes):
    said = place.runner("evidence", "1", "--format", "in-toto")
    assert said.code == 0
    statement = json.loads(said.out)
    statement["predicate"].update(changes)
    (place.root / "proof.json").write_text(json.dumps(statement))
    return statement


def test_a_true_statement_is_confirmed_and_proven_again(shop):
    attested(shop)
    said = shop.runner("verify-attestation", "proof.json")
    assert said.code == 0
    assert "TASK-001: it matches commit" in said.out
    assert "relies on the author of that commit" in said.out
    again = shop.runner("verify-attestation", "proof.json", "--run", "--trust", "--sandbox", "none")
    assert (again.code, again.out.splitlines()[-1]) == (0, "re-tested on HEAD")


def test_a_lie_is_named_with_its_place_and_nothing_runs(shop):
    attested(shop, passedTests=["TC-001", "TC-002"])
    said = shop.runner("verify-attestation", "proof.json", "--run", "--json")
    found = json.loads(said.out)
    assert (said.code, found["agrees"], found["ranAgain"]) == (1, False, None)
    assert [one["where"] for one in found["faults"]] == ["predicate.passedTests"]


def test_a_proof_that_fails_by_now_is_told(shop):
    attested(shop)
    (shop.root / "README.md").write_text("# other\n")
    shop.git("commit", "-qam", "other")
    said = shop.runner("verify-attestation", "proof.json", "--run", "--trust", "--sandbox", "none")
    assert (said.code, said.out.splitlines()[-1]) == (1, "NOT proven on HEAD: see above")


def test_a_file_that_is_not_there_is_told(shop):
    said = shop.runner("verify-attestation", "none.json")
    assert said.code == 2
    assert "cannot be read" in said.err


@pytest.mark.parametrize(
    "words", [("verify-attestation", "proof.json", "--run"), ("verify", "--all"), ("ship",)]
)
def test_who_did_not_trust_its_commands_is_told_the_very_line_to_type(
    shop, words, monkeypatch, tmp_path
):
    attested(shop)
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):  # somebody else's
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "other"))
    said = shop.runner(*words)
    assert said.code == 3
    assert said.err.endswith(f"hint: read them, then: runner {' '.join(words)} --trust\n")
    assert r"\n  proof.json" not in said.err
