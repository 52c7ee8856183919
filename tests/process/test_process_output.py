"""Output is bounded, redacted while it streams, and its end is at hand."""

from __future__ import annotations

import hashlib
import random
import re
import resource
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.process.limits import Limits
from runner.process.output import (
    LEAD,
    MOST,
    TAIL,
    BoundedLog,
    LineBatch,
    Output,
    join_lines,
    tail_of,
)

MB = 1024 * 1024


def a_key() -> str:
    """A key of a known shape, never written down whole."""
    return "gh" + "p_" + "A1b2C3d4E5" * 3 + "F6g7H8"


def peak() -> int:
    """The most memory this process ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_much_output_costs_neither_disk_nor_memory(bare, tmp_path):
    line = "yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 2000000"
    bare.run(line, log=tmp_path / "first", limits=Limits(output=MB))  # loads what is needed
    log, before = tmp_path / "log", peak()
    line = "yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 8000000; echo the end"
    ran = bare.run(line, log=log, limits=Limits(output=MB))
    assert ran.size == 8_000_008
    assert peak() - before < 6 * MB
    kept = log.read_bytes()
    assert kept.startswith(b"0123456789abc")
    assert kept.endswith(b"the end\n")
    assert b"\n[... %d bytes left out ...]\n" % (8_000_008 - MB) in kept


def test_a_log_of_a_hundred_megabytes_stays_small(tmp_path):
    log, before, chunk = BoundedLog(tmp_path / "log", 2 * MB), peak(), b"x" * 65536
    for _ in range(1600):
        log.write(chunk)
    log.finish()
    assert peak() - before < 6 * MB
    assert (tmp_path / "log").stat().st_size < 2 * MB + 100


def test_binary_output_is_kept_as_it_is_and_shown_with_replacement(context, tmp_path):
    log = tmp_path / "log"
    ran = context.run(r"printf '\377\000\376ok\n'", log=log)
    assert log.read_bytes() == b"\xff\x00\xfeok\n"
    assert ran.tail == "\ufffd\0\ufffdok\n"


def test_a_key_split_between_two_writes_is_nowhere(context, tmp_path):
    key, log = a_key(), tmp_path / "log"
    told: list[str] = []
    script = (
        "import sys, time\n"
        f"first, second = {key[:9]!r}, {key[9:]!r}\n"
        "for part in ('token = ', first, second, ' and more\\n'):\n"
        "    sys.stdout.write(part); sys.stdout.flush(); time.sleep(0.03)\n"
        "time.sleep(0.3)"
    )
    ran = context.run((sys.executable, "-c", script), log=log, tell=told.append)
    assert ran.passed
    for text in (ran.tail, log.read_text(), *told):
        assert key not in text
        assert key[:9] not in text
        assert key[9:] not in text
    assert "[REDACTED:" in ran.tail
    assert ran.output == "sha256:" + hashlib.sha256(log.read_bytes()).hexdigest()


def test_a_secret_given_to_the_command_is_nowhere(context, tmp_path):
    secret, log = "correct-horse-" + "battery", tmp_path / "log"
    environment = {"PATH": "/usr/bin:/bin", "DB_PASSWORD": secret}
    line = 'echo "password is $DB_PASSWORD."; printf correct-; sleep 0.1; echo horse-battery'
    ran = context.run(line, environment=environment, known_secrets=(secret,), log=log)
    assert ran.tail == "password is [REDACTED:secret].\n[REDACTED:secret]\n"
    assert secret not in log.read_text()


def test_the_tail_begins_at_a_line_start(bare):
    ran = bare.run("seq 1 5000")
    lines = ran.tail.splitlines()
    assert len(ran.tail.encode()) <= TAIL
    assert lines == [str(number) for number in range(int(lines[0]), 5001)]


def test_the_tail_of_one_endless_line_is_its_end():
    text = tail_of(("ü" * 5000).encode()[-TAIL + 1 :], cut=True)
    assert set(text) == {"ü"}
    assert len(tail_of(b"\xff" * TAIL).encode()) <= TAIL


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=30), st.integers(0, 400))
def test_a_kept_log_holds_the_first_and_the_last(tmp_path_factory, chunks, kept):
    path = tmp_path_factory.mktemp("kept") / "log"
    log = BoundedLog(path, kept)
    for chunk in chunks:
        log.write(chunk)
    log.finish()
    whole = b"".join(chunks)
    assert path.exists() == bool(whole)
    held = path.read_bytes() if whole else b""
    if len(whole) <= kept:
        assert held == whole
    else:
        first, last = kept - kept // 2, kept // 2
        notice = b"\n[... %d bytes left out ...]\n" % (len(whole) - kept)
        assert held == whole[:first] + notice + whole[len(whole) - last :]


def test_a_million_tiny_writes_stay_small(tmp_path):
    log = BoundedLog(tmp_path / "log", 200_000)
    for number in range(300_000):
        log.write(b"%d" % (number % 10))
    assert len(log._last._blocks) <= 3
    log.finish()


def test_who_says_nothing_gets_no_log_and_leaves_no_older_one(bare, tmp_path):
    log = tmp_path / "logs" / "TC-001.log"
    assert bare.run("true", log=log).log is None
    assert not log.parent.exists()
    assert bare.run("echo said", log=log).log == log
    assert bare.run("true", log=log).log is None
    assert not log.exists()


def test_a_full_disk_costs_the_log_and_not_the_command(bare):
    from pathlib import Path

    ran = bare.run("echo said", log=Path("/dev/full"))
    assert (ran.exit, ran.tail, ran.log) == (0, "said\n", None)


def test_a_log_that_cannot_be_opened_costs_only_the_log(bare, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    ran = bare.run("echo said", log=tmp_path / "link")
    assert (ran.exit, ran.tail, ran.log) == (0, "said\n", None)
    assert not (tmp_path / "elsewhere").exists()


def test_the_last_line_is_the_last_that_says_something(tmp_path):
    output = Output(None, 100)
    output.take(b"one\n\ntwo  \n\n   \n")
    output.finish()
    assert output.last_line == "two"
    assert output.log is None


# --- every line that a command prints is told -----------------------------------------


def test_every_line_of_a_quick_command_is_told(context):
    told: list[str] = []
    context.run("seq 1 20; echo; printf 'no end'", tell=told.append)
    assert "\n".join(told).split("\n") == [*map(str, range(1, 21)), "", "no end"]


def test_lines_come_while_the_command_goes_on_each_once(context):
    told: list[str] = []
    context.run("seq 1 3; sleep 0.4; seq 4 6", tell=told.append)
    assert told == ["1\n2\n3", "4\n5\n6"]


def test_very_many_are_bounded_and_the_missing_ones_counted(context):
    told: list[str] = []
    ran = context.run("seq 1 300000", tell=told.append, limits=Limits(soft=0))
    lines = "\n".join(told).split("\n")
    lost = sum(int(found[1]) for one in lines if (found := re.match(r"\[\.\.\. (\d+) lines", one)))
    assert lines[-1] == "300000"
    assert lost + sum(one.isdigit() for one in lines) == 300_000
    assert len(lines) <= (MOST + 1) * (ran.seconds / 0.25 + 2)


def test_what_is_not_even_kept_is_counted_and_its_last_line_told(context):
    told: list[str] = []
    context.run("seq 1 300000", tell=told.append, limits=Limits(soft=0, output=10_000))
    assert told[-1].endswith("\n300000")
    assert "lines left out ...]" in "\n".join(told)


def test_a_line_that_is_drawn_anew_is_told_as_it_stands():
    fresh = LineBatch()
    fresh.add(b"10%\r20%\r")
    assert join_lines(*fresh.take()) == "20%"
    fresh.add(b"30%\r40%\ndone\r\nnext")
    assert join_lines(*fresh.take()) == "40%\ndone"
    assert join_lines(*fresh.take()) == ""
    assert join_lines(*fresh.take(whole=True)) == "next"


def test_one_line_without_end_is_held_within_bounds():
    fresh = LineBatch()
    for _ in range(100):
        fresh.add(b"x" * 65_536)
    assert len(join_lines(*fresh.take(whole=True))) <= 131_072


KEPT = 4000
MUCH = LEAD + 60_000


PEM = [
    "-----BEGIN " + "PRIVATE KEY-----\n",
    *(f"MIIE{number}{'vQIBADANBgkqhkiG9w0BAQEFAASC' * 2}\n" for number in range(9)),
]


def filler(size: int) -> bytes:
    line = b"some words of a log, and numbers 123\n"
    return (line * (size // len(line) + 1))[:size]


def said(content: bytes, folder, *, known=(), chunk=65536) -> tuple[Output, bytes]:
    """All that can be seen of an output: while it comes, at its end, and in its log."""
    log = folder / "log"
    output = Output(log, KEPT, known)
    seen = []
    for at in range(0, len(content), chunk):
        output.take(content[at : at + chunk])
        seen.append(output.last_line.encode())
    output.finish()
    return output, b"\n".join([*seen, output.tail.encode(), log.read_bytes()])


def pieces(secret: bytes) -> list[bytes]:
    """What would tell of a secret: any eight bytes of it in a row."""
    return [secret[at : at + 8] for at in range(4, len(secret) - 8)]


def seams(length: int) -> list[int]:
    """Places where the first half ends, the last half begins, and where what is read begins."""
    at = [KEPT // 2, length - KEPT // 2, length - KEPT // 2 - LEAD, length - 4096 - LEAD]
    return [place - back for place in at for back in (1, 7, 20, 39)]


@pytest.mark.parametrize("ends", [b"\n", b" and more words behind it\n"])
def test_a_key_across_a_seam_is_nowhere(tmp_path, ends):
    key = a_key().encode()
    for at in seams(MUCH):
        line = b"\n" + key + ends
        content = filler(at) + line + filler(MUCH - at - len(line))
        _, seen = said(content, tmp_path)
        assert not [piece for piece in pieces(key) if piece in seen], at


def test_a_value_that_was_declared_secret_is_nowhere(tmp_path):
    value = "correct-horse-" + "battery"
    for at in seams(MUCH):
        content = filler(at) + value.encode() + filler(MUCH - at - len(value))
        _, seen = said(content, tmp_path, known=(value,))
        assert not [piece for piece in pieces(value.encode()) if piece in seen], at


@pytest.mark.parametrize("lines", [["correct horse, battery ", "staple, and more"], PEM])
def test_the_last_line_shows_nothing_of_what_began_in_the_first_half(lines):
    output = Output(None, KEPT, ["correct horse, battery staple, and more"])
    output.take(filler(KEPT // 2 - 20) + b"\n" + b"x" * 40 + b"\n" + lines[0].encode())
    for line in lines[1:]:
        output.take(line.encode())
        assert line.strip()[8:] not in output.last_line + output.fresh()


def test_a_private_key_across_a_seam_is_nowhere(tmp_path):
    rng = random.Random(1)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body = ["".join(rng.choices(letters, k=64)) for _ in range(40)]
    name = "PRIVATE" + " KEY"
    pem = "\n".join(
        [f"-----BEGIN RSA {name}-----", *body, f"-----END RSA {name}-----", ""]
    ).encode()
    for at in (KEPT // 2, MUCH - KEPT // 2, MUCH - 4096):
        start = at - len(pem) // 2
        content = filler(start) + b"\n" + pem + filler(MUCH - start - len(pem) - 1)
        _, seen = said(content, tmp_path)
        assert not [line for line in body if line[8:40].encode() in seen], at


def test_a_token_without_end_is_not_shown_where_nothing_else_is_known_of_it(tmp_path):
    content = filler(3000) + b"token=" + a_key().encode() + b"Q7w" * MUCH
    _, seen = said(content, tmp_path)
    assert b"Q7wQ7wQ7w" not in seen


def test_nothing_is_said_that_depends_on_how_it_was_read(tmp_path):
    content = (
        filler(100) + a_key().encode() + b"\n" + filler(MUCH) + a_key().encode() + b" the end\n"
    )
    first, log = said(content, tmp_path)
    other, _ = said(content, tmp_path, chunk=7777)
    assert (first.digest, first.size, first.tail) == (other.digest, other.size, other.tail)
    kept = (tmp_path / "log").read_bytes()
    assert first.digest == "sha256:" + hashlib.sha256(kept).hexdigest()
    assert first.size == len(content)
    left_out = len(content) - KEPT
    assert b"[... %d bytes left out ...]" % left_out in kept
    assert kept.endswith(b"[REDACTED:github] the end\n")
    assert log.count(b"[REDACTED:github]") >= 2


def test_what_fits_just_so_is_kept_whole(tmp_path):
    for size in (KEPT - 1, KEPT, KEPT + 1):
        output, _ = said(filler(size), tmp_path, chunk=100)
        kept = (tmp_path / "log").read_bytes()
        assert (kept == filler(size)) == (size <= KEPT)
        assert output.size == size


def test_the_last_line_is_at_hand_while_much_comes():
    output = Output(None, KEPT)
    for number in range(30_000):
        output.take(b"line %d\n" % number)
    assert output.last_line == "line 29999"
    output.finish()
    assert output.tail.endswith("line 29999\n")
