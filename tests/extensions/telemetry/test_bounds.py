"""What a receiver, a full disk or a slow answer does to a delivery: it ends none, nor hides one."""

import contextlib
import socket
import sqlite3
import threading
import time

import pytest
from receivers import write_journal
from test_delivery import ground, keys, once, told, webhook  # noqa: F401 - a fixture

from runner.config.schema import receiver_address
from runner.extensions.telemetry.receiver import Poster, ReceiverDownError
from runner.project import JOURNAL


def spoil(file, statement):
    with contextlib.closing(sqlite3.connect(file.path)) as connection:
        connection.executescript(statement)


def test_a_cursor_that_cannot_be_written_is_tried_again_and_said(ground, receiver):  # noqa: F811
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


def test_cursors_that_cannot_be_read_are_no_delivery_that_went_well(ground, receiver):  # noqa: F811
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
