"""Repositories and builds, as they are registered, queued, shown, ended and tried again."""

import json
import subprocess

import pytest
from store_build import a_store
from workers import a_step
from workplace import NO_PROOF

from runner.errors import ExitCode, RunnerError
from runner.extensions.team.build_queue import (
    Asked,
    BuildOrder,
    answer_build,
    cancel_build,
    find_build,
    list_builds,
    queue_build,
    read_build,
    retry_build,
)
from runner.extensions.team.pending_work import ShownWork, list_shown, read_files, write_shown
from runner.extensions.team.projections import find_faults
from runner.extensions.team.repository_list import Registered, find_repository
from runner.repo.clone import (
    find_branches,
    login_variables,
    require_address,
    require_permitted,
    require_within,
)

SHOP = Registered("shop", "/srv/shop.git", "main", "", "", "2026-01-02T00:00:00Z", "ada@here")


def test_a_build_is_queued_with_all_that_was_asked(store):
    made = queue_build(
        store, BuildOrder(SHOP, "ada@here", ("TASK-002",), "", 60.0, 3, ("gpu", "big", "gpu"))
    )
    assert made.branch == f"feature/{made.short}"
    assert (made.tasks, made.tags, made.state) == (("TASK-002",), ("big", "gpu"), "PENDING")
    assert find_build(store, made.short[:6]) == find_build(store, made.id) == made
    other = queue_build(store, BuildOrder(SHOP, "eve@there"))
    assert [one.id for one in list_builds(store, every=False)] == [other.id, made.id]
    assert list_builds(store, "shop", every=True)[1] == made
    assert list_builds(store, "other", every=True) == ()
    (event,) = read_build(store, made).events
    assert (event["type"], event["journal"]) == ("build.queued", made.id)
    assert list(find_faults(store)) == []


def test_the_branch_that_builds_begin_on_is_only_landed_on_where_that_is_meant(store):
    with pytest.raises(RunnerError, match="workers do not land on") as told:
        queue_build(store, BuildOrder(SHOP, "ada", branch="main"))
    assert told.value.code is ExitCode.PERSON
    made = queue_build(store, BuildOrder(SHOP, "ada", branch="main"), default_branch_too=True)
    assert made.branch == "main"


@pytest.mark.parametrize("name", ["-x", "a..b", "a//b", "a/", "x.lock", "a b", "a/.b"])
def test_what_is_no_branch_is_not_queued(store, name):
    with pytest.raises(RunnerError, match="invalid branch name"):
        queue_build(store, BuildOrder(SHOP, "ada", branch=name))
    assert list_builds(store, every=True) == ()


def test_a_build_that_waits_is_cancelled_at_once_and_tried_again(store):
    made = queue_build(store, BuildOrder(SHOP, "ada"))
    answer_build(store, made, ("approve", "TASK-001", ""), "eve")
    assert cancel_build(store, made, "eve") == "CANCELLED"
    seen = read_build(store, made)
    assert (seen.build.state, seen.build.note) == ("CANCELLED", "cancelled by eve")
    assert seen.answers[0]["outcome"] == "the build was cancelled"
    with pytest.raises(RunnerError, match="is already CANCELLED"):
        cancel_build(store, made, "eve")
    with pytest.raises(RunnerError, match="it has nothing to answer"):
        answer_build(store, made, ("approve", "TASK-001", ""), "eve")
    retry_build(store, seen.build, "ada")
    assert find_build(store, made.id).state == "PENDING"
    with pytest.raises(RunnerError, match="is PENDING"):
        retry_build(store, seen.build, "ada")
    with pytest.raises(RunnerError, match="needs a reason"):
        answer_build(store, made, ("reject", "TASK-001", ""), "eve")
    assert list(find_faults(store)) == []


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c true",
        "ext::true",
        "fd::17",
        "--upload-pack=true",
        "-oProxyCommand=true",
        "ssh://-oProxyCommand=true/x",
        "rsync://host/x",
        "",
        "a\nb",
        "https://[::1/a.git",
        "https://exa\u2100mple.org/a.git",
    ],
)
def test_an_address_that_could_run_something_is_refused(address):
    with pytest.raises(RunnerError):
        require_address(address)


def test_a_token_in_the_place_of_a_name_is_refused_and_not_repeated():
    leaked = "ghp_" + "aB3dE6gH9" * 4
    with pytest.raises(RunnerError, match="must not contain a password") as told:
        require_address(f"https://{leaked}@host/a.git")
    assert leaked not in f"{told.value.message} {told.value.where} {told.value.hint}"
    assert require_address("https://acme@host/a.git") == "https://acme@host/a.git"


def test_a_name_that_no_file_can_have_is_still_an_address():
    assert require_address(f"git@host:{'a' * 5000}") == f"git@host:{'a' * 5000}"
    assert require_address("~nobody-of-this-name/a").endswith("/~nobody-of-this-name/a")


def test_addresses_that_git_is_asked_by(tmp_path):
    for good in ("git@host:a/b.git", "ssh://git@host/a", "https://host/a.git"):
        assert require_address(good) == good
    assert require_address(str(tmp_path)) == str(tmp_path)
    word = "https://ada:" + "x" * 9 + "@host/a.git"
    with pytest.raises(RunnerError, match="contain a password") as told:
        require_address(word)
    assert told.value.where == ""


def test_a_credential_is_told_to_its_host_alone(alone):
    token = {"SHOP_TOKEN": "t0", "HOME": str(alone)}
    told = login_variables("https://host/a.git", "SHOP_TOKEN", token)
    assert told["GIT_CONFIG_KEY_0"] == "credential.https://host.helper"
    assert "t0" not in str(told)
    fill = subprocess.run(
        ["git", "credential", "fill"],
        input="protocol=https\nhost=host\n\n",
        env={**token, **told, "PATH": "/usr/bin:/bin", "GIT_TERMINAL_PROMPT": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "password=t0\n" in fill.stdout
    for address, name in (("git@host:a", "SHOP_TOKEN"), ("https://host/a", "a; b")):
        with pytest.raises(RunnerError, match="name of a variable"):
            login_variables(address, name, token)
    with pytest.raises(RunnerError, match="is not set"):
        login_variables("https://host/a", "OTHER", token)


@pytest.mark.parametrize(
    ("address", "permitted"),
    [
        ("https://evil.example/a.git", ("SHOP_TOKEN@forge.example",)),
        ("https://forge.example:8443/a.git", ("SHOP_TOKEN@forge.example",)),
        ("https://forge.example@evil.example/a.git", ("SHOP_TOKEN@forge.example",)),
        ("https://forge.example/a.git", ("OTHER@forge.example",)),
        ("https://forge.example/a.git", ()),
        ("git@forge.example:a.git", ("SHOP_TOKEN@forge.example",)),
    ],
)
def test_a_token_is_told_to_no_host_that_its_owner_did_not_name(address, permitted):
    with pytest.raises(RunnerError, match="do not allow sending SHOP_TOKEN to") as told:
        require_permitted(address, "SHOP_TOKEN", permitted)
    assert "team.worker_credentials = " in told.value.hint


@pytest.mark.parametrize(
    "address",
    [
        *("/srv/other/shop.git", "file:///srv/other/shop.git", "/srv/git/../other/shop.git"),
        *("file://srv/other/shop.git", "file:///srv/g%69t/..%2fother", "file:///srv/git?/x"),
        *("{inside}/link", "/srv/gitting/shop.git", "FILE:///srv/other"),
    ],
)
def test_a_path_of_a_workers_machine_is_refused_where_its_owner_named_no_folder(address, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to("/srv/other")
    named = address.format(inside=tmp_path / "inside")
    with pytest.raises(
        RunnerError, match="do not allow building a repository in this folder"
    ) as told:
        require_within(named, ("/srv/git", str(tmp_path / "inside")))
    assert "team.worker_folders = " in told.value.hint


def test_below_a_folder_that_its_owner_named_and_elsewhere_it_is_built(tmp_path):
    for address in ("/srv/git/shop.git", "file:///srv/git/shop.git", "file://srv/git/a%20b"):
        require_within(address, ("/srv/git",))
    for address in ("git@forge.example:a.git", "https://forge.example/srv/x", "ssh://h/srv/x"):
        require_within(address, ())


def test_it_is_told_to_the_one_that_was_named_and_none_is_asked_for_where_none_is_needed():
    require_permitted("https://forge.example/a.git", "SHOP_TOKEN", ("SHOP_TOKEN@forge.example",))
    require_permitted("https://evil.example/a.git", "", ())


def test_no_configuration_of_the_folder_around_is_heeded(workplace, tmp_path, monkeypatch):
    workplace.commit({"a": "1"})
    witness = tmp_path / "witness"
    workplace.git("config", "core.sshCommand", f"touch {witness};")
    workplace.git("config", f"url.ext::touch {witness}.insteadOf", str(tmp_path / "gone"))
    monkeypatch.chdir(workplace.root)
    import os

    with pytest.raises(RunnerError, match="does not answer"):
        find_branches(str(tmp_path / "gone"), os.environ)
    default, branches = find_branches(str(workplace.root), os.environ)
    assert (default, list(branches)) == ("main", ["main"])
    assert not witness.exists()


def test_the_commands_register_queue_and_show(workplace, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNNER_TEAM_WORKER_FOLDERS", str(tmp_path))
    bare = tmp_path / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
    workplace.runner("store", "init")
    empty = workplace.runner("repo", "add", str(bare))
    assert (empty.code, "the repository has no branches" in empty.err) == (2, True)
    workplace.commit({"a": "1"})
    workplace.git("push", "-q", str(bare), "main")
    assert workplace.runner("repo", "add", str(bare)).out.startswith(f"shop: {bare}, main at ")
    assert workplace.runner("repo", "add", str(bare)).code == 6
    wrong = workplace.runner("repo", "add", str(bare), "--branch", "mian", "--name", "x")
    assert "unknown branch mian" in wrong.err
    subprocess.run(["git", "-C", bare, "symbolic-ref", "HEAD", "refs/heads/trunk"], check=True)
    unborn = workplace.runner("repo", "add", str(bare), "--name", "y")
    assert "the repository's HEAD names no existing branch" in unborn.err
    assert "hint: --branch NAME: main" in unborn.err
    assert workplace.runner("repo", "check").code == 0
    (known,) = workplace.runner("repo", "list", "--json").document["repositories"]
    assert (known["name"], known["branch"]) == ("shop", "main")

    done = workplace.runner("queue", "shop", "--task", "TASK-001", "--priority", "2", "--json")
    build = done.document["build"]
    short = build["branch"].removeprefix("feature/")
    assert (build["tasks"], build["priority"], build["state"]) == (["TASK-001"], 2, "PENDING")
    assert workplace.runner("queue", "shpo").code == 2
    assert f"{short}  PENDING    shop" in workplace.runner("queue", "list").out
    assert workplace.runner("queue", "show", short[:8]).out.count("build.queued") == 1
    assert workplace.runner("repo", "remove", "shop").code == 6
    assert workplace.runner("queue", "cancel", short).out == f"{short} is cancelled\n"
    assert workplace.runner("queue", "list").out == "nothing is queued\n"
    (one,) = workplace.runner("queue", "list", "--all", "--json").document["builds"]
    assert one["state"] == "CANCELLED"
    assert workplace.runner("repo", "remove", "shop").code == 0
    assert workplace.runner("repo", "list").out == "no repository yet: runner team repo add URL\n"
    bare.rename(tmp_path / "moved")
    assert workplace.runner("store", "check").code == 0


def test_a_repository_that_is_gone_is_told_by_check(workplace, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNNER_TEAM_WORKER_FOLDERS", str(tmp_path))
    bare = tmp_path / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
    workplace.commit({"a": "1"})
    workplace.git("push", "-q", str(bare), "main")
    workplace.runner("store", "init")
    workplace.runner("repo", "add", str(bare))
    bare.rename(tmp_path / "moved")
    told = workplace.runner("repo", "check")
    assert (told.code, "does not answer" in told.out) == (1, True)


def test_a_name_that_is_none_is_told(tmp_path):
    with a_store(f"sqlite:///{tmp_path / 's'}") as store:
        with pytest.raises(RunnerError, match="unknown repository 'sho'"):
            find_repository(store, "sho")
        for wrong in ("", "%", "zz/"):
            with pytest.raises(RunnerError, match="is not a valid build ID"):
                find_build(store, wrong)
        with pytest.raises(RunnerError, match="unknown build 'abc'"):
            find_build(store, "abc")


REVIEWED = (NO_PROOF, "Review: prompt")


def shown_event(workers, build):
    (row,) = [
        one for one in read_build(workers.store, build).events if one["type"] == "build.answered"
    ]
    with workers.store.read() as connection:
        from runner.extensions.team.event_rows import read_lines

        return json.loads(read_lines(connection, build.id)[row["seq"] - 1])


def test_an_answer_is_of_what_was_shown_and_of_nothing_else(workers):
    shop = workers.repository("shop", a_step(1, fields=REVIEWED), a_step(2, fields=REVIEWED))
    build = workers.queue(shop)
    workers.work()
    waiting = workers.build(build)
    assert waiting.waits == "TASK-001, TASK-002", workers.log()
    first, second = list_shown(workers.store, build.id)
    assert (first.item, first.document["kind"], first.answered) == ("TASK-001", "writes", "")
    assert first.document["signs"] == ["writes", "unproven"]
    ((change, before, whole),) = read_files(first.document)
    assert (change.path, change.content, before, whole) == ("made/001", b"1\n", None, True)

    for wrong in (Asked("page", "sha256:0"), Asked("page", second.seen)):
        with pytest.raises(RunnerError, match="changed since it was shown") as told:
            answer_build(workers.store, waiting, ("approve", "TASK-001", ""), "eve", wrong)
        assert told.value.code is ExitCode.CONFLICT
    with pytest.raises(RunnerError, match="has nothing to approve"):
        answer_build(workers.store, waiting, ("approve", "TASK-009", ""), "eve", Asked("page", "x"))
    assert read_build(workers.store, waiting).answers == ()

    seen = Asked("page", first.seen)
    answer_build(workers.store, waiting, ("approve", "TASK-001", ""), "eve", seen)
    with pytest.raises(RunnerError, match="TASK-001 was already answered by eve"):
        answer_build(workers.store, waiting, ("reject", "TASK-001", "no"), "bob", seen)
    assert [one.answered for one in list_shown(workers.store, build.id)] == ["eve", ""]
    told = shown_event(workers, build)
    assert (told["by"], told["via"], told["word"], told["task"]) == (
        *("eve", "page", "approve"),
        "TASK-001",
    )
    workers.work()
    assert workers.landings(build) == ["TASK-001"]
    (left,) = list_shown(workers.store, build.id)
    assert (left.item, left.answered) == ("TASK-002", "")
    answer_build(
        workers.store,
        workers.build(build),
        ("approve", "TASK-002", ""),
        "eve",
        Asked("page", left.seen),
    )
    workers.work()
    assert workers.build(build).state == "COMPLETED"
    assert list_shown(workers.store, build.id) == ()
    assert workers.faults == []


def test_what_moved_in_the_clone_is_not_approved_by_an_older_look(workers):
    """The store is the worker's word of before: the clone has the last one."""
    shop = workers.repository("shop", a_step(1, fields=REVIEWED))
    build = workers.queue(shop)
    workers.work()
    (one,) = list_shown(workers.store, build.id)
    forged = ShownWork(one.item, "sha256:1", one.document)
    with workers.store.write() as connection:
        write_shown(connection, build.id, [forged])
    answer_build(
        workers.store,
        workers.build(build),
        ("approve", "TASK-001", ""),
        "eve",
        Asked("page", "sha256:1"),
    )
    workers.work()
    done = read_build(workers.store, build)
    assert done.answers[0]["outcome"] == "not applied: TASK-001 changed since you saw it"
    assert (done.build.waits, workers.landings(build)) == ("TASK-001", [])
    assert [it.seen for it in list_shown(workers.store, build.id)] == [one.seen]


def test_a_file_that_is_too_large_is_said_to_be_and_a_build_that_ended_shows_nothing(tmp_path):
    from test_people import SHOP

    from runner.extensions.team.build_queue import BuildOrder, queue_build
    from runner.extensions.team.pending_work import MOST, _describe_files
    from runner.model import Action, Change

    large = Change("a", Action.CREATE, 0o100644, None, None, b"x" * (MOST + 1))
    small = Change("b", Action.CREATE, 0o100644, None, None, b"\0\xff")
    rows = _describe_files([(small, None), (large, None)])
    found = read_files({"files": json.loads(json.dumps(rows))})
    assert [(one.path, one.content, whole) for one, _, whole in found] == [
        ("b", b"\0\xff", True),
        ("a", None, False),
    ]
    with a_store(f"sqlite:///{tmp_path / 's'}") as store:
        build = queue_build(store, BuildOrder(SHOP, "ada"))
        with store.write() as connection:
            write_shown(connection, build.id, [ShownWork("TASK-001", "s", {})])
        cancel_build(store, build, "ada")
        assert list_shown(store, build.id) == ()
