"""A declared value does not leave in any form that a program may print it in."""

import base64
import html
import json
import urllib.parse
from xml.sax import saxutils

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.secrets.redact import StreamRedactor, redact

VALUES = ("Correct-Horse/77+battery", "pa ss&wörd=1%\"quote'\\", "abcdef123", "ключ-от-двери")
ESC = "\x1b"


def as_base64(before):
    return lambda value: base64.b64encode(before + value.encode() + b":tail").decode()


def mime(text):
    """As mails have it: in lines of 76, here joined."""
    return base64.encodebytes(text.encode()).decode().replace("\n", "")


FORMATS = {
    "plain": lambda value: value,
    "reversed": lambda value: value[::-1],
    "base64 alone": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 before more": as_base64(b""),
    "base64 behind one": as_base64(b"u"),
    "base64 behind two": as_base64(b"u:"),
    "base64 behind three": as_base64(b"me:"),
    "base64 for urls": lambda value: base64.urlsafe_b64encode(b"u" + value.encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "HEX": lambda value: value.encode().hex().upper(),
    "url": lambda value: urllib.parse.quote(value, safe=""),
    "url with slashes": urllib.parse.quote,
    "form": urllib.parse.quote_plus,
    "mail": lambda value: mime(f"{'To whom it concerns, ' * 4}{value} and more {'of it ' * 20}"),
    "hex of more": lambda value: f"the value is {value}, as was said".encode().hex(),
    "json": lambda value: json.dumps({"key": value}),
    "json beyond ascii": lambda value: json.dumps([value], ensure_ascii=False),
    "json in json": lambda value: json.dumps(json.dumps(value)),
}
OF_PROGRAMS = {
    "literal": lambda value: repr(value + "'")[1:-1],
    "literal between apostrophes": lambda value: repr(value + "'" + '"')[1:-1],
    "literal of ascii": lambda value: ascii(f"{value}'"),
    "literal of bytes": lambda value: repr(f"{value}'".encode()),
    "hex in pairs": lambda value: value.encode().hex(" "),
    "hex of a fingerprint": lambda value: value.encode().hex(":").upper(),
    "url to the last letter": lambda value: "%" + value.encode().hex("%"),
    "url of encodeURIComponent": lambda value: urllib.parse.quote(value, safe="!'()*"),
    "json to the last letter": lambda value: "".join(f"\\u{ord(one):04x}" for one in value),
    "code to the last letter": lambda value: "\\x" + value.encode().hex(" ").replace(" ", "\\x"),
    "html": html.escape,
    "html of a literal": lambda value: html.escape(repr(value + "'")),
    "xml": saxutils.escape,
    "xml of ascii": lambda value: (
        saxutils.escape(value).encode("ascii", "xmlcharrefreplace").decode()
    ),
    "wide in base64": lambda value: base64.b64encode(f"$p='{value}'".encode("utf-16-le")).decode(),
    "wide in hex": lambda value: f"{value} and more".encode("utf-16-be").hex(),
}
SHAPES = {
    "as it is": lambda text: text,
    "coloured": lambda text: f"{ESC}[1;31m{text[:3]}{ESC}[0m{ESC}[32m{text[3:]}{ESC}[m",
    "coloured letter by letter": f"{ESC}[31m".join,
    "linked": lambda text: f"{text[:4]}{ESC}]8;;https://a.example{ESC}\\{text[4:]}{ESC}]8;;\x07",
    "struck over": lambda text: "".join(f"{c}\b{c}" if c.isalnum() else c for c in text),
    "parted by what has no width": "\u200b".join,
    "parted by zeros": "\0".join,
    "colours written out": lambda text: f"{text[:2]}\\u001b[31m{text[2:5]}\\x1b[0m{text[5:]}",
}


def folded(text, width, end="\n"):
    return end.join(text[at : at + width] for at in range(0, len(text), width))


SHAPES |= {
    "folded as mails are": lambda text: folded(text, 76),
    "folded as keys are": lambda text: folded(text, 64),
    "folded narrowly": lambda text: folded(text, 11),
    "folded and indented": lambda text: folded(text, 13, "\r\n    "),
    "folded in a string": lambda text: folded(text, 12, "\\n"),
    "folded in markup": lambda text: folded(text, 12, "&#10;"),
    "cut by returns": lambda text: folded(text, 7, "\r"),
    "folded and coloured": lambda text: folded(f"{text[:3]}{ESC}[31m{text[3:]}", 15),
}


def streamed(data, known, size):
    stream = StreamRedactor(known)
    pieces = [stream.feed(data[at : at + size]) for at in range(0, len(data), size)]
    return b"".join(pieces) + stream.finish()


def name_of_folding(shape):
    """Whether three letters of a value may be shown before the rest of it comes."""
    return shape.startswith(("folded", "cut"))


def middle(text):
    """A third of its letters: enough to give it away."""
    letters = [letter for letter in text if letter.isalnum()]
    return "".join(letters[len(letters) // 3 : 2 * len(letters) // 3])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", VALUES)
def test_no_form_in_no_shape_leaves(value, name, shape):
    assert_hidden(value, FORMATS[name](value), shape)


@pytest.mark.parametrize("shape", ["as it is", "coloured", "folded narrowly"])
@pytest.mark.parametrize("name", OF_PROGRAMS)
@pytest.mark.parametrize("value", [*VALUES, "a&b<c>d'e\"f/ü\\x"])
def test_no_form_of_a_library_leaves(value, name, shape):
    assert_hidden(value, OF_PROGRAMS[name](value), shape)


def assert_hidden(value, form, shape):
    text = f"before {SHAPES[shape](form)} after\n"
    shown = redact(text, (value,))
    assert "[REDACTED:secret]" in shown
    left = shown.replace("[REDACTED:secret]", "")
    assert middle(form) not in "".join(letter for letter in left if letter.isalnum())
    assert shown.startswith("before ")
    assert shown.endswith(" after\n")
    for size in (1, 7, 64):
        given = streamed(text.encode(), (value,), size).decode()
        left = given.replace("[REDACTED:secret]", "")
        assert middle(form) not in "".join(letter for letter in left if letter.isalnum())
        if not name_of_folding(shape):
            assert given == shown


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("value", VALUES)
def test_wide_letters_are_no_hiding_place(value, name):
    data = "login ".encode(name) + value.encode(name) + " done".encode(name)
    shown = streamed(data, (value,), 5)
    assert value.encode(name) not in shown
    assert value not in shown.decode(name, "replace")
    assert shown.startswith("login ".encode(name)[:-1])


@given(before=st.binary(max_size=6), after=st.binary(max_size=6), cut=st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_whatever_stands_around_it_in_base64_and_wherever_a_read_ends(before, after, cut):
    value = "Correct-Horse/77+battery"
    line = b"x=" + base64.b64encode(before + value.encode() + after) + b"\n"
    stream = StreamRedactor((value,))
    shown = stream.feed(line[:cut]) + stream.feed(line[cut:]) + stream.finish()
    kept = shown.replace(b"[REDACTED:secret]", b"")
    left = base64.b64encode(value.encode())[4:-4]
    assert left not in kept
    assert b"[REDACTED:" in shown


@pytest.mark.parametrize("text", ["eulav a si siht", "dGVzdA==", "6162", "%41%42", "plain words"])
def test_ordinary_text_beside_declared_values_stays(text):
    assert redact(text, VALUES) == text


def test_short_values_are_looked_for_in_few_forms():
    assert redact("a dcba b", ("abcd",)) == "a dcba b"
    assert redact("a abcd b", ("abcd",)) == "a [REDACTED:secret] b"


def test_bytes_of_one_letter_each_are_no_hiding_place():
    assert (
        streamed("x=pässwörd!\n".encode("latin-1"), ("pässwörd!",), 5) == b"x=[REDACTED:secret]\n"
    )


def test_two_values_that_overlap_are_both_taken_out():
    shown = redact("abcdefghij", ("abcdefg", "defghij"))
    assert shown == "[REDACTED:secret]"


def test_colours_that_hide_nothing_stay_as_they_are():
    text = f"{ESC}[32mpassed{ESC}[0m 3 tests\n"
    assert redact(text, VALUES) is text
