"""What was built is proven again, told and shipped, without a command line."""

import pytest
from built import build, copy, opened_at
from forge import Forge
from workplace import a_task

from runner.app.answer.decision_record import Waive, waive
from runner.app.prove.measure_coverage import CoverageRequest, check_coverage
from runner.app.prove.prove_tree import WorkTreeSnapshot, find_uncommitted
from runner.app.prove.publish import find_request, publish_ship
from runner.app.prove.ship_and_tag import ShipRequest, notices_nothing, ship
from runner.app.prove.task_evidence import find_evidence
from runner.app.prove.verify_done import verify_task, verify_whole
from runner.errors import ExitCode, RunnerError
from runner.journal.evidence import EvidenceSource, EvidenceState
from runner.model import Action, Proof, Verdict, digest_of
from runner.repo.read import Repository

MODEL = "def total(prices):\n    return sum(prices)\n\n\ndef unused():\n    return 1\n"
TEST = (
    "import unittest\nfrom shop import total\n\n\nclass Total(unittest.TestCase):\n"
    "    def test_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
UNITTEST = "python3 -m unittest -q test_shop"
TASKS = (
    a_task(
        "TASK-001",
        "Total",
        blocks={"shop.py": MODEL, "test_shop.py": TEST},
        tests=[UNITTEST],
        fields=["Coverage: 50%"],
    ),
    a_task("TASK-002", "Check", needs=["TASK-001"], tests=["grep -q def shop.py"]),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    files = {"runner.toml": '[gates]\nsame = "grep -q total shop.py"\n'}
    return build(tmp_path_factory.mktemp("prove"), *TASKS, files=files)


@pytest.fixture
def shop(template, tmp_path, alone):
    """A small module with its test, and a check beside it; built, and proven whole."""
    return copy(template, tmp_path / "shop", alone)


# --- verify ---------------------------------------------------------------------------


def test_a_task_agrees_with_its_evidence_and_nothing_is_written(shop, heard):
    events = len(shop.events)
    found = verify_task(opened_at(shop), "1", heard)
    assert (found.passed, found.differences, found.unseen) == (True, (), ())
    assert found.evidence is not None
    assert found.now.proofs[0].id == "gate:same"
    assert len(shop.events) == events


def test_a_commit_that_breaks_a_task_differs_from_its_evidence(shop, heard):
    shop.commit({"shop.py": MODEL.replace("sum", "len")})
    found = verify_task(opened_at(shop), "TASK-001", heard)
    assert not found.passed
    assert [one.check for one in found.differences if one.worse][:1] == ["TC-001"]
    assert found.stale == ("TASK-001",)
    assert "STALE — TC-001 fails on " in shop.status_line("TASK-001")
    assert "TASK-001 is STALE: TC-001 fails on " in heard.all[-1]


def test_what_a_person_waived_stays_done_though_its_proof_fails(shop, heard):
    shop.commit({"shop.py": "import total\n"})
    waive(opened_at(shop), Waive("TASK-001", "the file is made elsewhere"))
    assert verify_whole(opened_at(shop), heard).stale == ("TASK-002",)
    assert shop.statuses == {"TASK-001": "DONE", "TASK-002": "STALE"}


def test_what_a_person_committed_and_passes_is_known_as_proven_from_then_on(shop, heard):
    shop.commit({"shop.py": MODEL + "\n# by hand\n"})
    assert find_evidence(opened_at(shop), "TASK-001").unverified is not None
    assert verify_task(opened_at(shop), "TASK-001", heard).passed
    assert find_evidence(opened_at(shop), "TASK-001").unverified is None


def test_what_is_not_committed_is_not_looked_at_and_that_is_said(shop, heard):
    shop.write({"shop.py": "broken(\n"})
    found = verify_task(opened_at(shop), "TASK-001", heard)
    assert (found.passed, found.unseen) == (True, ("shop.py",))
    assert heard.all[0].startswith("note: HEAD is tested, without uncommitted changes")


def test_everything_is_proven_on_one_tree_and_the_journal_knows(shop, heard):
    before = len(shop.happened("tree.verified"))
    found = verify_whole(opened_at(shop), heard)
    assert found.verified.passed
    assert [one.task for one in found.verified.tasks] == ["TASK-001", "TASK-002"]
    assert all(one.is_proven for one in found.grades.values())
    assert found.not_done == ()
    assert len(shop.happened("tree.verified")) == before + 1


def test_everything_falls_short_where_one_task_does(shop, heard):
    shop.commit({"shop.py": "def total(prices):\n    return 0\n"})
    found = verify_whole(opened_at(shop), heard)
    assert not found.verified.passed
    assert {one.task: one.passed for one in found.verified.tasks} == {
        "TASK-001": False,
        "TASK-002": True,
    }
    assert not found.grades["TASK-001"].is_proven
    assert found.stale == ("TASK-001",)
    assert shop.statuses == {"TASK-001": "STALE", "TASK-002": "DONE"}
    assert not shop.happened("tree.verified")[-1]["passed"]


def test_a_plan_with_mistakes_runs_nothing(shop, heard):
    shop.edit_plan("- Depends on: TASK-001", "- Depends on: TASK-009")
    with pytest.raises(RunnerError, match="the plan has 1 mistake; nothing has run") as met:
        verify_whole(opened_at(shop), heard)
    assert "TASK-009" in met.value.detail


def test_without_a_task_or_a_gate_there_is_nothing_to_verify(workplace, heard):
    workplace.plan(a_task("TASK-001", blocks={"a.py": "A = 1\n"}))
    with pytest.raises(RunnerError) as told:
        verify_whole(opened_at(workplace), heard)
    assert told.value.code is ExitCode.PERSON


# --- evidence -------------------------------------------------------------------------


def test_evidence_names_the_commit_and_the_proofs(shop):
    found = find_evidence(opened_at(shop), "1")
    assert found.standing is EvidenceState.CURRENT
    assert found.evidence.source is EvidenceSource.JOURNAL
    assert found.evidence.commit == shop.happened("task.landed", "TASK-001")[0]["commit"]
    assert "TC-001" in [proof.id for proof in found.evidence.proofs]
    assert found.graded.is_proven


def test_evidence_of_a_task_that_is_asked_for_otherwise_stands_no_more(shop):
    shop.edit_plan("## TASK-001: Total", "## TASK-001: Total of all\n\nWith tax.")
    assert find_evidence(opened_at(shop), "1").standing is EvidenceState.WORK_CHANGED


def test_without_a_journal_the_commits_tell(shop):
    (shop.root / "artifacts/build/journal.jsonl").unlink()
    found = find_evidence(opened_at(shop), "1")
    assert found.evidence.source is EvidenceSource.TRAILERS
    assert any(UNITTEST in proof.command for proof in found.evidence.proofs)
    shop.edit_plan(UNITTEST, UNITTEST + " -v")  # the commits name no commands, and these are new
    again = find_evidence(opened_at(shop), "1")
    assert again.evidence is None or not any(one.command for one in again.evidence.proofs)


def test_a_task_that_was_never_built_has_no_evidence(workplace):
    workplace.plan(a_task("TASK-001", blocks={"a.py": "A = 1\n"}))
    found = find_evidence(opened_at(workplace), "1")
    assert (found.evidence, found.graded, found.standing) == (None, None, EvidenceState.NONE)


# --- coverage -------------------------------------------------------------------------


def test_coverage_is_looked_up_as_long_as_the_tree_is_the_one_that_was_measured(shop):
    found = check_coverage(opened_at(shop), CoverageRequest("1"))
    assert (found.source, found.passed, found.coverage.threshold) == ("journal", True, 50)
    again = check_coverage(opened_at(shop), CoverageRequest("1", again=True))
    assert (again.source, again.coverage.percent) == ("measured", found.coverage.percent)


def test_a_higher_threshold_is_not_reached(shop):
    found = check_coverage(opened_at(shop), CoverageRequest("1", threshold=99))
    assert (found.passed, found.coverage.threshold) == (False, 99)
    assert any(line.startswith("shop.py") for line in found.left_out)


def test_coverage_is_measured_of_files_as_they_are_now(shop):
    shop.write({"shop.py": MODEL.partition("\n\n\n")[0] + "\n"})
    found = check_coverage(opened_at(shop), CoverageRequest("1", threshold=99))
    assert (found.source, found.passed, found.coverage.percent) == ("measured", True, 100)


def test_a_failing_test_measures_nothing(shop):
    shop.write({"shop.py": MODEL.replace("sum", "len")})
    found = check_coverage(opened_at(shop), CoverageRequest("1"))
    assert (found.coverage, found.passed) == (None, False)
    assert found.trouble[0].startswith("TC-001")


def test_uncommitted_work_is_what_a_proposal_would_say(shop):
    shop.write({"new.txt": "new\n", "shop.py": "changed\n"})
    (shop.root / "test_shop.py").unlink()
    (shop.root / "link").symlink_to("shop.py")  # nothing is followed, and nothing was there
    with Repository.open(shop.root) as repository:
        found = {one.path: one for one in find_uncommitted(repository)}
        assert WorkTreeSnapshot.of(repository).head == shop.head
    assert {path: one.action for path, one in found.items()} == {
        "new.txt": Action.CREATE,
        "shop.py": Action.MODIFY,
        "test_shop.py": Action.DELETE,
    }
    assert found["new.txt"].content == b"new\n"


# --- ship -----------------------------------------------------------------------------


def test_a_ship_tags_the_commit_that_declares_it(shop, heard):
    done = ship(opened_at(shop), ShipRequest(tag="v1"), heard)
    assert (done.tag, done.commit, done.shortfall) == ("v1", shop.head, None)
    assert shop.git("rev-parse", "v1^{commit}") == done.commit
    assert "this tree was already verified" in heard.all
    assert shop.happened("ship.declared")[0]["tag"] == "v1"
    with pytest.raises(RunnerError, match="already shipped as v1"):
        ship(opened_at(shop), ShipRequest(), heard)


def test_a_tree_that_falls_short_is_not_shipped(shop, heard):
    shop.commit({"shop.py": MODEL.replace("sum", "len")})
    done = ship(opened_at(shop), ShipRequest(tag="v1"), heard)
    assert (done.tag, done.commit) == ("", "")
    assert not done.shortfall.passed
    assert shop.statuses == {"TASK-001": "STALE", "TASK-002": "DONE"}
    assert shop.git("tag") == ""
    assert int(ExitCode.FAILED) in [one["exit"] for one in shop.happened("run.finished")[-2:]]


def test_what_is_not_done_is_not_shipped(shop, heard):
    text = shop.read("TASK-GRAPH.md") + "\n" + a_task("TASK-003", blocks={"b.txt": "b"})
    shop.commit({"TASK-GRAPH.md": text})
    with pytest.raises(RunnerError, match="TASK-003 is not DONE"):
        ship(opened_at(shop), ShipRequest(), heard)
    assert shop.git("tag") == ""


def test_a_done_task_without_its_file_is_not_shipped(shop, heard):
    shop.git("rm", "-q", "test_shop.py")
    shop.git("commit", "-qm", "gone")
    with pytest.raises(RunnerError, match="files of DONE tasks are missing: TASK-001"):
        ship(opened_at(shop), ShipRequest(), heard)


def test_what_is_unproven_is_shipped_only_where_that_is_asked_for(workplace, heard):
    workplace.plan(a_task("TASK-001", blocks={"a.py": "A = 1\n"}))
    assert workplace.run("--no-sandbox").code == 0
    with pytest.raises(RunnerError, match="nothing was shipped: 1 task is unproven"):
        ship(opened_at(workplace), ShipRequest(tag="v1"), heard)
    assert ship(opened_at(workplace), ShipRequest(tag="v1", unproven=True), heard).tag == "v1"


def test_code_that_only_a_check_proves_is_no_strict_ship(workplace, heard):
    workplace.plan(a_task("TASK-001", blocks={"a.py": "A = 1\n"}, tests=["grep -q 1 a.py"]))
    assert workplace.run("--no-sandbox").code == 0
    with pytest.raises(RunnerError, match="code without tests or a contract"):
        ship(opened_at(workplace), ShipRequest(strict=True), heard)
    assert ship(opened_at(workplace), ShipRequest(), heard).tag


def test_a_shipped_branch_is_pushed_and_one_pull_request_opened(shop, heard, tmp_path, monkeypatch):
    forge = Forge(shop, tmp_path, monkeypatch)
    shop.git("switch", "-q", "-c", "work")
    pull = find_request(opened_at(shop))
    done = ship(opened_at(shop), ShipRequest(tag="v1"), heard)
    address = publish_ship(opened_at(shop), pull, done.tag)
    assert address == "https://forge.test/pull/1"
    assert (forge.has("work"), forge.has("v1")) == (done.commit, done.commit)
    (made,) = forge.made
    assert made["words"][2:4] == ["--head", "work"]
    assert "2 tasks DONE, proven together" in made["body"]
    landed = shop.happened("task.landed", "TASK-001")[0]["commit"][:12]
    assert f"| TASK-001 | Total | {landed} | " in made["body"]
    assert publish_ship(opened_at(shop), pull, done.tag) == address
    assert len(forge.made) == 1


def test_no_pull_request_goes_from_the_branch_that_takes_them(shop, tmp_path, monkeypatch):
    Forge(shop, tmp_path, monkeypatch)
    with pytest.raises(RunnerError) as told:
        find_request(opened_at(shop))  # main, of a remote without any branch
    assert told.value.code is ExitCode.PERSON


@pytest.mark.parametrize(
    ("verdict", "counts", "expected"),
    [
        (Verdict.PASS, {"stub": 1, "noticed": 0, "survived": 0}, False),
        (Verdict.PASS, {"stub": 1, "noticed": 1, "survived": 2}, False),
        (Verdict.PASS, {"stub": 1, "noticed": 0, "survived": 3}, True),
        (Verdict.PASS, {"stub": 0, "noticed": 0, "survived": 0}, True),
        (Verdict.SKIPPED, {"stub": 0, "noticed": 0, "survived": 0}, False),
        (Verdict.PASS, {"mutants": 1, "noticed": 1, "survived": 0}, False),
    ],
)
def test_a_strict_ship_knows_what_was_measured_and_not_noticed(verdict, counts, expected):
    row = tuple(counts.items())
    proof = Proof("mutation", "mutation", "", verdict, 0, 1.0, digest_of(b""), None, row)
    assert notices_nothing((proof,)) is expected
