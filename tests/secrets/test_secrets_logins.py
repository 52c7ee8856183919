"""A login in base64 is as good as a login: in headers, configurations, addresses."""

import base64

import pytest

from runner.model import Severity
from runner.secrets.entropy import is_login
from runner.secrets.redact import StreamRedactor, is_env_file, read_env_values, redact
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


# --- which values of an `.env` file are hidden ----------------------------------------


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (".env", True),
        ("services/api/.env.local", True),
        (".envrc", True),
        ("prod.env", True),
        (".dev.vars", True),
        ("environment.py", False),
        ("env/x", False),
        (".environment", False),
    ],
)
def test_env_files_are_known_by_their_names(path, is_one):
    assert is_env_file(path) is is_one


@pytest.mark.parametrize(
    ("line", "value", "is_secret"),
    [
        ("API_KEY=abcd1234", "abcd1234", True),
        ("DB_PASSWORD=hunter2", "hunter2", True),
        ("SECRET_KEY=development", "development", True),
        ("  export GREETING='hello there'", "hello there", False),
        ('URL="postgres://u:p@h/d" # main', "postgres://u:p@h/d", False),
        ("URL=postgres://u:p@h/d # main", "postgres://u:p@h/d", False),
        ("PASS=with#hash", "with#hash", True),
        ('KEY="line one\nline two"', "line one\nline two", True),
    ],
)
def test_values_are_hidden_and_those_of_secret_names_are_secrets(line, value, is_secret):
    (found,) = read_env_values(f"A=1\n{line}\r\nB=2\n".replace("\r\n", "\n"))
    assert (found.value, found.is_secret) == (value, is_secret)


@pytest.mark.parametrize(
    "line", ["DEBUG=true", "PORT=8000", "NODE_ENV=development", "URL=http://localhost:3000/", "K="]
)
def test_ordinary_words_are_not_hidden(line):
    assert list(read_env_values(line)) == []
