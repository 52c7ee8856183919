"""A forge's signed delivery wakes the bridge of its repository; nothing else is heard of it."""

import hashlib
import hmac
import json
import uuid

import pytest

PATH = "/hooks/github"
NEWS = json.dumps({"action": "labeled", "repository": {"full_name": "Acme/Shop"}}).encode()


@pytest.fixture
def secret(alone, monkeypatch):
    made = uuid.uuid4().hex
    monkeypatch.setenv("GITHUB_WEBHOOK_SECRET", made)
    return made.encode()


@pytest.fixture
def wake(workplace):
    """The file that a bridge of acme/shop looks for."""
    folder = workplace.home / "state/runner/bridge/acme+shop"
    folder.mkdir(parents=True)
    return folder / "wake"


def deliver(site, secret, body=NEWS, **changes):
    signed = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    headers = {
        "Host": "hooks.example",
        "X_Hub_Signature_256": signed,
        "X_GitHub_Delivery": str(uuid.uuid4()),
        "X_GitHub_Event": "issues",
        "Content_Type": "application/json",
        **changes,
    }
    status, told, said = site.ask("POST", PATH, body, **headers)
    return status, json.loads(said) if "json" in told["content-type"] else said


def test_a_signed_delivery_wakes_once_however_often_it_is_sent(secret, wake, workplace, serve):
    workplace.plan("")
    site = serve(enter=False)
    sent = str(uuid.uuid4())
    assert deliver(site, secret, X_GitHub_Delivery=sent) == (202, {"woken": True})
    assert wake.read_bytes() == b""
    wake.unlink()
    status, said = deliver(site, secret, X_GitHub_Delivery=sent)
    assert (status, said["woken"]) == (202, False)
    assert not wake.exists()
    other = NEWS.replace(b"Shop", b"Other")
    assert deliver(site, secret, other) == (202, {"woken": False})
    assert list(wake.parent.parent.iterdir()) == [wake.parent]
    ping = b'{"zen": "Keep it logically awesome."}'
    assert deliver(site, secret, ping) == (202, {"woken": False})
    assert not wake.exists()

    odd = [
        ({"X_Hub_Signature_256": None}, NEWS, 401),
        ({"X_Hub_Signature_256": "sha256=" + "0" * 64}, NEWS, 401),
        ({"X_Hub_Signature_256": "sha1=" + "0" * 40}, NEWS, 401),
        ({"X_Hub_Signature_256": hmac.new(secret, NEWS, "sha256").hexdigest()}, NEWS, 401),
        ({"X_GitHub_Delivery": None}, NEWS, 400),
        ({"X_GitHub_Delivery": "../../x"}, NEWS, 400),
        ({"Content_Type": "application/x-www-form-urlencoded"}, NEWS, 415),
        ({"Content_Length": "99999999"}, b"{", 413),
        ({}, b"[" * 2000, 400),
        ({}, b"no json", 400),
        ({}, b'{"repository": {"full_name": "../../acme/shop"}}', 202),
        ({}, b'{"repository": {"full_name": 7}}', 202),
        ({}, b'[{"repository": 1}]', 202),
    ]
    for changes, body, right in odd:
        status, said = deliver(site, secret, body, **changes)
        assert status == right, (changes, body, said)
        assert not said.get("woken")
    assert not wake.exists()
    assert deliver(site, secret[::-1]) == (
        401,
        {"error": {"message": "the signature does not match the secret"}},
    )
    assert site.ask("GET", PATH)[0] == 405


def test_without_a_secret_there_is_no_such_door(wake, workplace, serve):
    workplace.plan("")
    assert deliver(serve(enter=False), b"")[0] in (401, 421)
    assert not wake.exists()
