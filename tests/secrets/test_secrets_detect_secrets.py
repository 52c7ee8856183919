"""The second opinion: the same as the whole scan, and not to be switched off."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from secret_samples import samples, some

from runner.secrets import detect_secrets
from runner.secrets.detect_secrets import Family, SecondOpinionError, second_opinion

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
