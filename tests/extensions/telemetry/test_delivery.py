"""Events go out at least once, in order, whatever the receiver does and whoever is killed."""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from receivers import Receiver, a_nats_server, ask, messages_of, write_journal

from runner import effects
from runner.config.paths import Places
from runner.config.schema import receiver_address
from runner.errors import RunnerError
from runner.extensions.telemetry import delivery
from runner.extensions.telemetry.delivery import (
    CursorFile,
    Patience,
    Poster,
    ReceiverBackoff,
    ReceiverDownError,
    ReceiverWork,
    deliver,
    require_sole_process,
)
from runner.extensions.telemetry.delivery_process import (
    NatsReceiver,
    WebhookReceiver,
    find_key,
    store_source,
    subject_of,
)
from runner.extensions.telemetry.outbox import FolderOutbox, Outgoing, Positions
from runner.project import JOURNAL, Project

KEY = bytes(range(32))
PATIENCE = 60


@pytest.fixture
def ground(workplace, monkeypatch):
    """A project with an empty journal, and a receiver that is asked again at once."""
    workplace.commit({"a": "1"})
    monkeypatch.setattr(delivery, "_FIRST", 0.01)
    monkeypatch.setattr(delivery, "_LONGEST", 0.05)
    return workplace


def told(ground, name="told"):
    return CursorFile(ground.home / f"{name}.sqlite")


def outbox(ground):
    return FolderOutbox(Project.open(ground.root, os.environ, plan_needed=False))


def webhook(ground, receiver):
    return ReceiverWork(WebhookReceiver(f"{receiver.address}/hook?t=1", KEY), outbox(ground))


def once(file, *works, seconds=20.0):
    """Deliver what is there; who did not get all, and what was said."""
    said = []
    behind = deliver(works, file, Patience(threading.Event(), lambda: True, seconds), said.append)
    return behind, said


def keys(records):
    return [f"{records[0].id}:{one.seq}" for one in records]


# --- webhooks -------------------------------------------------------------------------


def test_a_webhook_is_signed_and_named(ground, receiver):
    records = write_journal(ground.root / JOURNAL, 3)
    assert once(told(ground), webhook(ground, receiver)) == ((), [])
    assert receiver.keys == keys(records)
    path, headers, body = receiver.taken[0]
    assert path == "/hook?t=1"
    assert headers["webhook-id"] == keys(records)[0]
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < PATIENCE
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(KEY, signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    assert json.loads(body)["event"]["mode"] == "m1"


@pytest.mark.parametrize("bad", [500, 404, 301, "cut", "lie", (429, {"retry-after": "0"})])
def test_whoever_fails_is_told_again_in_order(ground, receiver, bad):
    records = write_journal(ground.root / JOURNAL, 5)
    receiver.answers = [204, bad, bad, 204, bad, 204]
    behind, said = once(told(ground), webhook(ground, receiver))
    assert behind == ()
    assert receiver.keys == keys(records)
    assert said[-1].endswith(") answers again")
    assert {headers["webhook-id"] for _, headers, _ in receiver.taken} == set(keys(records))


@pytest.mark.parametrize("bad", ["hang", "drip"])
def test_whoever_hangs_is_left_after_a_while(ground, receiver, monkeypatch, bad):
    records = write_journal(ground.root / JOURNAL, 2)
    monkeypatch.setattr(Poster.__init__, "__defaults__", (0.5,))
    receiver.answers = [bad, 204]
    began = time.monotonic()
    behind, said = once(told(ground), webhook(ground, receiver))
    assert (behind, receiver.keys) == ((), keys(records))
    assert "no answer: " in said[0]
    assert time.monotonic() - began < PATIENCE


def test_an_answer_without_an_end_is_not_read_to_its_end(ground, receiver):
    write_journal(ground.root / JOURNAL, 1)
    receiver.answers = ["huge"]
    assert once(told(ground), webhook(ground, receiver))[0] == ()


def test_a_redirect_is_not_followed(ground, receiver):
    write_journal(ground.root / JOURNAL, 1)
    with Receiver() as other:
        receiver.answers = [(307, {"location": f"{other.address}/stolen"})]
        behind, said = once(told(ground), webhook(ground, receiver), seconds=0.1)
        assert (behind, other.taken) == (("webhook",), [])
    assert said[0].endswith("redirect (307) not followed")


def test_what_was_told_is_not_told_again_and_what_is_new_is(ground, receiver):
    file = told(ground)
    records = write_journal(ground.root / JOURNAL, 120)
    once(file, webhook(ground, receiver))
    once(file, webhook(ground, receiver))
    records += write_journal(ground.root / JOURNAL, 3, first=121)
    once(file, webhook(ground, receiver))
    assert receiver.keys == keys(records)
    (row,) = file.list_statuses()
    assert (row.door, row.events, row.fault) == ("webhook", 123, "")


def test_a_journal_that_is_begun_anew_is_told_whole(ground, receiver):
    file, path = told(ground), ground.root / JOURNAL
    first = write_journal(path, 5)
    once(file, webhook(ground, receiver))
    path.unlink()
    second = write_journal(path, 9)
    once(file, webhook(ground, receiver))
    assert receiver.keys == keys(first) + keys(second)


def test_who_is_away_for_long_misses_nothing(ground):
    file, records = told(ground), write_journal(ground.root / JOURNAL, 4)
    with Receiver() as gone:
        port = gone.port
    away = ReceiverWork(WebhookReceiver(f"http://127.0.0.1:{port}/", KEY), outbox(ground))
    behind, said = once(file, away, seconds=0.1)
    assert (behind, len(said)) == (("webhook",), 1)
    (row,) = file.list_statuses()
    assert (row.events, row.tries > 1, "no answer: " in row.fault) == (0, True, True)
    with Receiver(port) as back:
        again = ReceiverWork(WebhookReceiver(f"http://127.0.0.1:{port}/", KEY), outbox(ground))
        assert once(file, again)[0] == ()
        assert back.keys == keys(records)
    assert file.list_statuses()[0].fault == ""


def test_one_receiver_that_is_away_holds_up_no_other(ground, receiver, stream):
    records = write_journal(ground.root / JOURNAL, 4)
    receiver.answers = [500]
    works = (webhook(ground, receiver), ReceiverWork(NatsReceiver(stream, 30), outbox(ground)))
    assert once(told(ground), *works, seconds=0.1)[0] == ("webhook",)
    assert [id_ for _, id_, _ in messages_of(stream)] == keys(records)


@pytest.mark.parametrize(
    ("value", "fault"),
    [(None, "is not set"), ("", "is not set"), ("short", "shorter"), ("whsec_%%%", "shorter")],
)
def test_a_key_that_is_none_is_refused(value, fault):
    environ = {} if value is None else {"HOOK": value}
    with pytest.raises(RunnerError, match=fault):
        find_key("HOOK", environ)
    with pytest.raises(RunnerError, match=r"events\.webhook_key_env is not set"):
        find_key("", {})
    text = base64.b64encode(KEY).decode()
    assert find_key("HOOK", {"HOOK": f"whsec_{text}"}) == KEY
    assert find_key("HOOK", {"HOOK": text}) == text.encode()


# --- NATS -----------------------------------------------------------------------------


def test_events_are_in_the_stream_once_and_in_order(ground, stream):
    file, records = told(ground), write_journal(ground.root / JOURNAL, 250)
    assert once(file, ReceiverWork(NatsReceiver(stream, 7), outbox(ground))) == ((), [])
    found = messages_of(stream)
    assert [id_ for _, id_, _ in found] == keys(records)
    assert found[0][0] == f"runner.events.{ground.root.name}.mode.switched"
    config = ask(stream, lambda one: one.stream_info("RUNNER")).config
    assert (config.max_age, config.duplicate_window) == (7 * 86400, 3600)
    lost = told(ground, "lost")  # as if the process died before any cursor was moved
    assert once(lost, ReceiverWork(NatsReceiver(stream, 90), outbox(ground))) == ((), [])
    assert [id_ for _, id_, _ in messages_of(stream)] == keys(records)
    assert ask(stream, lambda one: one.stream_info("RUNNER")).config.max_age == 90 * 86400


def test_a_server_that_is_killed_and_comes_back_has_all(ground, tmp_path):
    file, path = told(ground), ground.root / JOURNAL
    with a_nats_server(tmp_path) as address:
        records = write_journal(path, 20)
        once(file, ReceiverWork(NatsReceiver(address, 30), outbox(ground)))
    port = int(address.rpartition(":")[2])
    records += write_journal(path, 20, first=21)
    behind, said = once(file, ReceiverWork(NatsReceiver(address, 30), outbox(ground)), seconds=0.1)
    assert (behind, len(said)) == (("nats",), 1)
    with a_nats_server(tmp_path, port) as address:
        assert once(file, ReceiverWork(NatsReceiver(address, 30), outbox(ground)))[0] == ()
        assert [id_ for _, id_, _ in messages_of(address)] == keys(records)


def test_a_connection_that_a_server_has_given_up_is_made_anew_without_a_word(ground, tmp_path):
    """As one does to a client that answers no ping: nothing is told for minutes."""
    records = write_journal(ground.root / JOURNAL, 2)
    first, second = outbox(ground).read(Positions({}))
    with a_nats_server(tmp_path) as address:
        kept = NatsReceiver(address, 30)
        kept.send([first])
    with a_nats_server(tmp_path, int(address.rpartition(":")[2])) as address:
        kept.send([second])
        assert [id_ for _, id_, _ in messages_of(address)] == keys(records)
    with pytest.raises(ReceiverDownError):
        kept.send([second])
    kept.close()


def test_a_server_without_a_stream_to_be_had_is_told(ground, tmp_path):
    from nats.js import api

    write_journal(ground.root / JOURNAL, 2)
    with a_nats_server(tmp_path) as address:
        other = api.StreamConfig(name="OTHERS", subjects=["runner.events.>"])
        ask(address, lambda one: one.add_stream(other))
        assert once(told(ground), ReceiverWork(NatsReceiver(address, 30), outbox(ground)))[0] == ()
        assert ask(address, lambda one: one.stream_info("OTHERS")).state.messages == 2


def test_what_is_too_large_goes_without_its_own_fields(ground, stream):
    from runner.journal.events import ModeSwitched
    from runner.journal.log import Journal

    with Journal.open(ground.root / JOURNAL, run="r") as journal:
        journal.append(ModeSwitched(mode="x" * (2 << 20)))
        last = journal.append(ModeSwitched(mode="y"))
    assert once(told(ground), ReceiverWork(NatsReceiver(stream, 30), outbox(ground)))[0] == ()
    first, second = (body["event"] for _, _, body in messages_of(stream))
    assert (first["shortened"], first["type"], "mode" in first) == (True, "mode.switched", False)
    assert (second["mode"], second["id"]) == ("y", last.id)


@pytest.mark.parametrize("word", ["a.b c>*", "\u202e", "", "..", "x" * 500, "täsk\n", "$JS.API"])
def test_no_name_becomes_a_word_of_the_server_s(word):
    subject = subject_of(Outgoing("j", 1, f"{word}.{word}", word, "b", "{}"))
    tokens = subject.split(".")
    assert tokens[:2] == ["runner", "events"]
    assert all(one and set(one) <= set(map(chr, range(33, 127))) - set("*>$") for one in tokens)
    assert len(subject) < 250


# --- killed, doubled, hostile ---------------------------------------------------------


def test_killed_between_acknowledgement_and_cursor_it_is_told_once_more(ground, receiver):
    """At every move of a cursor, for receivers that know keys, nothing is lost or doubled."""
    file, records = told(ground), write_journal(ground.root / JOURNAL, 230)

    class Killed(BaseException):
        pass

    def die(kind, _target):
        if kind == "cursor":
            raise Killed

    for _ in range(3):
        effects.watch(die)
        try:
            with pytest.raises(Killed), file.door("webhook") as cursors:
                webhook(ground, receiver).go_on(cursors)
        finally:
            effects.unwatch(die)
        with file.door("webhook") as cursors:
            some = list(outbox(ground).read(cursors))[:100]
            if some:
                cursors.move(some[-1])
    once(file, webhook(ground, receiver))
    assert list(dict.fromkeys(receiver.keys)) == keys(records)


def test_of_two_deliverers_one_works(ground):
    file = told(ground)
    with file.lock() as first, told(ground).lock() as second:
        assert (first, second) == (True, False)
        with pytest.raises(RunnerError, match="already delivers these events"):
            require_sole_process(is_ours=second, where=file.path)
    with told(ground).lock() as later:
        assert later


def test_hostile_text_leaves_as_data(ground, receiver, stream):
    from runner.journal.events import ModeSwitched
    from runner.journal.log import Journal

    words = ['"}\n{"', "\r\nX-Evil: 1", "\x00\x1b[2J", "\u202e\u2028", "\udc80", "${jndi:x}"]
    leaked = "ghp_" + "a1B2" * 9
    with Journal.open(ground.root / JOURNAL, run="r\r\nX: 1") as journal:
        for word in (*words, leaked):
            journal.append(ModeSwitched(mode=word), task=word)
    works = (webhook(ground, receiver), ReceiverWork(NatsReceiver(stream, 30), outbox(ground)))
    assert once(told(ground), *works)[0] == ()
    for found in (
        [json.loads(body) for body in receiver.accepted],
        [body for _, _, body in messages_of(stream)],
    ):
        assert [one["event"]["mode"] for one in found][:4] == words[:4]
        assert leaked not in json.dumps(found)
    assert all("X-Evil" not in headers for _, headers, _ in receiver.taken)


def test_pauses_grow_and_heed_what_was_asked(monkeypatch):
    backoff = ReceiverBackoff()
    pauses = [backoff.pause(0) for _ in range(14)]
    assert all(0.4 * 2**place <= one <= 0.6 * 2**place for place, one in enumerate(pauses[:9]))
    assert 240 <= pauses[-1] <= 360
    assert backoff.pause(1000) == 1000
    backoff.reset()
    assert backoff.pause(0) < 1
    assert ReceiverDownError("x", wait=10**9).wait == 3600


# --- as a person types it -------------------------------------------------------------


def settle(ground, text):
    file = ground.home / "config" / "runner" / "runner.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_the_command_delivers_says_how_far_and_ends(ground, receiver, monkeypatch):
    assert "no receiver of events is set" in ground.runner("events", "--deliver").err
    records = write_journal(ground.root / JOURNAL, 3)
    settle(
        ground,
        f'events.webhook = "{receiver.address}/x?secret=1"\nevents.webhook_key_env = "HOOK"\n',
    )
    assert "HOOK is not set" in ground.runner("events", "--deliver").err
    monkeypatch.setenv("HOOK", KEY.hex())
    assert ground.runner("events", "--deliver").said == ""
    assert receiver.keys == keys(records)
    said = ground.runner("events", "--doors")
    assert (said.code, "secret" in said.out) == (0, False)
    assert f"webhook ({receiver.address}/x): 3 events, the last at " in said.out
    (row,) = ground.runner("events", "--doors", "--json").document["doors"]
    assert (row["events"], row["fault"]) == (3, None)
    with told_of(ground).lock():
        assert ground.runner("events", "--deliver").code == 6
    assert ground.runner("events", "--deliver", "--after", "3").code == 2


def test_cursors_of_a_store_are_named_without_its_password_and_older_ones_are_moved(
    ground, receiver, monkeypatch
):
    settle(ground, f'events.webhook = "{receiver.address}/x"\nevents.webhook_key_env = "HOOK"\n')
    environ = {**os.environ, "HOOK": KEY.hex()}
    project = Project.open(ground.root, environ, plan_needed=False)
    address = "postgresql+psycopg://ada:{}@db.example.org/team"
    folder = Places.of(environ).state / "told"
    before = folder / f"{hashlib.sha256(address.format('one').encode()).hexdigest()[:24]}.sqlite"
    old = CursorFile(before)
    records = write_journal(ground.root / JOURNAL, 3)
    assert once(old, webhook(ground, receiver))[0] == ()
    assert receiver.keys == keys(records)

    def place(word):
        store = SimpleNamespace(address=address.format(word), is_sqlite=False)
        with store_source(store, project.settings, environ, delivers=False) as source:
            return source.cursors

    with old.lock():
        assert place("one") == before, "an older version tells by it at this moment"
    now = place("one")
    assert place("two") == now != before
    assert [file.name for file in folder.iterdir()] == [now.name]
    assert once(CursorFile(now), webhook(ground, receiver))[0] == ()
    assert receiver.keys == keys(records), "nothing is told a second time"


def told_of(ground):
    (file,) = (ground.home / "state" / "runner" / "told").glob("*.sqlite")
    return CursorFile(file)


def test_a_repository_cannot_say_where_events_go(ground, receiver):
    ground.write(
        {"runner.toml": f'events.webhook = "{receiver.address}"\nevents.nats = "nats://evil:1"\n'}
    )
    assert "no receiver of events is set" in ground.runner("events", "--deliver").err


@contextlib.contextmanager
def ending(words, ground, environ):
    """A process that ends with the test, also where that fails."""
    with subprocess.Popen(words, cwd=ground.root, env=environ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_one_that_follows_is_killed_at_any_instant_and_nothing_is_lost(ground, receiver):
    settle(ground, f'events.webhook = "{receiver.address}"\nevents.webhook_key_env = "HOOK"\n')
    path, records = ground.root / JOURNAL, []
    words = [sys.executable, "-P", "-m", "runner", "events", "--deliver", "--follow"]
    environ = {**os.environ, "HOOK": KEY.hex()}
    for turn in range(3):
        records += write_journal(path, 150, first=1 + 150 * turn)
        with ending(words, ground, environ) as process:
            wait_for(lambda turn=turn: len(set(receiver.keys)) > 150 * turn + 40 * turn)
            process.send_signal(signal.SIGKILL)
    with ending(words, ground, environ) as process:
        wait_for(lambda: len(set(receiver.keys)) == 450)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert list(dict.fromkeys(receiver.keys)) == keys(records)
    assert len(receiver.keys) <= 450 + 3 * 100


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_run_tells_its_events_by_a_process_of_its_own(ground, receiver, monkeypatch):
    from workplace import NO_PROOF

    settle(ground, f'events.webhook = "{receiver.address}"\nevents.webhook_key_env = "HOOK"\n')
    monkeypatch.setenv("HOOK", KEY.hex())
    ground.plan(
        f"## TASK-001: note\n\n{NO_PROOF}\nOutput files: `n.txt`\n\n```text file=n.txt\nn\n```\n"
    )
    assert ground.run().code == 0
    count = len((ground.root / JOURNAL).read_text().splitlines())
    wait_for(lambda: len(receiver.keys) == count)
    types = [json.loads(body)["event"]["type"] for body in receiver.accepted]
    assert (types[0], types[-1]) == ("run.started", "run.finished")


def spoil(file, statement):
    with contextlib.closing(sqlite3.connect(file.path)) as connection:
        connection.executescript(statement)


def test_a_cursor_that_cannot_be_written_is_tried_again_and_said(ground, receiver):
    records = write_journal(ground.root / JOURNAL, 2)
    file = told(ground)
    full = "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    spoil(file, f"CREATE TRIGGER f BEFORE INSERT ON cursors {full}")
    behind, said = once(file, webhook(ground, receiver), seconds=0.1)
    assert behind == ("webhook",)
    assert "database or disk is full" in said[0]
    assert len(receiver.keys) > len(records), "it is tried again"
    spoil(file, "DROP TRIGGER f")
    assert once(file, webhook(ground, receiver))[0] == ()
    assert receiver.keys[-2:] == keys(records)


def test_cursors_that_cannot_be_read_are_no_delivery_that_went_well(ground, receiver):
    write_journal(ground.root / JOURNAL, 1)
    file = told(ground)
    spoil(file, "DROP TABLE cursors")
    behind, said = once(file, webhook(ground, receiver))
    assert (behind, receiver.keys) == (("webhook",), [])
    assert "no such table" in said[0]


def test_a_handshake_of_a_byte_at_a_time_is_left_after_a_while():
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip():
            with server.accept()[0] as one, contextlib.suppress(OSError):
                one.sendall(b"\x16\x03\x03\x40\x00")  # a record of 16 KiB, of which little comes
                while not over.wait(0.1):
                    one.sendall(b"\x02")

        thread = threading.Thread(target=drip)
        thread.start()
        began = time.monotonic()
        poster = Poster(f"https://127.0.0.1:{server.getsockname()[1]}/", 0.7)
        asking = threading.Thread(target=lambda: over.wait(20) or over.set(), daemon=True)
        asking.start()
        with pytest.raises(ReceiverDownError, match="no answer"):
            poster.post(b"{}", {})
        took = time.monotonic() - began
        over.set()
        thread.join(5)
    assert took < 10


def test_a_connection_that_was_closed_while_nothing_was_told_is_no_receiver_that_is_away():
    """Servers let go of who says nothing for some seconds (RFC 9112, 9.5)."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once_each():
            for _ in range(2):
                with server.accept()[0] as one:
                    heard.append(one.recv(65536))
                    one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer_once_each)
        thread.start()
        poster = Poster(f"http://127.0.0.1:{server.getsockname()[1]}/", 5)
        poster.post(b"{}", {})
        time.sleep(0.2)
        poster.post(b"{}", {})
        thread.join(5)
        poster.close()
    assert len(heard) == 2


def test_a_kept_connection_that_says_nothing_is_left_once_and_not_asked_again():
    with socket.create_server(("127.0.0.1", 0)) as server:
        over = threading.Event()

        def answer_the_first():
            with server.accept()[0] as one:
                one.recv(65536)
                one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                over.wait(20)

        thread = threading.Thread(target=answer_the_first)
        thread.start()
        poster = Poster(f"http://127.0.0.1:{server.getsockname()[1]}/", 2.0)
        poster.post(b"{}", {})
        began = time.monotonic()
        with pytest.raises(ReceiverDownError, match="no answer"):
            poster.post(b"{}", {})
        assert time.monotonic() - began < 3.7
        over.set()
        thread.join(5)


@pytest.mark.parametrize(
    "said", ["https://example.org:99999/hook", "http://[::1/hook", "http://h:x/"]
)
def test_an_address_that_can_be_no_one_s_is_refused_where_it_is_said(said):
    with pytest.raises(ValueError, match="must be a URL"):
        receiver_address(said)


def test_an_address_with_a_port_is_one():
    assert receiver_address(" http://[::1]:4318/x ") == "http://[::1]:4318/x"
