"""A login in base64 is as good as a login: in headers, configurations, addresses."""

import base64

import pytest

from runner.model import Severity
from runner.secrets.entropy import is_login
from runner.secrets.redact import StreamRedactor, redact
from runner.secrets.scan import scan_content


def encoded(text):
    return base64.b64encode(text.encode()).decode()


LOGIN = encoded("carol:" + "tulips in June")
FLOWERS = "tulips9x"
ADDRESS = encoded(f"postgres://carol:{FLOWERS}@db.internal/app")


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Basic {LOGIN}\n",
        f"curl -H 'authorization: basic {LOGIN}' https://example.org\n",
        f'headers = {{"Authorization": "Basic " + "{LOGIN}"}}\n',
        f'{{"auths": {{"registry.example.com": {{"auth": "{LOGIN}"}}}}}}\n',
        f'config = "{{\\"auth\\": \\"{LOGIN}\\"}}"\n',
        f"//registry.example.com/:_auth={LOGIN}\n",
        f"  database: {ADDRESS}\n",
    ],
)
def test_it_is_refused_and_taken_out(text):
    findings = scan_content(text.encode(), "settings.txt")
    assert Severity.ERROR in {one.severity for one in findings}
    shown = redact(text)
    assert "[REDACTED:" in shown
    assert LOGIN not in shown
    assert ADDRESS not in shown


@pytest.mark.parametrize(
    "text",
    [
        f"_auth = {encoded('user:password')}\n",
        f"Authorization: Basic {encoded('me:me')}\n",
        f'{{"auth": "{encoded("name without a colon")}"}}\n',
        "a basic functionality and basic authentication with auth: automatic\n",
        f"  homepage: {encoded('see https://example.org/a:b for more of it')}\n",
        f"  homepage: {encoded('postgres://user:password@localhost/app')}\n",
    ],
)
def test_words_of_a_documentation_are_none(text):
    assert scan_content(text.encode(), "readme.md") == ()
    assert redact(text) == text


def test_wherever_a_stream_is_cut_nothing_of_it_is_shown():
    text = f"> Authorization: Basic {LOGIN}\n".encode()
    for cut in range(1, len(text)):
        stream = StreamRedactor()
        given = stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.finish()
        assert given == b"> Authorization: Basic [REDACTED:basic-auth]\n"


@pytest.mark.parametrize("value", ["", "=", "QQ", "****", "/" * 12, encoded("\x00a:\x01long")])
def test_what_is_no_text_is_no_login(value):
    assert not is_login(value)
