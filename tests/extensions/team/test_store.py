"""The store: one schema on both servers, whole copies, and projections that are drawn anew."""

import contextlib
import os
import threading
from datetime import timedelta

import pytest
from sqlalchemy import make_url, text
from workers import a_step

from runner import effects
from runner.errors import RunnerError
from runner.extensions.team import store_engine
from runner.extensions.team.build_claim import write_mine
from runner.extensions.team.build_queue import cancel_build, find_build, read_build, retry_build
from runner.extensions.team.event_rows import (
    add_lines,
    draw_state,
    find_last_seq,
    fold_own,
    list_journals,
    note_event,
    read_lines,
    refine,
)
from runner.extensions.team.projections import find_faults, rebuild
from runner.extensions.team.store_engine import (
    StoreDownError,
    clock,
    find_address,
    hide_password,
    name_place,
    open_engine,
    open_store,
    read_revision,
)
from runner.extensions.team.store_upkeep import (
    NOTHING,
    back_up,
    count_pruned,
    downgrade_schema,
    prune_copies,
    restore,
    upgrade_schema,
)
from runner.extensions.team.tables import REVISION, builds, events, metadata, repositories
from runner.journal.events import ModeSwitched, Record
from runner.journal.records import encode
from runner.project import JOURNAL

ADA = "ada:geheim"
SHOP = {"name": "shop", "url": "/srv/shop.git", "branch": "main", "plan": ""}
SHOP |= {"credential": "", "added": "2026-01-02T00:00:00Z", "by": "ada"}


def a_build(number, **fields):
    texts = (
        "url",
        "credential",
        "base",
        "plan",
        "tasks",
        "tags",
        "spec",
        "by",
        "queued",
        "worker",
        "host",
        "waits",
    )
    more = ("cancelled_by", "place", "head", "note", "wish")
    return {
        **dict.fromkeys((*texts, *more), ""),
        "tags": "[]",
        "tasks": "[]",
        "id": f"b{number:04}",
        "repository": "shop",
        "branch": f"feature/{number}",
        "state": "PENDING",
        "priority": 0,
        "timeout": 0.0,
        "token": 0,
        "attempts": 0,
        "lease_until": 0.0,
        "free_at": 0.0,
        "spent": 0.0,
        "claimed_at": 0.0,
        **fields,
    }


def fill(store, *rows):
    with store.write() as connection:
        connection.execute(repositories.insert().values(**SHOP))
        for row in rows:
            connection.execute(builds.insert().values(**row))
            note_event(connection, row["id"], "build.queued", {"by": "ada"})


def content(store):
    with store.read() as connection:
        return {
            name: [tuple(row) for row in connection.execute(metadata.tables[name].select())]
            for name in store_engine.list_tables()
        }


def test_the_steps_lead_to_the_tables_that_the_code_knows(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store.write() as connection:
        found = compare_metadata(MigrationContext.configure(connection), metadata)
        assert [one for one in found if "alembic_version" not in str(one)] == []
    assert read_revision(store) == REVISION


def test_a_store_goes_down_a_step_and_up_again_with_what_is_in_it(store):
    fill(store, a_build(1, note="kept"), a_build(2, state="COMPLETED"))
    before = content(store)
    with store.write() as connection:
        downgrade_schema(connection, "r0001")
        columns = set(connection.execute(text("SELECT * FROM builds")).keys())
        assert "waits" not in columns
    with pytest.raises(RunnerError, match="schema r0001"), open_store(store.address):
        pass
    with store.write() as connection:
        upgrade_schema(connection)
    assert content(store) == before
    with store.write() as connection:
        downgrade_schema(connection, NOTHING)
        upgrade_schema(connection)
    assert not any(content(store).values())


def test_one_branch_of_a_repository_is_built_once_at_a_time(store):
    from sqlalchemy.exc import IntegrityError

    fill(store, a_build(1, branch="b", state="EXECUTING"), a_build(2, branch="b"))
    with pytest.raises(IntegrityError), store.write() as connection:
        connection.execute(builds.update().where(builds.c.id == "b0002").values(state="ANALYZING"))


def test_a_backup_is_whole_or_refused_and_fits_the_other_kind_of_server(store, postgres, tmp_path):
    from store_build import a_store, new_database

    fill(store, a_build(1, note="ü\u2028"), a_build(2, state="FAILED"))
    file = tmp_path / "backup"
    rows = back_up(store, file)
    assert rows == sum(map(len, content(store).values())) == 5
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RunnerError, match="already exists"):
        back_up(store, file)
    other = new_database(postgres) if store.is_sqlite else f"sqlite:///{tmp_path / 'other'}"
    with a_store(other) as there:
        assert restore(there, file) == rows
        assert content(there) == content(store)
        with pytest.raises(RunnerError, match="not empty: "):
            restore(there, file)


@pytest.mark.parametrize("spoil", [lambda b: b[:-30], lambda b: b.replace(b"shop", b"shap")])
def test_a_damaged_backup_changes_nothing(store, tmp_path, spoil):
    fill(store, a_build(1))
    back_up(store, tmp_path / "good")
    (tmp_path / "bad").write_bytes(spoil((tmp_path / "good").read_bytes()))
    new = f"sqlite:///{tmp_path / 'new'}"
    with pytest.raises(RunnerError, match="not a complete backup"):
        restore(open_engine(new), tmp_path / "bad")
    assert read_revision(open_engine(new)) == ""


def test_an_older_backup_is_brought_up(store, tmp_path):
    fill(store, a_build(1))
    with store.write() as connection:
        downgrade_schema(connection, "r0001")
    from sqlalchemy import MetaData

    old = MetaData()
    with store.read() as connection:
        old.reflect(connection)
        rows = [
            {"table": table.name, "row": dict(row)}
            for table in old.sorted_tables
            if table.name != "alembic_version"
            for row in connection.execute(table.select()).mappings()
        ]
    import hashlib
    import json

    lines = [json.dumps({"kind": "runner-store", "v": 1, "schema": "r0001"}).encode() + b"\n"]
    lines += [json.dumps(row).encode() + b"\n" for row in rows]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    lines.append(json.dumps({"rows": len(rows), "sha256": digest}).encode() + b"\n")
    (tmp_path / "old").write_bytes(b"".join(lines))
    there = open_engine(f"sqlite:///{tmp_path / 'there'}")
    assert restore(there, tmp_path / "old") == 3
    assert content(there)["builds"][0][0] == "b0001"


def test_what_is_wrong_is_told(store):
    fill(store, a_build(1), a_build(2, state="COMPLETED"))
    assert list(find_faults(store)) == ["build b0002 is COMPLETED, but its events say PENDING"]
    with store.write() as connection:
        note_event(connection, "b0002", "build.completed")
        note_event(connection, "b0001", "build.claimed")
        connection.execute(text("DELETE FROM events WHERE journal='b0001' AND seq=1"))
        connection.execute(text("UPDATE builds SET state='ANALYZING' WHERE id='b0001'"))
    (gap,) = find_faults(store)
    assert gap == "the events of journal b0001 have gaps: 1 of 2 to 2"


def test_the_store_s_clock_is_the_time(store):
    import time

    from sqlalchemy import select

    with store.read() as connection:
        told = connection.execute(select(clock(store))).scalar()
    assert abs(told - time.time()) < 2


def test_writers_of_one_file_wait_for_each_other(store):
    fill(store, a_build(1))

    def write():
        for _ in range(20):
            with store.write() as connection:
                connection.execute(
                    builds.select().where(builds.c.id == "b0001").with_for_update()
                ).one()
                note_event(connection, "b0001", "noted")

    threads = [threading.Thread(target=write) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert list(find_faults(store)) == []
    assert len(content(store)["events"]) == 61


def test_a_store_that_is_away_is_told_without_its_password(tmp_path):
    address = find_address(tmp_path, f"postgresql://{ADA}@127.0.0.1:1/team")
    store = open_engine(address)
    with pytest.raises(StoreDownError) as told, store.read():
        pass
    assert "geheim" not in f"{told.value.where} {told.value.detail} {told.value.message}"
    assert told.value.where == hide_password(address) != address
    assert told.value.where.endswith("ada:…@127.0.0.1:1/team")
    assert hide_password("postgresql+psycopg://a@b/c") == "postgresql://a@b/c"
    word = "geheim"
    asked = f"postgresql://b/c?user=a&password={word}&sslpassword={word}&sslmode=require"
    assert (
        hide_password(asked) == "postgresql://b/c?user=a&password=…&sslpassword=…&sslmode=require"
    )


@pytest.mark.parametrize("word", ["ge/heim", "ge:heim", "geheim"])
def test_a_password_is_hidden_whatever_an_address_may_have_in_it(word):
    """As `openssl rand -base64` makes them; the driver takes it all up to the `@`."""
    address, hidden = (f"postgresql://ada:{one}@db.example:5432/team" for one in (word, "…"))
    assert make_url(address).password == word
    assert hide_password(address) == hidden
    assert hide_password("sqlite:////srv/team@here/a:b") == "sqlite:////srv/team@here/a:b"


def test_a_store_whose_connections_are_all_taken_is_away_for_that_moment(store):
    store.engine.pool._timeout = 0.1
    with contextlib.ExitStack() as held:
        for _ in range(15):
            held.enter_context(store.read())
        with pytest.raises(StoreDownError), store.read():
            pass
    with store.read():
        pass


def test_sqlite_on_a_network_file_system_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(store_engine, "file_system_of", lambda _: "nfs4")
    with pytest.raises(RunnerError, match=r"network file system \(nfs4\)"):
        open_engine(find_address(tmp_path, str(tmp_path / "store")))


def test_a_store_that_nobody_made_is_no_empty_one(tmp_path):
    with (
        pytest.raises(RunnerError, match="the store does not exist yet"),
        open_store(find_address(tmp_path, "")),
    ):
        pass
    assert not (tmp_path / "team").exists()
    with pytest.raises(RunnerError, match="unknown kind of store: mysql"):
        find_address(tmp_path, "mysql://x/y")


def test_the_state_is_drawn_from_events(store):
    fill(store, a_build(1))
    seen = []
    with store.write() as connection:
        for kind in ("build.claimed", "clone.started", "branch.created", "verification.started"):
            fields = {"journal": "j", "after": 0} if kind == "branch.created" else {}
            note_event(connection, "b0001", kind, fields)
            seen.append(draw_state(connection, "b0001"))
    assert seen == ["ANALYZING", "ANALYZING", "PLANNING", "VERIFYING"]
    assert refine("PLANNING", ["run.started", "attempt.started"]) == "EXECUTING"
    assert refine("PLANNING", ["run.started"]) == "PLANNING"
    assert fold_own(["build.queued", "build.failed", "build.retried"]) == "PENDING"


def test_the_last_claim_s_journal_tells_the_tasks_however_its_host_s_clock_stands(store):
    fill(store, a_build(1))
    rows = [
        {
            **dict.fromkeys(("type", "run", "task", "causation", "correlation", "producer"), ""),
            "build": "b0001",
            "journal": journal,
            "seq": 1,
            "id": journal,
            "version": 1,
            "time": time,
            "tags": "[]",
            "line": "{}",
        }
        for journal, time in (("ahead", "2026-01-02T00:00:00Z"), ("later", "2026-01-01T00:00:00Z"))
    ]
    with store.write() as connection:
        for row in rows:
            note_event(connection, "b0001", "branch.created", {"journal": row["journal"]})
            connection.execute(events.insert().values(**row))
        assert list_journals(connection, "b0001") == ("ahead", "later")


def a_line(seq):
    envelope = (seq, "2026-01-02T03:04:05.000006Z", "run", "mode.switched", "", 0, "", "")
    return encode(Record(f"j-{seq}", *envelope, "runner/1", ModeSwitched(mode="serial")))


def test_what_is_drawn_again_waits_for_who_writes_of_that_build(store):
    """Two who take rows away and put them in at once would put them in twice."""
    fill(store, a_build(1, state="EXECUTING"))
    mine, done = find_build(store, "b0001"), threading.Event()
    again = threading.Thread(target=lambda: (rebuild(store), done.set()))
    with write_mine(store, mine):
        again.start()
        assert not done.wait(0.7)
    again.join(20)
    assert done.is_set()


@pytest.mark.parametrize("damage", [b"", b"}\n" + a_line(3), a_line(3)[:-9], a_line(3)])
def test_what_a_journal_here_has_lost_stays_in_the_store(store, tmp_path, damage):
    fill(store, a_build(1, place=str(tmp_path)))
    lines = [a_line(seq) for seq in (1, 2, 3)]
    with store.write() as connection:
        note_event(connection, "b0001", "branch.created", {"journal": "j-1"})
        add_lines(connection, "b0001", "j-1", lines)
    path = tmp_path / JOURNAL
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(lines[:2]) + damage)
    rebuild(store)
    with store.read() as connection:
        assert read_lines(connection, "j-1") == [one.decode().rstrip("\n") for one in lines]
    assert not [one for one in find_faults(store) if "j-1" in one]


def test_the_commands_make_check_and_copy_a_store(workplace, tmp_path, capsys):
    def runner(*words):
        done = workplace.runner(*words)
        return done.code, done.out + done.err

    assert runner("store", "check")[0] == 2
    code, said = runner("store", "init")
    assert (code, "is ready" in said) == (0, True)
    path = workplace.home / "state/runner/team/store.sqlite"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "is up to date" in runner("store", "init")[1]
    assert runner("store", "check") == (0, f"the store is intact: sqlite:///{path}\n")
    assert runner("store", "backup", str(tmp_path / "b"))[0] == 0
    other = ("--store", str(tmp_path / "other.sqlite"))
    assert runner("store", "restore", str(tmp_path / "b"), *other)[0] == 0
    assert (
        runner("store", "rebuild", *other)[1]
        == "rebuilt 0 builds and 0 events from journals on this machine\n"
    )
    assert runner("store", "backup")[0] == 2
    assert os.environ["HOME"] == str(workplace.home)


def test_a_store_has_one_name_whoever_comes_to_it_by_which_password():
    plain = name_place("postgresql+psycopg://db.example.org:5432/team")
    word = "a/b:c" + "d?e"
    at = "@db.example.org:5432/team"
    for said in (
        f"postgresql+psycopg://ada:{word}{at}",
        f"postgresql://bob:{word[::-1]}{at}",
        "postgresql://ada@db.example.org:5432/team",
        f"postgresql://db.example.org:5432/team?user=ada&password={word[:3]}",
    ):
        assert name_place(said) == plain, said
    assert name_place("postgresql://ada:x@other/team?sslmode=require&password=x") == (
        "postgresql://other/team?sslmode=require"
    )
    assert name_place("postgresql://h/team?application_name=a@b") != plain
    assert name_place("sqlite:////home/ada@work/x.sqlite") == "sqlite:////home/ada@work/x.sqlite"


DAY = 86_400.0


@contextlib.contextmanager
def later():
    """A hundred days from now."""
    now = effects.now() + timedelta(days=100)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(effects, "now", lambda: now)
        yield


def prune(store, days=90, *, dry_run=False):
    return list(prune_copies(store, days * DAY, "ada@here", dry_run=dry_run))


def copies(store, build):
    with store.read() as connection:
        journals = list_journals(connection, build.id)
        return [find_last_seq(connection, one) for one in journals]


def test_an_old_build_loses_its_copies_and_all_else_agrees(workers):
    shop = workers.repository("shop", a_step(1), a_step(2, needs=("TASK-001",)))
    build, waits = workers.queue(shop), workers.queue(shop)
    cancel_build(workers.store, waits, "ada@here")
    workers.work()
    had = copies(workers.store, build)
    assert had[0] > 10
    kinds = workers.kinds(build)
    assert prune(workers.store) == []  # it ended a moment ago
    with later():
        (told,) = prune(workers.store, dry_run=True)
        assert (told.id, told.state, told.journals, [told.events]) == (
            build.id,
            "COMPLETED",
            1,
            had,
        )
        assert copies(workers.store, build) == had
        assert prune(workers.store, 101) == []
        assert prune(workers.store) == [told]
        assert prune(workers.store) == []
    assert copies(workers.store, build) == []
    own = [one for one in read_build(workers.store, build).events if one["journal"] == build.id]
    assert [one["type"] for one in own] == [
        one
        for one in kinds
        if one.startswith(("build.", "clone.", "push.", "analysis.", "branch.", "verification."))
    ] + ["build.pruned"]
    assert workers.tasks(build) == {"TASK-001": "DONE", "TASK-002": "DONE"}
    assert (workers.faults, count_pruned(workers.store)) == ([], 1)

    made = rebuild(workers.store)  # though its clone is on this machine
    assert (made.pruned, made.events, made.unreached) == (1, 0, ())
    assert copies(workers.store, build) == []
    assert (workers.faults, workers.build(build).state) == ([], "COMPLETED")

    retry_build(workers.store, workers.build(build), "ada@here")
    workers.work()
    (again,) = copies(workers.store, build)
    assert again >= had[0]
    assert (workers.faults, count_pruned(workers.store)) == ([], 0)
    assert rebuild(workers.store).events == again


def test_only_what_is_over_goes_and_that_whole(store):
    ends = {
        "COMPLETED": "build.completed",
        "FAILED": "build.failed",
        "CANCELLED": "build.cancelled",
    }
    goes_on = {"PENDING": "build.released", "ANALYZING": "build.claimed"}
    every = list({**ends, **goes_on}.items())
    fill(store, *(a_build(at, state=state) for at, (state, _) in enumerate(every)))
    with store.write() as connection:
        for at, (_, kind) in enumerate(every):
            note_event(connection, f"b{at:04}", kind)
            for number in (1, 2):
                copy_line(connection, f"b{at:04}", f"j{at}-{number}")
    with later():
        gone = prune(store)
    assert [(one.state, one.journals, one.events) for one in gone] == [(one, 2, 2) for one in ends]
    with store.read() as connection:
        left = [len(list_journals(connection, f"b{at:04}")) for at in range(len(every))]
    assert left == [0, 0, 0, 2, 2]
    assert not [one for one in find_faults(store) if "b0000" in one]


def copy_line(connection, build, journal):
    from runner.extensions.team.tables import events

    texts = ("id", "type", "run", "task", "causation", "correlation", "producer", "tags")
    values = {**dict.fromkeys(texts, ""), "time": "2020-01-02T00:00:00Z", "version": 1}
    values |= {"build": build, "journal": journal, "seq": 1, "line": "{}"}
    connection.execute(events.insert().values(**values))


def test_the_command_tells_and_takes(workplace, address):
    from store_build import a_store

    said = ("--store", address.replace("postgresql+psycopg", "postgresql"))
    with a_store(address) as store:
        fill(store, a_build(1, state="COMPLETED"), a_build(2))
        with store.write() as connection:
            note_event(connection, "b0001", "build.completed")
            copy_line(connection, "b0001", "j")
    words = ("store", "prune", "--older-than", "90d", *said)
    assert workplace.runner(*words).out == "0 events of 0 builds removed; build events stay\n"
    with later():
        shown = workplace.runner(*words, "--dry-run")
        told = workplace.runner(*words, "--json").document
    assert "b0001  COMPLETED  shop, ended " in shown.out
    assert shown.out.endswith("1 event of 1 build would be removed; nothing was changed\n")
    assert (told["events"], told["builds"][0]["id"], told["dryRun"]) == (1, "b0001", False)
    checked = workplace.runner("store", "check", *said)
    assert checked.out.endswith("the journal copies of 1 build were pruned: not compared\n")
    assert workplace.runner("store", "rebuild", *said).out.endswith("were pruned: unchanged\n")
    for wrong in (("prune",), ("check", "--older-than", "9d"), ("check", "--dry-run"),
                  ("prune", "--older-than", "soon"), ("prune", "--older-than", "0d")):  # fmt: skip
        assert workplace.runner("store", *wrong, *said).code == 2, wrong
