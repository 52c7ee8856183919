"""Hosts that packages come from: what `Network: registries` may reach, always by name.

An entry is a host (`pypi.org`), or all hosts below a name (`.example.org`), with a port behind it
where that is neither 80 nor 443 (`registry.example.org:4873`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class Registries:
    """What may be reached."""

    entries: tuple[str, ...] = DEFAULT
    named: tuple[str, ...] = ()
    """Entries that the person wrote: they may lie on a private network."""

    @classmethod
    def of(cls, more: Iterable[str], only: Iterable[str] | None = None) -> Registries:
        """Our own and `more`, which a person names; of these, those that `only` asks for.

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
        """Why a host cannot be reached at a port; "" where it may be."""
        if _is_address(host):
            return "a registry must be a host name, not an address"
        if not _NAME.fullmatch(host):
            return "not a valid host name"
        if not _among(host, port, self.entries):
            return "not one of the allowed registries"
        return ""

    def is_named(self, host: str, port: int) -> bool:
        """Whether a person wrote it down, and so may mean a private network."""
        return _among(host, port, self.named)


def normalize_entry(entry: str) -> str:
    """An entry as it is compared: small letters, `*.` as `.`, no dot at the end."""
    return entry.strip().lower().removeprefix("*").removesuffix(".")


def wrong(entry: str) -> str:
    """What is wrong with an entry; "" where nothing is."""
    text = normalize_entry(entry)
    name, _, port = text.partition(":")
    if _is_address(name) or "/" in text:
        return "must be host names, such as registry.example.org"
    if not _ENTRY.fullmatch(text) or int(port or 0) > _LARGEST:
        return "must be host names, optionally with a port"
    return ""


def _is_address(host: str) -> bool:
    """Whether it is an address however it is written: `0x7f.1` and `2130706433` are some, too."""
    return bool(_LITERAL.fullmatch(host.strip("[]")))


def _among(host: str, port: int, entries: Iterable[str]) -> bool:
    ports = ("", str(port)) if port in PORTS else (str(port),)
    return any(_is(host, name) and at in ports for name, _, at in map(_parts, entries))


def _parts(entry: str) -> tuple[str, str, str]:
    return entry.partition(":")


def _is(host: str, name: str) -> bool:
    return host.endswith(name) and len(host) > len(name) if name.startswith(".") else host == name


def _covers(wide: str, narrow: str) -> bool:
    """Whether an entry allows all that another one allows."""
    wide_name, _, wide_port = _parts(wide)
    name, _, port = _parts(narrow)
    same = _is(name, wide_name) or name == wide_name
    at_default = not wide_port and port in ("", *map(str, PORTS))
    return same and (wide_port == port or at_default)
