import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.model import Action, Change, digest_of
from runner.report.diff_view import diff_text, hunks, stretches

SGR = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
ESCAPE = "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07"


def a_change(before, after, path="src/app.py", mode=0o100644):
    action = Action.MODIFY
    if before is None:
        action = Action.CREATE
    elif after is None:
        action = Action.DELETE
    old = None if before is None else digest_of(before)
    new = None if after is None else digest_of(after)
    return Change(path, action, 0 if after is None else mode, old, new, after)


def plain(before, after, **more):
    return diff_text(before, a_change(before, after, **more), colour=False, width=80)


def coloured(before, after, **more):
    return diff_text(before, a_change(before, after, **more), colour=True, width=20)


def a_key():
    letters = string.ascii_letters + string.digits
    return "sk-" + "proj-" + "".join(letters[n * 7 % 62] for n in range(80))


def test_a_changed_file_is_a_unified_diff():
    before = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
    assert plain(before, before.replace(b"six", b"6")) == (
        "--- a/src/app.py\n"
        "+++ b/src/app.py\n"
        "@@ -3,5 +3,5 @@\n"
        " three\n"
        " four\n"
        " five\n"
        "-six\n"
        "+6\n"
        " seven"
    )


def test_a_new_a_deleted_and_an_empty_file_are_said():
    assert plain(None, b"x\n", mode=0o100755) == (
        "new file mode 100755\n--- /dev/null\n+++ b/src/app.py\n@@ -0,0 +1 @@\n+x"
    )
    assert plain(b"x\n", None) == (
        "deleted file\n--- a/src/app.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x"
    )
    assert "the file is empty now" in plain(b"x\n", b"")
    assert "the file is empty before" in plain(b"", b"x\n")


def test_a_new_mode_alone_is_said():
    said = plain(b"x\n", b"x\n", mode=0o100755)
    assert said.startswith("content unchanged; new mode 100755\n")
    assert "@@" not in said
    assert plain(b"x\n", b"y\n", mode=0o100755).startswith("executable, mode 100755\n")


def test_a_missing_last_line_end_is_noted_on_its_side():
    assert plain(b"x\n", b"x").endswith("-x\n+x\n\\ No newline at end of file")
    assert plain(b"x", b"x\n").endswith("-x\n\\ No newline at end of file\n+x")


def test_line_ends_are_told_once_and_not_on_every_line():
    assert "lines ended with CR LF, now with LF" in plain(b"x\r\ny\r\n", b"x\ny\n")
    same = plain(b"x\r\ny\r\n", b"x\r\nz\r\n")
    assert "lines end with CR LF" in same
    assert "\\r" not in same
    assert "+z\\r" in plain(b"x\ny\n", b"x\nz\r\n")  # one odd line end is shown where it is


def test_bytes_that_are_no_text_are_named_with_their_size():
    said = plain(b"\x00\x01\x02" * 100, bytes(range(256)) * 9)
    assert said.endswith("binary: 300 bytes before, 2304 bytes now")


def test_one_strange_byte_does_not_hide_a_text():
    said = plain(b"x = 1\n" * 20, b"x = 1\n" * 20 + b"evil()  # \xff \x00\n")
    assert "+evil()  # \\xff \\x00" in said


def test_utf16_is_read_as_what_it_says():
    said = plain(None, "\ufeffname = 'käse'\n".encode("utf-16-le"), path="a.txt")
    assert "the file is UTF-16 now" in said
    assert said.endswith("+name = 'käse'")


def test_a_key_that_goes_away_is_not_shown_on_its_way_out():
    key = a_key()
    before = f'client = Client("{key}")\n'.encode()
    for said in (plain(before, b"client = Client()\n"), coloured(before, b"client = Client()\n")):
        assert key not in said
        assert key[10:40] not in said
        assert "[REDACTED:" in said


def test_a_blotted_private_key_keeps_the_lines_in_their_places():
    body = "\n".join(
        "".join(string.ascii_letters[(n * m) % 52] for n in range(64)) for m in (3, 5, 7)
    )
    begin, end = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
    before = f"a\n{begin}\n{body}\n{end}\nb\nc\nd\ne\nf\n".encode()
    said = plain(before, before.replace(b"f\n", b"F\n"), path="notes.txt")
    assert "@@ -8,4 +8,4 @@" in said
    assert body[:20] not in plain(before, b"", path="notes.txt")


def test_escapes_in_path_and_content_are_spelled_out():
    said = coloured(None, f"{ESCAPE}\u202e\u200b\r\n\x9b1m\n".encode(), path=f"a{ESCAPE}.py")
    assert CONTROL.search(SGR.sub("", said)) is None
    assert "\\x1b]8;;http://evil.example\\x07click" in said
    assert "\\u202e\\u200b\\r" in said


def test_changed_words_stand_out_and_new_lines_are_highlighted():
    said = coloured(b"total = price + tax\n", b"total = price - tax\nimport os\n")
    assert "\x1b[7m+\x1b[0m" in said  # the word that went, in reverse
    assert "\x1b[7m-\x1b[0m" in said
    assert "\x1b[94" in said  # a keyword of Python
    assert said.startswith("─" * 20 + "\n")


def test_colours_change_nothing_but_colours():
    before, after = b"def f():\n    return 1\n", b"def f():\n    return [2]  # [bold]x[/bold]\n"
    without = SGR.sub("", coloured(before, after)).split("\n", 1)[1]
    assert without == plain(before, after)


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_a_file_that_is_nothing_but_a_mark_is_shown(mark):
    assert "+x" in plain(mark, b"x\n")
    assert plain(None, mark)


TEXT = st.text(
    st.sampled_from("ab \t\n\r\x00\x1b\x07\x9b\u202e\u2066\u200b\ufeff\u2028é漢[]/;m\\8"),
    max_size=60,
)
BYTES = st.one_of(TEXT.map(lambda text: text.encode("utf-8")), st.binary(max_size=60))


@given(st.one_of(st.none(), BYTES), BYTES, TEXT, st.booleans())
@settings(max_examples=300, derandomize=True, deadline=None)
def test_no_control_character_but_newline_and_tab_ever_comes_out(before, after, name, colour):
    path = f"d/{name}.py"
    said = diff_text(before, a_change(before, after, path=path), colour=colour, width=30)
    left = SGR.sub("", said) if colour else said
    assert CONTROL.search(left) is None
    assert "\u2028" not in left


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_text_may_be_shown(before, after):
    old, new = (text.encode("utf-8", "replace") for text in (before, after))
    said = diff_text(old, a_change(old, new), colour=True, width=0)
    assert CONTROL.search(SGR.sub("", said)) is None


def test_a_very_long_line_and_a_very_large_file_are_shown():
    long = b"x = '" + b"a b " * 250_000 + b"'\n"
    assert "+y = " in plain(long, b"y = 1\n" + long)
    large = b"".join(b"line %d of a text\n" % n for n in range(100_000))
    said = coloured(large, large.replace(b"line 77777 ", b"LINE 77777 "))
    # rule, two names, place, three lines before and after, the old line and the new
    assert len(said.splitlines()) == 12


LINES = st.lists(st.sampled_from("abcdefgh"), max_size=30)


def rebuilt(old, new):
    """Both texts, put together again from the stretches."""
    found = stretches(old, new)
    assert [one.kind for one in found if one.kind == "equal"] == [
        "equal" for one in found if old[one.i1 : one.i2] == new[one.j1 : one.j2]
    ]
    return (
        [line for one in found for line in old[one.i1 : one.i2]],
        [line for one in found for line in new[one.j1 : one.j2]],
    )


@given(LINES, LINES)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_stretches_cover_both_texts_in_order(old, new):
    assert rebuilt(old, new) == (old, new)


@given(LINES, LINES)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_hunks_hold_every_change_once(old, new):
    found = stretches(old, new)
    in_hunks = [one for hunk in hunks(found) for one in hunk if one.kind == "replace"]
    assert in_hunks == [one for one in found if one.kind == "replace"]


def test_a_moved_block_keeps_what_stayed_around_it():
    old = ["one", "two", "three", "four", "five"]
    new = ["one", "three", "four", "two", "five"]
    equal = [one for one in stretches(old, new) if one.kind == "equal"]
    assert [old[one.i1 : one.i2] for one in equal] == [["one"], ["three", "four"], ["five"]]


def test_a_hunk_has_three_lines_around_a_change_and_joins_near_ones():
    old = [str(n) for n in range(40)]
    near = ["x" if line in {"10", "16"} else line for line in old]
    far = ["x" if line in {"10", "30"} else line for line in old]
    assert [(h[0].i1, h[-1].i2) for h in hunks(stretches(old, near))] == [(7, 20)]
    assert [(h[0].i1, h[-1].i2) for h in hunks(stretches(old, far))] == [(7, 14), (27, 34)]


def test_texts_made_to_be_slow_come_to_an_end():
    """difflib alone needs minutes for each of these."""
    size = 60_000
    pairs = (
        (["x"] * size, ["y", "x"] * (size // 2)),
        ([str(n % 500) for n in range(size)], [str(n * 7 % 500) for n in range(size)]),
        ([str(n) for n in range(size)], [str(n) for n in reversed(range(size))]),
    )
    for old, new in pairs:
        assert rebuilt(old, new) == (old, new)
