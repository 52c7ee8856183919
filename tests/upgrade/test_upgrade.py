"""What 0.1.0 left in a repository and at home is read, believed and gone on with.

`state-0.1.0.tar.gz` was made by that runner (`make_0_1_0.sh`): journal, staged work, held refs,
commits with trailers, settings of repository and person, trust, and its caches.
"""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import invariants
import pytest
from workplace import Workplace

from runner.config.paths import repository_key

STATE = Path(__file__).with_name("state-0.1.0.tar.gz")
MADE_AT = "/tmp/upgrade/shop"
STATUSES = {
    "TASK-001": "DONE",
    "TASK-002": "DONE",
    "TASK-003": "DONE",
    "TASK-004": "BLOCKED",
    "TASK-005": "PENDING",
    "TASK-006": "BLOCKED",
    "TASK-007": "PENDING",
}


@pytest.fixture
def shop(tmp_path, alone):
    """The repository and home of somebody who had 0.1.0 until now."""
    with tarfile.open(STATE) as packed:
        packed.extractall(tmp_path, filter="data")
    root, old = tmp_path / "shop", tmp_path / "home"
    for kind, below in (("config", ".config"), ("cache", ".cache"), ("state", ".local/state")):
        shutil.move(old / below, alone / kind)
    caches = alone / "cache" / "runner" / "repositories"
    (kept,) = caches.iterdir()
    kept.rename(caches / repository_key(root))  # as if it had always been here
    trust = alone / "state" / "runner" / "trust.json"
    trust.write_text(trust.read_text().replace(MADE_AT, str(root)))
    shutil.copy(old / ".gitconfig", alone / "gitconfig")
    return Workplace(root, alone)


def statuses(place):
    found = json.loads(place.runner("status", "--json").out)["tasks"]
    return {one["id"]: one["status"] for one in found}


def test_journal_and_plan_cache_say_what_they_said(shop):
    before = (shop.root / invariants.JOURNAL).read_bytes()
    assert statuses(shop) == STATUSES
    invariants.every_prefix_of_the_journal_replays(shop.root)
    assert (shop.root / invariants.JOURNAL).read_bytes() == before
    shutil.rmtree(shop.home / "cache")
    assert statuses(shop) == STATUSES
    told = shop.runner("evidence", "TASK-001").out
    assert "grep -q 3 prices.txt" in told
    assert "DONE, proven by command" in told
    assert "2. TASK-006 What a person reviews" in shop.runner("review").out


def test_settings_of_repository_and_person_mean_what_they_meant(shop):
    found = json.loads(shop.runner("settings", "--json").out)["settings"]
    expected = {
        "build.attempts": 2,
        "proof.coverage": 50.0,
        "floor.review": "prompt",
        "proof.red_first": "never",
    }
    assert {name: found[name]["value"] for name in expected} == expected
    assert found["build.jobs"] == {
        "value": 1,
        "common": True,
        "source": "~/config/runner/runner.toml:1",
    }
    assert found["limits.idle_seconds"]["value"] == 120.0


def test_who_agreed_to_the_plan_is_asked_once_more_for_commands_of_settings(shop):
    asked = shop.run("--no-sandbox", trust=False)
    assert asked.code == 3
    assert "new commands that you have not trusted yet; nothing has run" in asked.err
    assert "runner.toml: test ! -e wrong-words" in asked.err
    assert "grep -q 3" not in asked.err, "what was agreed to is not asked again"


def test_it_is_built_to_its_end_and_nothing_is_built_twice(shop):
    assert shop.landings == ["TASK-001", "TASK-002"]
    assert shop.runner("approve", "TASK-006").code == 0
    assert shop.run("--no-sandbox").code == 1  # TASK-004 fails as it did
    assert shop.runner("approve", "TASK-007").code == 0
    assert shop.run("--no-sandbox").code == 1
    assert statuses(shop) == STATUSES | {"TASK-006": "DONE", "TASK-007": "DONE"}
    assert sorted(shop.landings) == ["TASK-001", "TASK-002", "TASK-006", "TASK-007"]
    assert shop.read("reviewed.txt") == "mine to read\n"
    assert shop.read("artifacts/build/DECISIONS.md").count("## DECISION-") == 1
    built = [one["mode"] for one in shop.happened("attempt.started", "TASK-006")]
    assert built == ["build", "prove"], "what a person had seen is proven, and not made again"
    invariants.nothing_landed_twice(shop.root)
    invariants.every_prefix_of_the_journal_replays(shop.root)
    verified = shop.runner("verify", "TASK-001")
    assert verified.code == 0, verified.said


def test_a_clone_without_a_journal_believes_its_trailers(shop, tmp_path, alone):
    subprocess.run(["git", "clone", "-q", shop.root, tmp_path / "clone"], check=True)
    clone = Workplace(tmp_path / "clone", alone)
    assert clone.run("--no-sandbox").code in (1, 3)
    assert {
        id_: statuses(clone)[id_] for id_ in ("TASK-001", "TASK-002", "TASK-003")
    } == dict.fromkeys(("TASK-001", "TASK-002", "TASK-003"), "DONE")
    assert clone.landings[:2] == ["TASK-001", "TASK-002"]
    started = {one["task"] for one in clone.happened("attempt.started")}
    assert started.isdisjoint({"TASK-001", "TASK-002"})
