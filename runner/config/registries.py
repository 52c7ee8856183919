"""The package registries that `Network: registries` may reach, by host name.

An entry is a host (`pypi.org`), or all hosts below a name (`.example.org`), with a port behind it
where that is neither 80 nor 443 (`registry.example.org:4873`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT = (
    *("pypi.org", "files.pythonhosted.org", "conda.anaconda.org", "repo.anaconda.com"),
    *("registry.npmjs.org", "registry.yarnpkg.com"),
    *("index.crates.io", "static.crates.io", "crates.io"),
    *("proxy.golang.org", "sum.golang.org"),
    *("rubygems.org", "index.rubygems.org"),
    *("repo.maven.apache.org", "repo1.maven.org"),
    *("plugins.gradle.org", "plugins-artifacts.gradle.org", "services.gradle.org"),
    *("api.nuget.org", "packagist.org", "repo.packagist.org", "hex.pm", "repo.hex.pm"),
    *("deb.debian.org", "security.debian.org", "dl-cdn.alpinelinux.org"),
    *("archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"),
)
"""Hosts that serve packages which anybody may publish and everybody may read. Hosts that keep
other things too (code hosts, storage of clouds) are left to the person's settings."""
PORTS = (80, 443)
_ENTRY = regex(r"(?:\*?\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*(?::[1-9][0-9]{0,4})?")
_NAME = regex(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_LITERAL = regex(r"[0-9.]+|0x[0-9a-f.x]*|.*:.*")
_LARGEST = 65535


class Registries(Struct, frozen=True):
    """The registries that a command may reach."""

    entries: tuple[str, ...] = DEFAULT
    named: tuple[str, ...] = ()
    """Entries of the user's settings: they may be on a private network."""

    @classmethod
    def of(cls, more: Iterable[str], only: Iterable[str] | None = None) -> Registries:
        """Create the registries from the defaults and `more`, limited to those that `only` names.

        An entry of `only` that is narrower than one of these stands for itself.
        """
        named = tuple(map(normalize_entry, more))
        entries = tuple(dict.fromkeys((*DEFAULT, *named)))
        if only is not None:
            wanted = tuple(map(normalize_entry, only))
            kept = (one for one in entries if any(_covers(each, one) for each in wanted))
            narrower = (one for one in wanted if any(_covers(each, one) for each in entries))
            entries = tuple(dict.fromkeys((*kept, *narrower)))
        return cls(entries, named)

    def refusal(self, host: str, port: int) -> str:
        """Return why a host and port are not allowed; "" if they are."""
        if _is_address(host):
            return "a registry must be a host name, not an address"
        if not _NAME.fullmatch(host):
            return "not a valid host name"
        if not _among(host, port, self.entries):
            return "not one of the allowed registries"
        return ""

    def is_named(self, host: str, port: int) -> bool:
        """Return whether a person listed the host, so that it may be private."""
        return _among(host, port, self.named)


def normalize_entry(entry: str) -> str:
    """Normalise a host entry: lower case, `*.` becomes `.`, no final dot."""
    return entry.strip().lower().removeprefix("*").removesuffix(".")


def wrong(entry: str) -> str:
    """Return what is wrong with an entry; "" if it is valid."""
    text = normalize_entry(entry)
    name, _, port = text.partition(":")
    if _is_address(name) or "/" in text:
        return "must be host names, such as registry.example.org"
    if not _ENTRY.fullmatch(text) or int(port or 0) > _LARGEST:
        return "must be host names, optionally with a port"
    return ""


def _is_address(host: str) -> bool:
    """Return whether a host is an IP address in any notation, such as `0x7f.1`."""
    return bool(_LITERAL.fullmatch(host.strip("[]")))


def _among(host: str, port: int, entries: Iterable[str]) -> bool:
    ports = ("", str(port)) if port in PORTS else (str(port),)
    return any(_is(host, name) and at in ports for name, _, at in map(_parts, entries))


def _parts(entry: str) -> tuple[str, str, str]:
    return entry.partition(":")


def _is(host: str, name: str) -> bool:
    return host.endswith(name) and len(host) > len(name) if name.startswith(".") else host == name


def _covers(wide: str, narrow: str) -> bool:
    """Return whether an entry permits all that another one permits."""
    wide_name, _, wide_port = _parts(wide)
    name, _, port = _parts(narrow)
    same = _is(name, wide_name) or name == wide_name
    at_default = not wide_port and port in ("", *map(str, PORTS))
    return same and (wide_port == port or at_default)
