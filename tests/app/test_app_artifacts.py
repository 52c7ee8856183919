"""What a run leaves goes to a store once, looked through, whatever stops it on the way."""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import zipfile

import pytest
from bucket_server import BUCKET, bucket_server, hung_server, told
from built import build, copy, opened_at
from workplace import a_task

from runner import effects
from runner.app.artifacts import artifact_store
from runner.app.artifacts.artifact_export import (
    export_artifacts,
    fetch_artifacts,
    key_of_run,
    list_artifacts,
    read_cursor,
    read_trouble,
)
from runner.app.artifacts.artifact_store import open_store
from runner.errors import ExitCode, RunnerError
from runner.project import Project

CODE = "def total(prices):\n    if not prices:\n        return 0\n    return sum(prices)\n"
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
PATHS = {
    "analysis/dependency-graph.json",
    "analysis/scope-analysis.json",
    "journal.jsonl",
    "metadata.json",
    "patches/TASK-001.patch",
    "patches/TASK-002.patch",
    "patches/final.patch",
    "verification/coverage-html.zip",
    "verification/coverage.xml",
    "verification/findings.sarif",
    "verification/junit.xml",
}


class Killed(BaseException):
    """What a test ends a process with at an effect."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(
        tmp_path_factory.mktemp("built"),
        a_task(
            "TASK-001",
            "Totals",
            blocks={"shop.py": CODE, "test_shop.py": TEST},
            tests=["python3 -m pytest -q test_shop.py"],
            fields=["Coverage: 60 %"],
        ),
        a_task("TASK-002", "Words", blocks={"words.md": "words\n"}, fields=["Proof: none — words"]),
        files={"runner.toml": 'proof.mutation = "off"\n'},
    )


@pytest.fixture
def place(built, tmp_path, alone):
    return copy(built, tmp_path / "shop", alone)


@pytest.fixture(scope="module")
def bucket():
    with bucket_server() as address:
        yield address


@pytest.fixture
def in_bucket(bucket, monkeypatch, tmp_path):
    for name, value in told(bucket).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{tmp_path.name}"


def push(place, store, **flags):
    return export_artifacts(opened_at(place, artifacts_store=store, **flags), lambda _line: None)


def keys(place, store):
    return open_store(store, place.root, os.environ).list_keys("")


def stored(place):
    return {event["path"]: event for event in place.happened("artifact.stored")}


def test_a_folder_gets_everything_of_a_run_with_its_digests(place, tmp_path):
    kept = tmp_path / "kept"
    done = push(place, str(kept))
    (run,) = done.runs
    folder = kept / "shop" / run
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    logs = {path for path in there if path.startswith("verification/logs/")}
    assert there - logs == PATHS
    assert "verification/logs/TASK-001/1/TC-001.log" in logs
    said = json.loads((folder / "metadata.json").read_bytes())
    assert (said["exit"], said["refused"], said["tasks"]) == (0, [], ["TASK-001", "TASK-002"])
    for one in said["files"]:
        content = (folder / one["path"]).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (one["sha256"], one["bytes"])
    events = stored(place)
    assert set(events) == there
    assert list(events)[-1] == "metadata.json"
    assert {event["run"] for event in events.values()} == {run}
    assert events["journal.jsonl"]["sha256"] in {one["sha256"] for one in said["files"]}


def test_patches_give_the_work_again_on_the_commit_that_the_run_began_on(place, tmp_path):
    (run,) = push(place, str(tmp_path / "kept")).runs
    folder = tmp_path / "kept/shop" / run
    base = json.loads((folder / "metadata.json").read_bytes())["base"]
    for how, names in (("am", ["TASK-001", "TASK-002"]), ("apply", ["final"])):
        clone = tmp_path / how
        subprocess.run(["git", "clone", "-q", place.root, clone], check=True)
        subprocess.run(["git", "checkout", "-q", base], cwd=clone, check=True)
        for name in names:
            words = ["git", "-c", "user.name=A", "-c", "user.email=a@b.example", how, "-q"]
            words = [word for word in words if how == "am" or word != "-q"]
            file = folder / f"patches/{name}.patch"
            subprocess.run([*words, file], cwd=clone, check=True, capture_output=True)
        assert (clone / "shop.py").read_text() == CODE
        assert (clone / "words.md").read_text() == "words\n"


def test_analysis_and_reports_say_what_the_plan_and_its_proofs_say(place, tmp_path):
    (run,) = push(place, str(tmp_path / "kept")).runs
    folder = tmp_path / "kept/shop" / run
    graph = json.loads((folder / "analysis/dependency-graph.json").read_bytes())
    assert [node["id"] for node in graph["nodes"]] == ["TASK-001", "TASK-002"]
    scope = json.loads((folder / "analysis/scope-analysis.json").read_bytes())
    assert scope["tasks"][0]["wrote"] == ["shop.py", "test_shop.py"]
    assert 'tests="' in (folder / "verification/junit.xml").read_text()
    assert json.loads((folder / "verification/findings.sarif").read_bytes())["version"] == "2.1.0"
    xml = (folder / "verification/coverage.xml").read_text()
    assert '<line number="3" hits="0"' in xml
    assert '<line number="4" hits="1"' in xml
    packed = zipfile.ZipFile(io.BytesIO((folder / "verification/coverage-html.zip").read_bytes()))
    assert packed.namelist()[0] == "index.html"
    assert '<pre class="n">    3          return 0' in packed.read("1.html").decode()


def test_a_bucket_gets_the_same_and_gives_it_back(place, in_bucket, tmp_path):
    done = push(place, in_bucket)
    assert done.stored == len(keys(place, in_bucket)) >= len(PATHS)
    project = opened_at(place, artifacts_store=in_bucket)
    got = fetch_artifacts(project, "", (), tmp_path / "got")
    assert got.run == done.runs[0]
    assert (tmp_path / "got/patches/final.patch").read_bytes().startswith(b"diff --git")
    told_here, told_there = list_artifacts(project), list_artifacts(project, remote=True)
    by_path = {one.path: one.sha256 for one in told_here}
    del by_path["metadata.json"]
    assert {one.path: one.sha256 for one in told_there if one.path in by_path} == by_path


def test_a_second_go_stores_nothing_again(place, in_bucket):
    first = push(place, in_bucket)
    assert first.stored
    again = push(place, in_bucket)
    assert (again.stored, again.runs, again.standing) == (0, [], [])


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_an_object_that_is_there_with_other_bytes_stays_and_is_told(place, kind, tmp_path, request):
    store = str(tmp_path / "kept") if kind == "folder" else request.getfixturevalue("in_bucket")
    (run,) = read_cursor(opened_at(place, artifacts_store=store)).waiting
    key = f"shop/{run}/patches/final.patch"
    there = open_store(store, place.root, os.environ)
    assert there.put_new(key, b"somebody's own")
    assert not there.put_new(key, b"ours")
    done = push(place, store)
    assert (done.standing, done.runs) == ([key], [])
    assert there.get(key) == b"somebody's own"
    assert f"shop/{run}/metadata.json" not in keys(place, store)
    assert key in read_trouble(opened_at(place, artifacts_store=store))
    ended = place.runner("artifacts", "push", "--store", store)
    assert ended.code == ExitCode.CONFLICT
    assert "nothing was overwritten" in ended.err


@pytest.mark.parametrize("at", ["before", "after"])
def test_killed_between_two_uploads_it_goes_on_where_it_was(place, tmp_path, at, monkeypatch):
    """With the object there and no event of it, and with neither."""
    store = str(tmp_path / "kept")
    done = []
    put_new = artifact_store.FolderStore.put_new

    def dying(self, key, content):
        if len(done) == 3 and at == "before":
            raise Killed
        put = put_new(self, key, content)
        done.append(key)
        if len(done) == 4 and at == "after":
            raise Killed
        return put

    with monkeypatch.context() as patch:
        patch.setattr(artifact_store.FolderStore, "put_new", dying)
        with pytest.raises(Killed):
            push(place, store)
    assert len(stored(place)) == 3
    before = {key: (tmp_path / "kept" / key).stat().st_ino for key in keys(place, store)}
    finished = push(place, store)
    assert finished.is_whole
    assert len(finished.runs) == 1
    events = place.happened("artifact.stored")
    assert len({event["path"] for event in events}) == len(events) == len(keys(place, store))
    assert (
        before.items()
        <= {key: (tmp_path / "kept" / key).stat().st_ino for key in keys(place, store)}.items()
    )


def test_killed_and_its_cache_swept_what_is_stored_keeps_its_digest(place, tmp_path, monkeypatch):
    """What is laid out anew differs: the journal tells of more by then."""
    store = str(tmp_path / "kept")
    put_new = artifact_store.FolderStore.put_new

    def dying(self, key, content):
        if key.endswith(".patch"):
            raise Killed
        return put_new(self, key, content)

    with monkeypatch.context() as patch:
        patch.setattr(artifact_store.FolderStore, "put_new", dying)
        with pytest.raises(Killed):
            push(place, store)
    assert "journal.jsonl" in stored(place)
    project = opened_at(place, artifacts_store=store)
    shutil.rmtree(project.cache / "artifacts")
    (run,) = push(place, store).runs
    fetched = fetch_artifacts(project, run, (), tmp_path / "got")
    assert set(fetched.paths) >= PATHS


def test_killed_at_every_effect_it_ends_the_same(built, tmp_path, alone):
    """Cut off at each write, rename and fsync, then told to go on."""
    steps = []
    effects.watch(lambda kind, _target: steps.append(kind))
    watch = effects._watches[-1]
    whole = copy(built, tmp_path / "whole" / "shop", alone)
    push(whole, str(tmp_path / "whole/kept"))
    effects.unwatch(watch)
    paths = sorted(stored(whole))
    for stop in range(0, len(steps), max(1, len(steps) // 12)):
        place = copy(built, tmp_path / str(stop) / "shop", alone)
        seen = []

        def die(kind, _target, seen=seen, stop=stop):
            seen.append(kind)
            if len(seen) == stop:
                raise Killed

        effects.watch(die)
        try:
            push(place, str(tmp_path / str(stop) / "kept"))
        except Killed:
            pass
        finally:
            effects.unwatch(die)
        push(place, str(tmp_path / str(stop) / "kept"))
        assert sorted(event["path"] for event in place.happened("artifact.stored")) == paths, stop


def test_an_artifact_with_a_secret_does_not_leave_and_the_others_do(place, tmp_path):
    log = place.root / "artifacts/build/logs/TASK-001/1/TC-001.log"
    log.write_text(f"key {AWS}\n")
    done = push(place, str(tmp_path / "kept"))
    (refused,) = done.refused
    assert refused.path == "verification/logs/TASK-001/1/TC-001.log"
    assert AWS not in refused.why
    (run,) = done.runs
    for path in (tmp_path / "kept").rglob("*"):
        assert not path.is_file() or AWS.encode() not in path.read_bytes()
    project = opened_at(place, artifacts_store=str(tmp_path / "kept"))
    (listed,) = [one for one in list_artifacts(project, remote=True) if one.state == "refused"]
    assert listed.path == refused.path
    with pytest.raises(RunnerError, match="file not found in this run") as caught:
        fetch_artifacts(project, run, [refused.path], tmp_path / "got")
    assert "it was not stored" in caught.value.hint


AWS = "AKIA" + base64.b32encode(hashlib.sha256(b"a stand-in").digest()).decode()[:16]


def test_a_declared_value_does_not_leave_in_any_form(built, tmp_path, alone, monkeypatch):
    place = copy(built, tmp_path / "shop", alone)
    place.edit_plan("- Coverage: 60 %", "- Coverage: 60 %\n- Requires: secret SHOP_KEY")
    value = "correct horse battery"
    monkeypatch.setenv("SHOP_KEY", value)
    log = place.root / "artifacts/build/logs/TASK-001/1/TC-001.log"
    log.write_text(f"it was {value.encode().hex()}\n")
    done = push(place, str(tmp_path / "kept"))
    assert [one.why for one in done.refused] == [
        "it contains the value of the secret SHOP_KEY (line 1)"
    ]


def test_a_hung_bucket_is_given_up_told_and_tried_again(
    place, monkeypatch, tmp_path, in_bucket, bucket
):
    monkeypatch.setattr(artifact_store, "_SECONDS", 1.0)
    with hung_server() as (address, heard):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        with pytest.raises(RunnerError, match="cannot read or write the artifact store") as caught:
            push(place, in_bucket)
        assert heard
    assert "runner team artifacts push" in caught.value.hint
    project = opened_at(place, artifacts_store=in_bucket)
    assert "cannot read or write the artifact store" in read_trouble(project)
    assert {one.state for one in list_artifacts(project)} == {"waits"}
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket)
    monkeypatch.setattr(artifact_store, "_SECONDS", 60.0)
    assert push(place, in_bucket).runs
    assert read_trouble(project) == ""


def test_fetched_bytes_are_held_against_their_digests(place, tmp_path):
    store = tmp_path / "kept"
    (run,) = push(place, str(store)).runs
    (store / "shop" / run / "journal.jsonl").write_bytes(b"forged\n")
    project = opened_at(place, artifacts_store=str(store))
    with pytest.raises(RunnerError, match="does not match its digest"):
        fetch_artifacts(project, run, ["journal.jsonl"], tmp_path / "got")
    assert not (tmp_path / "got/journal.jsonl").exists()


@pytest.mark.parametrize("path", ["../../outside.txt", ".git/info/attributes", "logs/.envrc"])
def test_a_store_that_lies_about_paths_writes_nothing_outside(place, tmp_path, path):
    store = tmp_path / "kept"
    (run,) = push(place, str(store)).runs
    metadata = store / "shop" / run / "metadata.json"
    said = json.loads(metadata.read_bytes())
    said["files"].append({"path": path, "sha256": "", "bytes": 1})
    metadata.write_text(json.dumps(said))
    lie = metadata.parent / path
    lie.parent.mkdir(parents=True, exist_ok=True)
    lie.write_text("x")
    project = opened_at(place, artifacts_store=str(store))
    with pytest.raises(RunnerError, match="not a valid artifact path"):
        fetch_artifacts(project, run, (), tmp_path / "a/b/got")
    assert not (tmp_path / "a/outside.txt").exists()


def test_what_lies_in_the_way_of_a_fetched_file_stays(place, tmp_path):
    (run,) = push(place, str(tmp_path / "kept")).runs
    project = opened_at(place, artifacts_store=str(tmp_path / "kept"))
    mine = tmp_path / "got/journal.jsonl"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(RunnerError, match="a different file already exists"):
        fetch_artifacts(project, run, ["journal.jsonl"], tmp_path / "got")
    assert mine.read_text() == "mine"


def test_a_repository_names_a_folder_of_its_own_and_no_place_outside(place, tmp_path):
    for text in ("s3://elsewhere/x", "/tmp/elsewhere", "../elsewhere", "~/elsewhere"):
        place.write({"runner.toml": f'[artifacts]\nstore = "{text}"\n'})
        project = opened_at(place)
        assert project.settings.artifacts.store == ""
        assert "only your own settings" in project.loaded.notes[0]
    place.write({"runner.toml": '[artifacts]\nstore = "artifacts/kept"\n'})
    assert push(place, "artifacts/kept").runs
    place.git("add", "-A")
    assert not [line for line in place.dirt if "kept" in line]
    (place.root / "link").symlink_to(tmp_path)
    with pytest.raises(RunnerError, match="in the way"):
        open_store("link/x", place.root, os.environ).put_new("a", b"a")
    for text in (".git/hooks", ".GIT/x", "."):
        with pytest.raises(RunnerError, match="not a valid folder for artifacts"):
            open_store(text, place.root, os.environ)


@pytest.mark.parametrize(
    "text", ["s3://", "s3://Bucket", "gs://a/b", f"s3://key:{'word'}@bucket/x", "s3://bucket/x?y=1"]
)
def test_a_store_that_is_none_is_refused_with_words(place, text):
    with pytest.raises(RunnerError, match="s3://BUCKET/PREFIX"):
        opened_at(place, artifacts_store=text)


def test_only_one_process_stores_at_a_time(place, tmp_path):
    from runner.app.artifacts.artifact_export import _only_one

    project = opened_at(place, artifacts_store=str(tmp_path / "kept"))
    with _only_one(project), pytest.raises(RunnerError, match="another process"):
        push(place, str(tmp_path / "kept"))


def test_the_command_lists_fetches_and_answers_in_json(place, tmp_path):
    store = str(tmp_path / "kept")
    assert place.runner("artifacts", "list").err == "no artifact store is set\n"
    assert "no artifact store is set" in place.runner("artifacts", "push").err
    waits = place.runner("artifacts", "list", "--store", store, "--json").document
    assert [one["state"] for one in waits["artifacts"]] == ["waits"]
    pushed = place.runner("artifacts", "push", "--store", store, "--json").document
    listed = place.runner("artifacts", "list", "--store", store, "--json").document
    assert len(listed["artifacts"]) == pushed["stored"]
    to = str(tmp_path / "got")
    words = ("artifacts", "get", "patches/final.patch", "--store", store, "--to", to)
    got = place.runner(*words, "--json").document
    assert got["paths"] == ["patches/final.patch"]
    text = place.runner("artifacts", "list", pushed["runs"][0][:13], "--store", store).out
    assert "patches/TASK-001.patch" in text
    unknown = place.runner("artifacts", "get", "ffff", "--store", store)
    assert (unknown.code, "run not found in the store" in unknown.err) == (2, True)


@pytest.mark.parametrize(
    ("url", "folder", "name"),
    [
        ("git@forge.example:acme/shop.git", "", "shop"),
        ("https://forge.example/acme/shop/", "", "shop"),
        ("/srv/git/shop.git", "", "shop"),
        ('"ssh://forge.example/acme/shop.git"', "", "shop"),
        ("https://forge.example/acme/shop", "web", "shop-web"),
        ("", "", "repository"),
    ],
)
def test_a_project_is_called_as_its_remote_wherever_it_was_cloned_to(
    tmp_path, alone, url, folder, name
):
    """A worker's clone is in a folder that says nothing, and a person looks from another one."""
    root = tmp_path / "repository"
    (root / folder).mkdir(parents=True)
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / folder / "TASK-GRAPH.md").write_text("# Shop\n")
    said = f'[remote "other"]\n\turl = x/other.git\n[remote "origin"]\n\turl = {url}\n'
    if url:
        with (root / ".git/config").open("a") as file:
            file.write(f"{said}\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
    project = Project.open(root / folder, os.environ, plan_needed=False)
    assert project.name == name
    assert key_of_run(project, "r") == f"{name}/r"
