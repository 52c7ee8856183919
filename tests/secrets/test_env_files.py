"""Which values of an `.env` file are hidden."""

import pytest

from runner.secrets.redact import is_env_file, read_env_values


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
