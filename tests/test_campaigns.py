"""What `make campaign` is made of, and that it tells a night that was cut off, failed or missed."""

import json
import sys
import types

import campaigns
import pytest
from campaigns import Result, Step, deal, git, read_campaigns, read_part, read_planted
from campaigns_page import MergeError, kind_of, merge_reports, missing, publish, write_page

CAMPAIGNS, PLANTED = read_campaigns(), read_planted()
TESTS = """
import os, time
def test_good(record_property):
    record_property("tried", int(os.environ["CAMPAIGN_SECONDS"]) * int(os.environ["CAMPAIGN_SEED"]))
def test_value():
    import product
    assert product.VALUE == 1
def test_slow():
    time.sleep(float(os.environ.get("SLEEP", "0")))
"""


# --- what it is made of -----------------------------------------------------------------


def test_what_a_campaign_names_is_there():
    named = {word for one in CAMPAIGNS for word in one.tests if word.startswith("tests/")}
    assert [name for name in named if not (campaigns.ROOT / name).exists()] == []


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_a_planted_bug_is_in_the_product_and_its_tests_are_the_campaigns(bug):
    campaigns.apply_patch(campaigns.PLANTED / f"{bug.name}.patch", campaigns.ROOT, "--check")
    campaign = next(one for one in CAMPAIGNS if one.name == bug.by)
    files = [word for word in bug.tests if word.startswith("tests/")]
    assert files
    assert all(word.startswith(tuple(campaign.tests)) for word in files)


def test_every_campaign_has_a_bug_to_find():
    assert {one.by for one in PLANTED} == {one.name for one in CAMPAIGNS}
    assert len(PLANTED) >= 30


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_parts_are_the_whole_and_each_has_its_share(parts):
    steps = [*CAMPAIGNS, *PLANTED]
    dealt = [deal(steps, part, parts) for part in range(1, parts + 1)]
    assert sorted(one.name for some in dealt for one in some) == sorted(one.name for one in steps)
    loads = [sum(one.weight for one in some) for some in dealt]
    assert max(loads) - min(loads) <= max(one.weight for one in steps)


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(campaigns.CampaignError, match="one of so many"):
        read_part(text)


# --- one step ---------------------------------------------------------------------------


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A product of one value, tests of it, and a folder of planted bugs."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "product.py").write_text("VALUE = 1\n")
    (tmp_path / "tree" / "test_toy.py").write_text(TESTS)
    (tmp_path / "planted").mkdir()
    monkeypatch.setattr(campaigns, "PLANTED", tmp_path / "planted")
    monkeypatch.setattr(campaigns, "PATIENCE", 0.0)
    monkeypatch.setattr(campaigns, "OPTIONS", ("-o", "junit_family=xunit1"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a second less for each
    return types.SimpleNamespace(folder=tmp_path / "tree", python=sys.executable)


def a_step(*words, name="toy", kind="campaign", **fields):
    return Step(name, kind, 1.0, "a toy", ["test_toy.py", *words], **fields)


def test_a_campaign_that_passes_tells_what_it_tried_by_seed_and_seconds(toy):
    found = campaigns.try_campaign(a_step(spends=0.5), 7, 10, toy.folder, toy.python)
    assert (found.state, found.passed, found.failed) == ("passed", 3, 0), found
    assert found.figures == {"test_good": {"tried": "140"}}


def test_a_campaign_that_fails_says_where_and_one_that_is_over_time_is_no_success(toy):
    (toy.folder / "product.py").write_text("VALUE = 2\n")
    found = campaigns.try_campaign(a_step(), 7, 10, toy.folder, toy.python)
    assert (found.state, found.passed, found.failed) == ("failed", 2, 1)
    assert [one["test"] for one in found.failures] == ["test_toy::test_value"]
    slow = a_step("-k", "slow", environ={"SLEEP": "60"})
    assert campaigns.try_campaign(slow, 7, 0.5, toy.folder, toy.python).state == "out of time"


@pytest.mark.parametrize(
    ("words", "value", "state"),
    [("-k value", 2, "found"), ("-k good", 2, "missed")],
)
def test_a_bug_is_found_or_missed_and_taken_away_again(toy, words, value, state):
    change = f"--- a/product.py\n+++ b/product.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = {value}\n"
    (campaigns.PLANTED / "toy.patch").write_text(f"Why: it is a toy\n\n{change}")
    bug = a_step(*words.split(), kind="bug")
    assert campaigns.try_bug(bug, 7, 10, toy).state == state
    assert (toy.folder / "product.py").read_text() == "VALUE = 1\n"


@pytest.mark.parametrize("waits_for", ["VALUE == 2", "VALUE == 1"], ids=["with it", "without it"])
def test_a_bug_whose_campaign_was_cut_off_is_neither_found_nor_missed(toy, waits_for, monkeypatch):
    monkeypatch.setattr(campaigns, "PATIENCE", 3.0)
    (toy.folder / "test_toy.py").write_text(
        "import time\nfrom product import VALUE\n\n\ndef test_value():\n"
        f"    if {waits_for}:\n        time.sleep(60)\n    assert VALUE == 1\n"
    )
    change = "--- a/product.py\n+++ b/product.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"
    (campaigns.PLANTED / "toy.patch").write_text(change)
    assert campaigns.try_bug(a_step(kind="bug"), 7, 2, toy).state == "out of time"


def test_tests_that_fail_without_the_bug_too_find_nothing(toy):
    (toy.folder / "product.py").write_text("VALUE = 0\n")
    change = "--- a/product.py\n+++ b/product.py\n@@ -1 +1 @@\n-VALUE = 0\n+VALUE = 2\n"
    (campaigns.PLANTED / "toy.patch").write_text(change)
    assert campaigns.try_bug(a_step(kind="bug"), 7, 10, toy).state == "unsound"


# --- a night ----------------------------------------------------------------------------


def a_report(*results, seed=7, part="1/2", interrupted=False, begun="2026-01-02T03:00:00+00:00"):
    told = {"part": part, "commit": "c" * 40, "begun": begun, "ended": begun, "seconds": 60,
            "interrupted": interrupted, "asked": [one["name"] for one in results]}  # fmt: skip
    return {"format": 1, "product": "p" * 40, "seed": seed, "parts": [told],
            "results": list(results)}  # fmt: skip


def a_result(name, state="passed", kind="campaign", **fields):
    return campaigns.asdict(Result(name, kind, state, 1.0, **fields))


def test_a_night_that_is_cut_off_says_so_and_goes_on_where_it_was(tmp_path, monkeypatch):
    tried, path = [], tmp_path / "report.json"

    def stop_at_two(step, *_):
        tried.append(step.name)
        if tried == ["one", "two"]:
            raise KeyboardInterrupt
        return Result(step.name, step.kind, "passed", passed=1)

    monkeypatch.setattr(campaigns, "try_campaign", stop_at_two)
    steps = [a_step(name=name) for name in ("one", "two", "three")]
    report = a_report(*(a_result(name) for name in ("one", "two", "three")), interrupted=True)
    begin = json.dumps(report | {"results": []})
    with pytest.raises(KeyboardInterrupt):
        campaigns.spend_night(json.loads(begin), steps, 10, path)
    left = json.loads(path.read_text())
    assert [(one["name"], one["state"]) for one in left["results"]] == [
        ("one", "passed"),
        ("two", "interrupted"),
    ]
    assert left["parts"][0]["interrupted"]
    assert missing(left, steps) == ["two", "three"]
    assert "**interrupted**, never ended" in write_page(left, steps)
    campaigns.spend_night(campaigns.goes_on(json.loads(begin), path), steps, 10, path)
    assert tried == ["one", "two", "two", "three"]
    whole = json.loads(path.read_text())
    assert not whole["parts"][0]["interrupted"]
    assert missing(whole, steps) == []
    assert campaigns.goes_on(json.loads(begin), path)["results"] == []  # another night begins


def test_parts_of_one_night_merge_and_those_of_two_do_not():
    first = a_report(a_result("one"), a_result("two", "interrupted"), interrupted=True)
    second = a_report(a_result("two"), part="2/2", begun="2026-01-02T04:00:00+00:00")
    merged = merge_reports([second, first])
    assert [one["part"] for one in merged["parts"]] == ["1/2", "2/2"]
    assert {one["name"]: one["state"] for one in merged["results"]} == {
        "one": "passed",
        "two": "passed",
    }
    with pytest.raises(MergeError, match="seed 7 and 8"):
        merge_reports([first, a_report(seed=8)])


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("AssertionError: effect 3: the next run ended with 6", "wedged"),
        ("E  landed more than once: [('TASK-001', 1)]", "doubled"),
        ("E  git status says:\n M a.txt", "dirty"),
        ("E  TASK-001 is DONE, and its commit is not in HEAD", "lost"),
    ],
)
def test_a_failure_says_how_a_crash_was_survived_badly(said, kind):
    assert kind_of({"test": "t", "said": said}) == kind


def test_the_page_counts_in_the_matrix_and_stands_beside_the_last_night(tmp_path):
    case = "test_a_campaign_of_crashes[small-stops]"
    said = {"test": f"tests.x::{case}", "said": "E   landed more than once: ['TASK-001']"}
    good = a_result("kills", passed=16, figures={case: {"tried": "120"}})
    bad = a_result("kills", "failed", failures=[said], figures={case: {"tried": "31"}}, failed=1)
    steps = [*CAMPAIGNS, PLANTED[0]]
    publish([a_report(good, seed=1)], steps, tmp_path)
    assert "it is the first" in (tmp_path / "campaigns.md").read_text()
    publish([a_report(bad, a_result(PLANTED[0].name, "found", "bug"))], steps, tmp_path)
    page = (tmp_path / "campaigns.md").read_text()
    row = next(line for line in page.splitlines() if "stopped right before" in line)
    assert row.endswith("| two tasks | 31 | 0 | **1** | 0 | 0 | 120 |")
    assert "Compared with: seed 1, begun 2026-01-02" in page
    assert "1 of 1 were found" in page
    assert "| fuzz |" in page
    assert page.count("not run") > 10
    publish([a_report(bad)], steps, tmp_path)  # the same night again stands beside the same
    assert "Compared with: seed 1" in (tmp_path / "campaigns.md").read_text()


def test_the_product_of_a_night_is_that_of_a_commit(monkeypatch):
    ask = campaigns.git  # whoever runs this may have changes of their own
    monkeypatch.setattr(
        campaigns, "git", lambda *words: "" if words[0] == "status" else ask(*words)
    )
    report = campaigns.begin_report(1, 2, 7, 60.0, CAMPAIGNS[:2])
    assert report["product"] == git("rev-parse", "HEAD:runner")
    assert report["parts"][0]["asked"] == [one.name for one in CAMPAIGNS[:2]]
    monkeypatch.setattr(campaigns, "git", lambda *words: " M runner/a.py" * (words[0] == "status"))
    with pytest.raises(campaigns.CampaignError, match="a night is about a commit"):
        campaigns.begin_report(1, 2, 7, 60.0, CAMPAIGNS[:2])
