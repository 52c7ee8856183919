"""A value is found wherever a secret-looking name can give it one: in code, settings and prose."""

from __future__ import annotations

import base64
import random
import string

import pytest
from secret_samples import pem, some

from runner.model import Severity
from runner.secrets.detect_secrets import second_opinion
from runner.secrets.entropy import is_login, looks_random
from runner.secrets.redact import StreamRedactor, is_env_file, read_env_values, redact
from runner.secrets.scan import scan_content

CHANCE = random.Random("contexts")
WORD = string.ascii_letters + string.digits
NAME, UPPER = "ap" + "i_key", "AP" + "I_KEY"


def key(size=32, alphabet=WORD):
    while True:
        made = "".join(CHANCE.choices(alphabet, k=size))
        if made[-1].isalnum() and looks_random(made):
            return made


def refused(text, path="notes.txt"):
    content = text if isinstance(text, bytes) else text.encode()
    return any(finding.refuses for finding in scan_content(content, path))


GIVEN = {
    "a literal on the next line": f'{UPPER} = (\n    "@"\n)\n',
    "a list": f'{{"{NAME}s": [\n    "@"\n]}}',
    "the default of a lookup": f'{NAME} = os.getenv("SERVICE_{UPPER}_FOR_US", "@")',
    "a text within a text": f'{{"body": "{{\\"{NAME}\\": \\"@\\"}}"}}',
    "a generated constant": f'buildConfigField "String", "{UPPER}", "\\"@\\""',
    "a type in between": f"const {UPPER}: &'static str = \"@\";",
    "a property of C#": "public string Api" + 'Key { get; set; } = "@";',
    "a variable of Terraform": f'variable "{NAME}" {{\n  type    = string\n  default = "@"\n}}',
    "a block of YAML": f"{NAME}: |\n  @\nother: 1\n",
    "a folded block of YAML": f"{NAME}: >-\n  @\n",
    "a property list": "<key>api" + "Key</key>\n\t<string>@</string>",
    "a resource": f'<string name="{NAME}" translatable="false">@</string>',
    "an attribute without quotes": f"<input name={NAME} value=@>",
    "an option": f"deploy --{NAME.replace('_', '-')} @ --fast",
    "an instruction of Docker": f"ENV {UPPER} @\n",
    "a .netrc": "machine example.org login bot passw" + "ord @\n",
    "the default of a variable": f': "${{{UPPER}:=@}}"',
    "a conditional assignment": f"{UPPER} ?= @\n",
    "a header of curl": "curl -H 'X-Api-" + "Key: @' https://example.org/",
    "a login of curl": "curl -s -u bot:@ https://example.org/",
    "an element on lines of its own": f"<{NAME}>\n    @\n</{NAME}>",
    "a stored credential of Jenkins": "<secret>{service AQAAABAAA @}</secret>",
    "a key of something": "[DEBUG] Using service Key=@\n",
    "a query of an address": "https://api.example.org/v1/users?key=@&page=2",
    "blanks within the quotes": f"{NAME} = ' @ '",
    "an address without a user": "git clone https://@\0example.org/x.git",
    "a unit of systemd": f'Environment="{UPPER}=@"',
    "a bold label": "**Api " + "key:** @\n",
    "a table": f"| `{UPPER}` | `@` |\n",
    "a field of a document": f":{NAME}: ``@``\n",
    "a longer sentence": "Use `@` as the billing service api " + "key.",
    "two literals": f'{NAME} = "@1" + "@2"',
    "literals on three lines": f'{NAME} = (\n    "@1"\n    "@2"\n)\n',
    "a join": f'{NAME} = "".join(["@1", "@2"])',
    "a zero-width space": f'{NAME} = "@1\u200b@2"',
}  # fmt: skip


def filled(text, value):
    half = len(value) // 2
    parts = text.replace("@1", value[:half]).replace("@2", value[half:])
    return parts.replace("@", value).replace("\0", "@")


@pytest.mark.parametrize("text", GIVEN.values(), ids=GIVEN)
def test_a_value_is_found_in(text):
    value = key()
    written = filled(text, value)
    assert refused(written)
    assert value[:12] not in redact(written)


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16", "utf-32"])
def test_a_value_is_found_in_other_encodings(encoding):
    assert refused(f'{NAME} = "{key()}"\n'.encode(encoding))


def test_a_value_written_in_escapes_is_found():
    escaped = "".join(f"\\x{ord(letter):02x}" for letter in key())
    assert refused(f'{NAME} = "{escaped}"')


def test_an_address_in_the_base64_of_a_manifest_is_found():
    address = "postgres://app:" + key(20) + "@db.internal/app"
    manifest = f"data:\n  database: {base64.b64encode(address.encode()).decode()}\n"
    assert refused(manifest, "secret.yaml")


def test_a_password_may_have_punctuation_and_need_not_have_digits():
    for value in (key(20, WORD + "!@#%^&*_+-"), key(20, string.ascii_letters)):
        assert refused(f'password = "{value}"'), value
        assert refused(f"PASSWORD={value}\n", ".env"), value


@pytest.mark.parametrize(
    "text",
    [
        "self._token = binascii.b2a_hex(token)",
        f'{NAME} = (\n    "read_it_from_the_environment"\n)',
        f"| {NAME} | the name of the header to send |",
        f"deploy --{NAME.replace('_', '-')} CONFIGURED_IN_THE_PIPELINE_2",
        f"ENV {UPPER} ${{{UPPER}_FROM_THE_BUILD_2}}",
        "https://registry.example.org:4873/scoped/packages/@types/node12",
        "token is " + "TheQuickBrownFoxJumpsOverTheLazyDog",
    ],
)
def test_what_only_looks_like_it_does_not_refuse(text):
    assert not refused(text)


PASSWORDS = {
    "an address of PostgreSQL": "postgresql://shop:@\0db.example.org/shop",
    "an address of MongoDB": "mongodb+srv://shop:@\0cluster0.mongodb.net/shop",
    "a login of curl": 'curl -u "admin:@" https://127.0.0.1:9200',
    "a connection of SQL Server": '"Server=db,1433;Database=B;User ID=sa;Pass" + "word=@;"',
}


@pytest.mark.parametrize("text", PASSWORDS.values(), ids=PASSWORDS)
def test_a_plain_word_is_a_password_where_its_place_is_certain(text):
    assert refused(filled(text, "open" + "sesame"), "app.env")
    assert not refused(filled(text, "${DB_PASSWORD}"), "app.env")
    assert not refused(filled(text, "changeme"), "app.env")


PLACES = {
    "a header without a scheme": ("curl -H 'Author" + "ization:  @' https://db.internal", "uuid"),
    "a header of another scheme": ("Author" + "ization: Negotiate @", "key"),
    "a parameter of a scheme": ("author" + 'ization: OAuth oauth_signature="@"', "key"),
    "a quote of a page": ('<a href="https://db.internal/?to' + 'ken=&quot;@&quot;">', "key"),
    "a quoted half of a login": ("curl --user kevin:'@' -X PATCH", "key"),
    "a remark behind the name": ("Pass" + "word (staging): @\n", "chosen"),
    "a line of an environment": ("REACT_APP_PASS" + "WORD=@\n", "word"),
    "a default that is told": ("The default Pass" + "word is '@'\n", "word"),
    "a login of a host of gems": ("bundle_gems__internal__org: ".upper() + "me:@\n", "word"),
    "punctuation in a row": ("pass" + 'word = "TULIPS@"', "punctuation"),
    "a manifest, the data first": ("data:\n  a: @\nkind: Secret\n", "encoded"),
    "a manifest behind another": ("kind: Pod\n---\nkind: Secret\ndata:\n  a: @\n", "encoded"),
    "a manifest with a template": ("kind: Secret\ndata:\n  b: {{ b }}\n  a: @\n", "encoded"),
}
VALUES = {
    "uuid": lambda: "3f2504e0-4f89-41d3" + "-9a0c-0305e82c3301",
    "key": key,
    "chosen": lambda: "Kd7#" + "mw2Q",
    "word": lambda: "white" + "duke",
    "punctuation": lambda: "!@#" + "$%^",
    "encoded": lambda: base64.b64encode(b"tulips in " + b"June").decode(),
}


@pytest.mark.parametrize(("text", "kind"), PLACES.values(), ids=PLACES)
def test_the_place_says_that_it_is_a_credential(text, kind):
    assert refused(filled(text, VALUES[kind]()))
    assert not refused(filled(text, "${FROM_THE_VAULT}"))
    assert not refused(filled(text, "changeme"))


@pytest.mark.parametrize(
    "text",
    [
        "kind: ConfigMap\ndata:\n  a: @\n",
        "kind: Secret\nmetadata:\n  name: a\n---\ndata:\n  a: @\n",
        "kind: SecretStore\ndata:\n  a: @\n",
    ],
)
def test_data_of_another_manifest_is_no_secret(text):
    assert not refused(filled(text, VALUES["encoded"]()))


def test_what_is_public_in_a_manifest_of_secrets_is_none():
    certificate = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nMIIB").decode()
    assert not refused(f"kind: Secret\ndata:\n  ca.pem: {certificate}\n")


def test_a_password_as_people_choose_them_is_found_and_code_beside_the_name_is_not():
    for text in (
        "PASS" + "WORD=@\n",
        "pass" + "word: @\n",
        '"pass' + 'word": "@"',
        "--pass" + "word @ -v",
    ):
        assert refused(filled(text, "Kd7#" + "mw2Q!"), "notes.txt"), text
        assert not refused(filled(text, "get_password(1)"), "notes.txt"), text
        assert not refused(filled(text, "blue"), "notes.txt"), text


def test_an_address_of_a_documentation_and_a_mail_address_in_a_query_are_no_logins():
    assert not refused('"https://john:doe' + '@example.com/path"')
    assert not refused('"http://localhost/abc/deg%2Ftest?email=some+v1' + '@email.com"')
    assert refused('"https://john:doe' + '@shop.io/path"')


def test_an_identifier_is_no_secret_because_a_secret_looking_word_stands_in_its_name():
    uuid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
    assert not refused(f"credentialsId: '{uuid}'")
    assert not refused(f"SECRET_ID={uuid}\n")
    assert refused(f"client_secret = '{uuid}'")


def test_digests_of_a_lock_file_are_no_keys_and_a_vendors_key_in_it_is_one():
    digest = key(40)
    line = f'"token-key": "{digest}"\n'
    assert refused(line, "settings.json")
    assert not refused(line, "web/package-lock.json")
    assert refused("x gh" + "p_" + key(36) + "\n", "web/package-lock.json")


def test_a_template_beside_a_value_does_not_hide_it():
    assert refused(f'{NAME} = "{key(40)}%s"')
    assert not refused(f'{NAME} = "${{PREFIX_OF_THE_KEY}}-%s"')


def streamed(*chunks):
    stream = StreamRedactor()
    return b"".join(stream.feed(chunk) for chunk in chunks) + stream.finish()


def test_no_part_of_a_key_in_three_literals_leaks_at_any_cut_behind_the_first():
    made = "EA" + "AC" + key(190)
    text = f'X = (\n    "{made[:90]}"\n    "{made[90:140]}"\n    "{made[140:]}"\n)\n'.encode()
    for cut in range(100, len(text), 4):
        assert made[-24:].encode() not in streamed(text[:cut], text[cut:]), cut


def test_the_last_line_of_a_private_key_is_taken_out_with_what_closes_it():
    body = pem("").split("\n")
    text = f'KEY = """{chr(10).join(body[:-1])}""",  # old\nx = 1\n'.encode()
    for cut in range(0, len(text), 23):
        shown = streamed(text[:cut], text[cut:])
        assert body[-2][:12].encode() not in shown
        assert shown.endswith(b"x = 1\n")


def test_a_private_key_split_within_a_line_is_taken_out_whole():
    whole = pem("").replace("\n", "\\n")
    middle = len(whole) // 2
    shown = redact(f"KEY = '{whole[:middle]}' +\n  '{whole[middle:]}'")
    assert not any(line[:12] in shown for line in pem("").splitlines()[1:-1])
    assert whole[middle + 20 : middle + 40] not in shown


@pytest.mark.parametrize("start", ["AI" + "za", "AK" + "IA"])
def test_a_key_behind_an_underscore_is_seen_in_a_text_and_in_a_name(start):
    made = start + key(35 if "za" in start else 16, string.ascii_uppercase + "234567")
    assert refused(f"see my_{made} for it\n")
    assert refused("nothing in it\n", f"my_{made}_x.txt")
    assert redact(f"my_{made}").startswith("my_[REDACTED:")


@pytest.mark.parametrize(
    "value", ["example-token&b=1", "sample-password-1!", "dummy.token.1X", "changeme-Now-1"]
)
def test_a_value_without_quotes_is_read_from_its_first_letter(value):
    """`e` is no mark of a literal where no quote follows, and `xample` no word of a document."""
    assert scan_content(f'"GET /a?token={value}"\n'.encode(), "tests/test_mask.py") == ()


PROSE = (
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


def refused_in_prose(text):
    return any(finding.refuses for finding in scan_content(text.encode(), "README.md"))


@pytest.mark.parametrize("sentence", PROSE)
def test_a_key_in_a_sentence_is_found(sentence):
    chance = random.Random(11)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    keys = ["".join(chance.choices(letters, k=32)) for _ in range(20)]
    assert sum(refused_in_prose(sentence.format(key)) for key in keys) >= 19


@pytest.mark.parametrize("sentence", TALK)
def test_a_sentence_about_keys_is_none(sentence):
    assert not refused_in_prose(sentence)


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
