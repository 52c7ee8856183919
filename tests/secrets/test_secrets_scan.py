"""What the scan must withstand: each way to hide a key, and what is no secret at all."""

from __future__ import annotations

import base64
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from secret_samples import B64, HEX, WORD, der, pem, samples, some

from runner.model import Severity
from runner.secrets import detect_secrets
from runner.secrets.detect_secrets import Family, SecondOpinionError, second_opinion
from runner.secrets.scan import hits, scan_content, scan_text

KEY = "gh" + "p_" + some(36)
OPENAI = "sk-" + "proj-" + some(60)


def refused(content, path="src/app.py"):
    data = content.encode() if isinstance(content, str) else content
    return any(finding.refuses for finding in scan_content(data, path))


def escaped(text, form):
    return "".join(form.format(ord(character)) for character in text)


EVASIONS = {
    "an assignment": f'key = "{KEY}"',
    "a function call": f'client = Client("{KEY}")',
    "an index": f'settings["k"] = "{KEY}"',
    "a pragma": f'key = "{KEY}"  # pragma: allow' + "list secret",
    "a nosec": f'key = "{KEY}"  # nosec  # noqa',
    "an environment call around it": f'key = os.environ.get("K", "{KEY}")',
    "two adjacent literals": f'key = "{KEY[:6]}" "{KEY[6:]}"',
    "literals on two lines": f'key = ("{KEY[:6]}"\n       "{KEY[6:]}")',
    "a comment between literals": f'key = ("{KEY[:6]}"  # first\n   "{KEY[6:]}")',
    "a sum": f"key = '{KEY[:6]}' + '{KEY[6:]}'",
    "a sum over three": f"key = '{KEY[:3]}' + '{KEY[3:9]}' + \"{KEY[9:]}\"",
    "a growing variable": f"key = '{KEY[:6]}'\nkey += '{KEY[6:]}'",
    "a join": f"key = ''.join(['{KEY[:6]}', '{KEY[6:]}'])",
    "a format": f'key = "{KEY[:6]}{{}}".format("{KEY[6:]}")',
    "a percent format": f'key = "{KEY[:6]}%s" % "{KEY[6:]}"',
    "a nested template": f"key = f\"{{'{KEY[:6]}'}}{{'{KEY[6:]}'}}\"",
    "a continued line": f'key = "{KEY[:6]}\\\n{KEY[6:]}"',
    "hexadecimal escapes": f'key = "{escaped(KEY, chr(92) + "x{:02x}")}"',
    "unicode escapes": f'key = "{escaped(KEY, chr(92) + "u{:04x}")}"',
    "octal escapes": f'key = "{escaped(KEY, chr(92) + "{:03o}")}"',
    "percent encoding": f"u = x?k={escaped(KEY, '%{:02x}')}",
    "character references": f"<p>{escaped(KEY, '&#x{:02x};')}</p>",
    "an escaped line end before it": '"first\\n' + "AK" + "IA" + some(16, WORD.upper()) + '"',
    "base64": f'k = "{base64.b64encode(f"token {KEY}".encode()).decode()}"',
    "base64 for addresses": f'k = "{base64.urlsafe_b64encode(KEY.encode()).decode()}"',
    "base64 in lines": base64.encodebytes(f"{'x' * 70}{KEY}{'y' * 50}".encode()).decode(),
    "base64 in split literals": '"' + base64.b64encode(OPENAI.encode()).decode()[:30] + '" "'
    + base64.b64encode(OPENAI.encode()).decode()[30:] + '"',
    "a zero-width space": f'key = "{KEY[:9]}\u200b{KEY[9:]}"',
    "a word joiner and a soft hyphen": f'key = "{KEY[:5]}\u2060{KEY[5:9]}\xad{KEY[9:]}"',
    "a tag character": f'key = "{KEY[:5]}\U000e0041{KEY[5:]}"',
    "zero-width and split": f'key = "{KEY[:9]}\u200b" + "{KEY[9:]}"',
    "a private key": pem(),
    "a private key on one line": pem().replace("\n", "\\n"),
    "a private key line by line": '"' + pem().replace("\n", '\\n"\n"') + '"',
    "a private key without its header": der(),
    "a line of five million bytes": "x" * 200_000 + f' "{KEY}" ' + "y" * 200_000,
    "one byte that is no UTF-8": b'\xff\nkey = "' + KEY.encode() + b'"\n',
    "UTF-16": f'key = "{KEY}"'.encode("utf-16"),
    "UTF-16 without a mark": f'key = "{KEY}"'.encode("utf-16-be"),
    "UTF-32": f'key = "{KEY}"'.encode("utf-32"),
    "a false mark of UTF-16": b"\xff\xfe" + f'key = "{KEY}"'.encode(),
    "a mark of UTF-8": f'\ufeffkey = "{KEY}"',
    "a binary file": bytes(range(256)) * 20 + KEY.encode() + bytes(range(256)),
    "old Macintosh line ends": f'a = 1\rkey = "{KEY}"\r',
    "entropy under a secret name": f'db_password = "{some(24)}"',
    "hexadecimal under a secret name": f'secret = "{some(32, HEX)}"',
}  # fmt: skip


@pytest.mark.parametrize("content", EVASIONS.values(), ids=EVASIONS)
def test_a_key_cannot_hide_behind(content):
    assert refused(content)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "utf-32"])
def test_a_key_is_told_once_in_every_encoding(encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    found = scan_content(f'{mark}key = "{KEY}"\n'.encode(encoding), "a.txt")
    assert [(one.line, one.refuses) for one in found] == [(1, True)]


@pytest.mark.parametrize(
    "path",
    ["a.lock", "docs/swagger.json", "x.png", "a.min.js", "package-lock.json", "no-ending", "a.svg",
     ".secrets.baseline", "tests/fixtures/a.py"],
)  # fmt: skip
def test_no_path_exempts_a_file(path):
    assert refused(f'"{KEY}"', path)


def test_a_name_is_scanned_too():
    found = scan_content(f'"{OPENAI}"'.encode(), f"keys/{KEY}.txt")
    assert [finding.refuses for finding in found] == [True, True]
    assert {finding.path for finding in found} == {"keys/[REDACTED:github].txt"}
    assert KEY not in repr(found)


def test_a_message_is_scanned_too():
    (finding,) = scan_text(f"fix: use {KEY}\n", "the commit's message")
    assert finding.refuses
    assert (finding.path, finding.line, finding.column) == ("the commit's message", 1, 10)


def test_a_finding_says_what_where_and_how_to_mend_it_but_never_the_value():
    (finding,) = scan_content(f'import x\nü = f("{OPENAI}")\n'.encode(), "src/a.py")
    assert finding.message == "secret found: OpenAI API key"
    assert (finding.check, finding.path, finding.line) == ("secret-scan", "src/a.py", 2)
    assert finding.column == 8
    assert finding.hint.endswith('read it from the environment: os.environ["OPENAI_API_KEY"]')
    assert OPENAI not in repr(finding)


def test_the_hint_speaks_the_language_of_the_file_and_names_the_variable():
    content = f'const paymentApiKey: string = "{some(32)}";'.encode()
    (finding,) = scan_content(content, "src/a.ts")
    assert finding.hint.endswith("process.env.PAYMENT_API_KEY")
    (finding,) = scan_content(content, "notes")
    assert finding.hint.endswith("the variable PAYMENT_API_KEY")


def test_no_representation_of_a_hit_shows_the_value():
    assert KEY not in repr(hits(f'"{KEY}"'.encode(), "a.py"))


@pytest.mark.parametrize(
    "value",
    ["your-api-key-goes-here", "xxxxxxxxxxxxxxxxxxxxxxxx", "<your token 12345>", "${API_KEY_2}",
     "{{ secrets.KEY_V2 }}", "changeme-changeme-123", "example-token-1234567",
     "%(password)s1234567",
     "REPLACE_ME_WITH_KEY_1", "****************"],
)  # fmt: skip
def test_a_placeholder_under_a_secret_name_does_not_refuse(value):
    assert not refused(f'api_key = "{value}"\n')
    assert not refused(f"API_KEY={value}\n", ".env")


def test_reading_the_environment_does_not_refuse():
    for line in (
        'api_key = os.environ["SERVICE_API_KEY_V2"]',
        "const token = process.env.SERVICE_TOKEN_2024;",
        'password = config.get("database.password.v2")',
        "token: ${{ secrets.NPM_TOKEN_2 }}",
    ):
        assert scan_content(line.encode(), "a.py") == ()


def test_a_filled_up_shape_is_no_key_but_filling_hides_none():
    assert not refused("gh" + "p_" + "x" * 36)
    assert refused(KEY + "x" * 60)


def test_an_example_of_a_documentation_is_no_key_but_its_words_hide_none():
    assert not refused("id = " + "ELPMAXE7NNDOFSOIAIKA"[::-1])
    assert not refused("x = " + "sha" + "256~XXXXXXXXXX_PUT_YOUR_TOKEN_HERE_XXXXXXXXXXXX")
    assert not refused("x = gh" + "p_" + "1234567890" * 3 + "123456")
    for word in ("EXAMPLE", "your-", "-put-it-here", "1234567890", "my-"):
        assert refused(KEY + word), word
        assert refused(f"x = '{KEY[:20]}{word}{KEY[20:]}'") or "-" in word, word


def test_a_keyword_alone_and_entropy_alone_only_warn():
    content = f'password = "bluehorse"\nx = "{some(64, B64)}"\n'
    found = scan_content(content.encode(), "a.py")
    assert [f.severity for f in found] == [Severity.WARNING, Severity.WARNING]


def test_a_public_address_is_only_noted():
    (finding,) = scan_content(b'dns = "8.8.8.8"', "a.py")
    assert finding.severity is Severity.NOTE
    assert finding.message == "not a secret by itself: Public IP (ipv4)"
    assert not finding.hint, "it is no secret, and may stand where it is"


def test_what_both_scanners_find_is_told_once():
    assert len(scan_content(f'"{KEY}"'.encode(), "a.py")) == 1


def test_an_empty_file_has_nothing():
    assert scan_content(b"", "a.py") == ()


def test_many_keys_are_counted_not_all_told():
    found = scan_content((f'call("{KEY}")\n' * 250).encode(), "a.py")
    assert len(found) == 101
    assert found[-1].message == "150 more likely secrets in this file"


def test_a_second_scan_that_fails_refuses_the_file(monkeypatch):
    from runner.secrets import detect_secrets as module

    def broken(text, path):
        raise SecondOpinionError("it took too long")

    monkeypatch.setattr(module, "second_opinion", broken)
    found = scan_content(f'"{KEY}"'.encode(), "a.py")
    assert [finding.refuses for finding in found] == [True, True]
    assert found[1].message == (
        "detect-secrets failed, so the runner refuses this file: it took too long"
    )


@pytest.mark.no_cover
def test_the_standard_library_is_hardly_ever_refused():
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [f for f in sorted(root.glob("**/*.py")) if "site-packages" not in f.parts][::13][:120]
    lines = refusals = warnings = 0
    for file in files:
        content = file.read_bytes()
        lines += content.count(b"\n")
        found = scan_content(content, str(file.relative_to(root)))
        refusals += sum(f.severity is Severity.ERROR for f in found)
        warnings += sum(f.severity is Severity.WARNING for f in found)
    assert lines > 20_000
    assert refusals / lines * 1000 <= 0.1
    assert warnings / lines * 1000 <= 1.5


def test_this_project_passes_its_own_scan():
    root = Path(__file__).parents[2]
    found = [
        (str(file.relative_to(root)), finding.line, finding.message)
        for folder in ("runner", "tests")
        for file in sorted((root / folder).glob("**/*.py"))
        for finding in scan_content(file.read_bytes(), str(file.relative_to(root)))
        if finding.refuses
    ]
    assert found == []


HOSTILE = (
    "sk-", "\\n", '"', '""', "''.", '" + "', '"' + " " * 50, 'key="', "aws secret ",
    "eyJaaaaaaaaaaaa.", "http://a:bbb",
    "QUJDREVG", "a\u200b", "a\0", "-----BEGIN PRIVATE" + " KEY-----\n", "MII",
    "token: ", "glpat-", "\\x41", "%41", "'join','", '"#a\n', "{}", '{}".format("', '"\n',
    '"secret_token_key_a", ', "token: |\n", "'a'\\x41 + ",
)  # fmt: skip


def _processor_seconds(text):
    import time

    from runner.secrets.find import find

    start = time.thread_time()
    find(text)
    return time.thread_time() - start


@pytest.mark.parametrize("unit", HOSTILE)
def test_four_times_the_hostile_text_takes_about_four_times_as_long(unit):
    small, large = ((unit * (size // len(unit))).encode() for size in (40_000, 160_000))
    _processor_seconds(small)
    # 4 where it is linear, 16 where it is quadratic; the constant is what a short text costs.
    assert _processor_seconds(large) < 9 * (_processor_seconds(small) + 0.005)


DESCRIBED = "Zq7" + "Vb2Kx9Lm4Tw8Rn3Hs6Dj"


@pytest.mark.parametrize(
    "name",
    ["credentialId", "key_id", "token-name", "SECRET_NAME", "token_url", "csrf_token",
     "authenticity_token", "publicToken", "public_key"],
)  # fmt: skip
def test_a_name_that_says_what_it_is_given_is_told_from_one_that_opens(name):
    assert not refused(f'{name} = "{DESCRIBED}"\n')
    assert refused(f'{name.replace("public", "private")}_token = "{DESCRIBED}"\n')


@pytest.mark.parametrize(
    ("start", "rest"),
    [("ABSK", "QmVkcm9ja0FQSUtleS1" + "EXAMPLE" * 12), ("glpat", "-" + "123" * 9),
     ("xoxp", "-572370529330-573807301142-" + "#" * 20), ("hf", "_requiredCharacteristicTypes4All"),
     ("sk-ant-", "admin01-abc123xyz-456def789ghij-klmnopqrstuvwx-3456yza789bcde-1234fghijk"),
     ("token4: xoxz", "-572370529330-573807301142-572331691188-" + "#" * 20),
     ("xoxe", ".xoxp-1-SlackAppTokenHere"), ("GOAKIA", "SACKOFRICEFELLOVER")],
)  # fmt: skip
def test_what_repeats_counts_or_reads_as_words_is_no_key(start, rest):
    assert not refused(f"see {start}{rest} there\n")


@pytest.mark.parametrize(
    ("line", "value"),
    [("'{}' => '{}',", "4321nai4"), ('"{}": "{}",', "terce$repus"), ("db{} = {}", "9Qyx!3bA"),
     ("The {} is '{}'", "321teloiV"), ('curl_setopt($c, CURLOPT_{0}, "me:{1}");', "9teloiv"),
     ("psexec.exe -u DOM\\me -p {1} cmd", "9teloiv"),
     ("ConvertTo-SecureString -AsPlainText -Force {1}", "kk#9teLoiv")],
)  # fmt: skip
def test_a_chosen_password_is_refused_where_its_place_says_what_it_is(line, value):
    assert refused(line.format("pass" + "word", value[::-1]) + "\n")


@pytest.mark.parametrize(
    "value",
    ["violet", "your_password", "%s", "{password}", "PASSWORD_FIELD", "password123",
     "Enter password", "user.password", "<secret>"],
)  # fmt: skip
def test_a_word_a_label_and_a_hole_are_no_password(value):
    assert not refused(f'password = "{value}"\n')


HELD = f'key = "{KEY}"\n'.encode()


@pytest.mark.parametrize(
    ("content", "refuses"),
    {
        "moved down": (b"import os\n" + HELD, False),
        "its other name": (HELD.replace(b"key", b"token"), False),
        "a second place": (HELD + HELD.replace(b"key", b"other"), True),
        "another one": (HELD.replace(KEY[-4:].encode(), KEY[:4].encode()), True),
        "one more of another kind": (HELD + f'b = "{OPENAI}"\n'.encode(), True),
    }.values(),
)
def test_what_a_file_held_before_as_often_is_told_and_refuses_nothing(content, refuses):
    """The change did not bring it, and the history has it."""
    found = scan_content(content, "src/app.py", before=HELD)
    assert any(one.refuses for one in found) is refuses
    assert all(one.refuses for one in found if not one.message.endswith(", already present"))
    assert found


def test_what_a_file_held_before_is_no_excuse_where_it_cannot_be_read(monkeypatch):
    def fail(*_):
        raise SecondOpinionError("away")

    monkeypatch.setattr("runner.secrets.detect_secrets.second_opinion", fail)
    assert any(one.refuses for one in scan_content(HELD, "src/app.py", before=HELD))


ALL = "all plug-ins over all lines"


def whole_scan(text, path):
    """Every plug-in over every line, as slow as it is."""
    return {
        (plugin.secret_type, value)
        for line in text.decode("utf-8", "replace").split("\n")
        for family, plugins in detect_secrets._plugins().items()
        for name, plugin in plugins
        for value in detect_secrets._values(plugin, path, line.rstrip())
        if detect_secrets._counts(name, family, value)
    }


def marked_scan(text, path):
    return {(one.kind, one.value) for one in second_opinion(text, path)}


@pytest.mark.no_cover
def test_marked_lines_give_the_findings_of_the_whole_scan_over_keys():
    text = "\n".join(
        line
        for name, key, around, _ in samples()
        for line in (f'a = "{around.format(key)}"', around.format(key))
        if name != "assigned"
    ).encode()
    for path in ("a.py", "a.yaml", "a.go", "a.c", "a.cpp"):
        strong = {kind for kind, _ in whole_scan(text, path)} - {"Secret Keyword"}
        found = whole_scan(text, path)
        if len([f for f in found if "Entropy" in f[0] or "Keyword" in f[0]]) < 50:
            assert marked_scan(text, path) == found
        named = {p.secret_type for _, p in detect_secrets._plugins()[Family.NAMED]}
        assert {f for f in marked_scan(text, path) if f[0] in named} == {
            f for f in found if f[0] in named
        }
        assert strong


@pytest.mark.no_cover
def test_marked_lines_give_the_findings_of_the_whole_scan_over_code():
    root = Path(sysconfig.get_paths()["stdlib"])
    for file in ("imaplib.py", "urllib/request.py", "test/test_urllib2.py", "hashlib.py"):
        text = (root / file).read_bytes()
        assert marked_scan(text, file) == whole_scan(text, file)


def test_all_plug_ins_are_there():
    assert sum(len(plugins) for plugins in detect_secrets._plugins().values()) == 27


def test_a_missing_plug_in_fails_the_scan(monkeypatch):
    expected = {**detect_secrets._FAMILIES, Family.ADDRESS: frozenset({"NoSuchDetector"})}
    monkeypatch.setattr(detect_secrets, "_FAMILIES", expected)
    detect_secrets._plugins.cache_clear()
    with pytest.raises(SecondOpinionError, match="NoSuchDetector"):
        second_opinion(b'password = "abcdefgh"', "a.py")
    detect_secrets._plugins.cache_clear()


def test_time_that_is_up_fails_the_scan(monkeypatch):
    monkeypatch.setattr(detect_secrets, "_SECONDS", -9e9)
    with pytest.raises(SecondOpinionError, match="too long"):
        second_opinion(b'password = "abcdefgh"', "a.py")


def test_a_plug_in_that_raises_fails_the_scan(monkeypatch):
    class Broken:
        secret_type = "Broken"

        def analyze_line(self, *_line):
            raise ZeroDivisionError

    plugins = {**detect_secrets._plugins(), Family.KEYWORD: [("Broken", Broken())]}
    monkeypatch.setattr(detect_secrets, "_plugins", lambda: plugins)
    with pytest.raises(SecondOpinionError, match="Broken: ZeroDivisionError"):
        second_opinion(b'password = "abcdefgh"', "a.py")


def test_what_made_the_plug_ins_quadratic_does_not_any_more():
    hostile = b"sk-" * 60_000 + b"T3Blbk" + b"FJ"
    assert second_opinion(hostile, "a.py") == ()


def test_a_key_in_a_very_long_line_is_seen_by_the_second_scanner_too():
    key = "gh" + "p_" + some(36)
    line = f"{'x ' * 5000}'{key}'{' y' * 5000}".encode()
    assert ("GitHub Token", "ghp") in {(k, v[:3]) for k, v in marked_scan(line, "a.py")}


def test_a_clean_file_does_not_import_detect_secrets():
    code = (
        "import sys; from runner.secrets.scan import scan_content;"
        "assert scan_content(b'def f(x):\\n    return x + 1\\n', 'a.py') == ();"
        "print('detect_secrets' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
