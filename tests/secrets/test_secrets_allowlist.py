"""A person may allow a false positive, with a name, a reason and a day."""

from __future__ import annotations

from datetime import date

import pytest
from secret_samples import some

from runner.errors import RunnerError
from runner.secrets.allowlist import AllowList, entry, read_allow_list
from runner.secrets.scan import scan_content

TODAY = date(2026, 11, 21)
KEY = "gh" + "p_" + some(36)


def allowed(value=KEY, expires=date(2027, 1, 31)):
    made = entry(value, reason="a revoked key", author="Ada <ada@example.com>", expires=expires)
    return AllowList((made,), TODAY)


def test_an_allowed_value_passes_the_scan_and_no_other_does():
    content = f'a = "{KEY}"'.encode()
    assert scan_content(content, "a.py", allowed=allowed()) == ()
    assert scan_content(content, "a.py", allowed=allowed("another value"))


def test_an_entry_holds_through_its_day_and_not_longer():
    assert allowed(expires=TODAY).match(KEY)
    assert not allowed(expires=date(2026, 11, 20)).match(KEY)
    assert allowed(expires=None).match(KEY)
    assert len(allowed(expires=date(2026, 11, 20)).list_expired()) == 1


def test_the_file_keeps_no_value_and_no_two_digests_alike():
    both = AllowList((*allowed().entries, *allowed().entries, *allowed().entries), TODAY)
    first, second = allowed().entries[0], allowed().entries[0]
    assert first.digest != second.digest
    assert KEY.encode() not in both.render()


def test_what_is_written_is_read_again():
    odd = entry(KEY, reason='said "yes"\n\\ \x01 ü \x7f', author="B", expires=None, salt=b"salt")
    both = AllowList((*allowed().entries, odd), TODAY)
    again = read_allow_list(both.render(), TODAY)
    assert again.entries[0] == both.entries[0]
    assert again.entries[1].digest == odd.digest
    assert again.render() == both.render().replace(b"\x7f", b"?")


def test_a_digest_of_letters_that_none_has_allows_nothing():
    text = 'salt = "a"\ndigest = "é"\nreason = "r"\nauthor = "a"\n'
    allowed = read_allow_list(f"[[allowed]]\n{text}".encode(), date(2030, 1, 1))
    assert not allowed.match("anything")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[allowed]]\nsalt = 1", ("entry 1 cannot be read: salt, digest, reason, author must be a"
         " non-empty string")),
        ("[[allowed]]\nvalue = 'x'", ("entry 1 cannot be read: known fields are author, digest,"
         " expires, reason, salt")),
        ("allow = 1", "only [[allowed]] entries are allowed here"),
        ("[[allowed]]\nsalt='a'\ndigest='b'\nreason='c'\nauthor='d'\nexpires='soon'",
         "entry 1 cannot be read: expires must be a date such as 2027-01-31"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_why(text, message):
    with pytest.raises(RunnerError) as caught:
        read_allow_list(text.encode(), TODAY)
    assert caught.value.message == message
    assert caught.value.where == "secrets-allowed.toml"
    assert "secrets allow" in caught.value.hint


def test_a_file_that_is_no_toml_is_an_error_and_allows_nothing():
    with pytest.raises(RunnerError, match="invalid TOML"):
        read_allow_list(b"\xff[[", TODAY)


@pytest.mark.parametrize(("reason", "author"), [(" ", "Ada"), ("why", "")])
def test_nobody_allows_without_a_reason_and_a_name(reason, author):
    with pytest.raises(RunnerError, match="needs a reason and an author"):
        entry(KEY, reason=reason, author=author, expires=None)
