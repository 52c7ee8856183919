"""Keys that a sentence gives away, and sentences that only speak of keys."""

from __future__ import annotations

import random

import pytest
from secret_samples import some

from runner.secrets.detect_secrets import second_opinion
from runner.secrets.scan import scan_content

GIVEN = (
    "Set `api_key` to `{}` and start it.",
    "The API key is {}.",
    "Use `{}` as the API key.",
    "use '{}' for the access token",
    "my token is **{}** for now",
    "The `DB_PASSWORD` should be `{}`.",
    "Your password\nwill be {}",
)
TALK = (
    "The token is invalid_because_it_expired_now.",
    "The key is base64.urlsafe_b64encode(os.urandom(32)) of the file.",
    "The secret is stored as `kubernetes.io/service-account-token`.",
    "Use `client_credentials_grant_v2` as the token type.",
    "Set `api_key` to `YOUR_API_KEY_GOES_HERE_123` and start it.",
    "A token is abcdefghijklmnopqrstuvwxyz without an end.",
    "The key is as long as 12345678901234567890 digits.",
)


def refused(text):
    return any(finding.refuses for finding in scan_content(text.encode(), "README.md"))


@pytest.mark.parametrize("sentence", GIVEN)
def test_a_key_in_a_sentence_is_found(sentence):
    chance = random.Random(11)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    keys = ["".join(chance.choices(letters, k=32)) for _ in range(20)]
    assert sum(refused(sentence.format(key)) for key in keys) >= 19


@pytest.mark.parametrize("sentence", TALK)
def test_a_sentence_about_keys_is_none(sentence):
    assert not refused(sentence)


# --- what is many ---------------------------------------------------------------------


def test_a_long_list_of_addresses_is_no_reason_to_refuse_a_file():
    text = "".join(f"{n % 223 + 1}.{n % 251}.{n % 241}.{n % 239}\n" for n in range(60_000))
    found = scan_content(text.encode(), "blocked.txt")
    assert found
    assert not any(finding.refuses for finding in found)


def test_addresses_before_it_do_not_hide_a_key_that_only_the_second_scanner_knows():
    key = some(32, "0123456789abcdef") + "-us1"
    addresses = b"8.8.8.8\n" * 5_000
    found = second_opinion(addresses + f"x = '{key}'\n".encode(), "a.py")
    assert any(one.blocks for one in found)


def test_where_a_hundred_keys_are_sure_the_rest_is_a_number():
    keys = [f"gh{'p_'}{some(36)[n:]}{some(36)[:n]}" for n in range(36)]
    text = "".join(f"x{n} = '{keys[n % 36]}'\n" for n in range(300))
    found = scan_content(text.encode(), "a.py")
    assert len(found) == 101
    assert found[-1].message == "200 more likely secrets in this file"
