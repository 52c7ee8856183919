"""What a run leaves is stored behind it: it waits for no bucket; the next says what waits."""

import time

import pytest
from workplace import NO_PROOF, a_task

pytest.importorskip("obstore")

PATIENCE = 60


def until(happened):
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def stored(workplace):
    return [event["path"] for event in workplace.happened("artifact.stored")]


def a_file(id_, path):
    return a_task(id_, blocks={path: "words\n"}, fields=(NO_PROOF,))


def test_a_run_and_a_ship_are_stored_once_they_are_over(workplace, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNNER_ARTIFACTS_STORE", str(tmp_path / "kept"))
    workplace.plan(a_file("TASK-001", "a.txt"))
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert "in the background: runner team artifacts list" in ended.said
    until(lambda: "metadata.json" in stored(workplace))
    shipped = workplace.runner("ship", "--unproven")
    assert shipped.code == 0, shipped.said
    until(lambda: stored(workplace).count("metadata.json") == 2)
    runs = sorted(path.name for path in (tmp_path / "kept/shop").iterdir())
    assert len(runs) == 2
    patch = tmp_path / "kept/shop" / runs[1] / "patches/final.patch"
    until(patch.is_file)
    assert "+++ b/a.txt" in patch.read_text()
    assert workplace.dirt == []


def test_a_run_does_not_wait_for_a_bucket_that_hangs(workplace, monkeypatch):
    from bucket_server import hung_server, login

    monkeypatch.setenv("RUNNER_ARTIFACTS_STORE", "s3://kept/runs")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", login()["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", login()["aws_secret_access_key"])
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    workplace.plan(a_file("TASK-001", "a.txt"))
    with hung_server() as (address, heard):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        ended = workplace.run("--no-sandbox")
        assert ended.code == 0, ended.said
        until(lambda: heard)
        assert stored(workplace) == []
        assert workplace.statuses["TASK-001"] == "DONE"
    cache = next(workplace.home.rglob("store.lock")).parent
    until((cache / "trouble.txt").exists)
    workplace.plan(a_file("TASK-001", "a.txt"), a_file("TASK-002", "b.txt"))
    again = workplace.run("--no-sandbox")
    assert again.code == 0, again.said
    assert "retrying to store artifacts of earlier runs" in again.said
    listed = workplace.runner("artifacts", "list", "--json").document
    assert {one["state"] for one in listed["artifacts"]} == {"waits"}
