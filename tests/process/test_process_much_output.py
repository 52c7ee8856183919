"""More output than is kept: its middle is never looked at, and no key comes out at the seams."""

from __future__ import annotations

import hashlib
import random

import pytest

from runner.process.output import LEAD, Output

KEPT = 4000
MUCH = LEAD + 60_000


def a_key() -> bytes:
    return b"gh" + b"p_" + b"A1b2C3d4E5" * 3 + b"F6g7H8"


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
    key = a_key()
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
    content = filler(3000) + b"token=" + a_key() + b"Q7w" * MUCH
    _, seen = said(content, tmp_path)
    assert b"Q7wQ7wQ7w" not in seen


def test_nothing_is_said_that_depends_on_how_it_was_read(tmp_path):
    content = filler(100) + a_key() + b"\n" + filler(MUCH) + a_key() + b" the end\n"
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
