"""No secret leaves: not in a text, and not in a stream cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from secret_samples import HEX, pem, samples, some

from runner.secrets.load_rules import redacting_shapes
from runner.secrets.redact import StreamRedactor, redact, redact_head, redact_tail

SHOWN = {shape.name for shape in redacting_shapes()}
SAMPLES = [row for row in samples() if row[0] in SHOWN]
IDS = [f"{number}-{row[0]}" for number, row in enumerate(SAMPLES)]
KEY = "gh" + "p_" + some(36)


def pieces_of(secret, size=12):
    """The parts of a secret that would give it away; short ones may stand anywhere."""
    return {secret[i : i + size] for i in range(len(secret) - size)}


def streamed(*chunks, known=()):
    stream = StreamRedactor(known)
    return b"".join(stream.feed(chunk) for chunk in chunks) + stream.finish()


@pytest.mark.parametrize(("name", "key", "around", "near"), SAMPLES, ids=IDS)
def test_the_whole_token_is_replaced_by_its_name(name, key, around, near):
    shown = redact(f"before {around.format(key)} after")
    assert f"[REDACTED:{name}]" in shown
    assert not any(piece in shown for piece in pieces_of(key) if "-----" not in piece)
    assert shown.startswith("before ")
    assert shown.endswith(" after")


@pytest.mark.parametrize(("name", "key", "around", "near"), SAMPLES, ids=IDS)
def test_a_key_cut_at_any_position_of_a_stream_never_leaks(name, key, around, near):
    text = f"log: {around.format(key)}\nnext line\n".encode()
    body = "\n".join(line for line in key.splitlines() if "-----" not in line)
    secret = {piece.encode() for piece in pieces_of(body)}
    whole = streamed(text)
    for cut in range(0, len(text), 1 if len(text) < 200 else 7):
        shown = streamed(text[:cut], text[cut:])
        assert not any(piece in shown for piece in secret), cut
        assert b"\n" in key.encode() or shown == whole


@pytest.mark.parametrize("letter", ["-", "é"])
def test_a_key_at_the_end_of_a_part_of_a_text_never_leaks(letter):
    text = f"{letter * 100} {KEY} {letter * 100}"
    for most in range(len(text) + 10):
        for shown in (redact_head(text, most), redact_tail(text, most)):
            assert not any(piece in shown for piece in pieces_of(KEY, 4)), most
    assert redact_head(text, 110) == f"{letter * 100} [REDACTED:github]"
    assert redact_tail(text, 110) == f"[REDACTED:github] {letter * 100}"
    assert redact_head(text, 40) == letter * 40 == redact_tail(text, 40)
    assert redact_head("word and word", 6, ("d and",)) == "wor[REDACTED:secret]"


@pytest.mark.no_cover
def test_of_a_private_key_that_begins_before_the_last_letters_none_is_shown():
    text = f"first\n{pem()}\nlast"
    for most in range(4, len(text)):
        shown = redact_tail(text, most)
        assert not any(line[:16] in shown for line in pem().splitlines()[1:-1])
        assert shown.endswith("last")


@pytest.mark.parametrize("step", [1, 2, 7, 64, 1000])
def test_a_private_key_in_any_pieces_never_leaks(step):
    key = pem()
    text = f"first\n{key}\nlast line of the log\n".encode()
    shown = streamed(*(text[i : i + step] for i in range(0, len(text), step)))
    for line in key.splitlines()[1:-1]:
        assert line[:16].encode() not in shown
    assert shown.startswith(b"first\n")
    assert shown.endswith(b"last line of the log\n")
    assert b"[REDACTED:private-key]" in shown


def test_an_encrypted_private_key_line_by_line_never_leaks():
    begin, *rest = pem().splitlines()
    lines = [begin, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0011", "", *rest]
    shown = streamed(*(f"{line}\n".encode() for line in lines), b"and on\n")
    assert not any(line[:16].encode() in shown for line in rest[:-1])
    assert shown.endswith(b"and on\n")


def test_talk_about_private_keys_is_not_swallowed():
    text = (
        b"expected -----BEGIN PRIVATE" + b" KEY----- here\nbut got nothing at all\nso it failed\n"
    )
    assert streamed(*(bytes([byte]) for byte in text)) == text


def test_a_complete_line_is_given_out_at_once():
    stream = StreamRedactor()
    assert stream.feed(b"one\ntwo") == b"one\n"
    assert stream.feed(b" and more\r\n") == b"two and more\r\n"
    assert stream.finish() == b""


def test_an_endless_line_is_given_out_in_parts_and_held_in_bounds():
    stream = StreamRedactor()
    given = 0
    for _ in range(400):
        given += len(stream.feed(b"word " * 1000))
        assert stream._held <= 80_000
    assert given + len(stream.finish()) == 400 * 5000


@pytest.mark.parametrize("before", [57_000, 57_300, 57_344, 57_380, 65_500, 65_536, 65_560])
def test_a_key_at_the_seam_of_an_endless_line_never_leaks(before):
    text = b"a " * (before // 2) + KEY.encode() + b" b" * 40_000
    for step in (1000, 65_537, len(text)):
        shown = streamed(*(text[i : i + step] for i in range(0, len(text), step)))
        assert b"[REDACTED:github]" in shown
        assert not any(piece.encode() in shown for piece in pieces_of(KEY))


@pytest.mark.no_cover
def test_an_endless_token_is_swallowed():
    token = ("gh" + "p_" + some(300_000)).encode()
    shown = streamed(*(token[i : i + 4096] for i in range(0, len(token), 4096)), b" end\n")
    assert shown == b"[REDACTED:github] end\n"


def test_declared_secrets_are_replaced_in_every_form():
    secret = 'p"ss wörd%1'
    shown = redact(f'a {secret} b p\\"ss w\\u00f6rd%1 c p%22ss%20w%C3%B6rd%251 d', [secret])
    assert shown == "a [REDACTED:secret] b [REDACTED:secret] c [REDACTED:secret] d"


def test_a_declared_secret_of_many_lines_is_replaced_line_by_line():
    secret = f"first-{some(9)}\nsecond-{some(9)}\n"
    shown = streamed(*(bytes([byte]) for byte in f"x{secret}y\n".encode()), known=[secret])
    assert shown == b"x[REDACTED:secret]\n[REDACTED:secret]\ny\n"


def test_a_declared_secret_of_three_letters_is_left_alone():
    assert redact("the cat", ["cat"]) == "the cat"


def test_text_without_secrets_comes_back_as_the_same_object():
    text = "nothing \udcff to see — ünïcode"
    assert redact(text) is text


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text(), st.text(), st.lists(st.integers(0, 200), max_size=6))
def test_any_text_around_a_key_survives_and_the_key_does_not(before, after, cuts):
    text = f"{before} {KEY} {after}\n".encode("utf-8", "surrogatepass")
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    chunks = [text[start:end] for start, end in pairwise(places)]
    shown = streamed(*chunks)
    assert KEY.encode() not in shown
    assert shown.startswith(f"{before} [".encode("utf-8", "surrogatepass"))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.binary(max_size=40), max_size=20))
def test_a_stream_without_secrets_passes_byte_for_byte(chunks):
    assert streamed(*chunks) == b"".join(chunks)


def test_hexadecimal_beside_nothing_is_shown():
    digest = some(64, HEX)
    assert redact(f"sha256:{digest}") == f"sha256:{digest}"
