"""Registries: hosts by name, more of them by the person, fewer by the repository."""

import pytest
from settings_of import settings_of

from runner.config.loading import load_settings
from runner.config.registries import DEFAULT, Registries, wrong
from runner.errors import RunnerError
from runner.model import Network
from runner.process.limits import Limits, apply_bounds


def allows(registries: Registries, host: str, port: int = 443) -> bool:
    return not registries.refusal(host, port)


def test_where_nothing_is_set_the_usual_registries_are_reached_and_nothing_else():
    usual = Registries()
    assert all(allows(usual, host, port) for host in DEFAULT for port in (80, 443))
    assert not allows(usual, "pypi.org", 8080)
    for other in ("example.org", "pypi.org.example.org", "xpypi.org", "upload.pypi.org", ""):
        assert not allows(usual, other), other


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "::1", "0x7f.1", "2130706433", "127.1", "0x7f000001"]
)
def test_an_address_is_no_name_however_it_is_written(host):
    everything = Registries.of([".1", ".0.0.1"])
    assert everything.refusal(host, 443) == "a registry must be a host name, not an address"
    assert wrong(host)


def test_a_person_names_more_hosts_also_all_below_a_name_and_with_a_port():
    mine = Registries.of(["Registry.example.org:4873", "*.corp.example."])
    assert allows(mine, "registry.example.org", 4873)
    assert not allows(mine, "registry.example.org", 443)
    assert allows(mine, "a.b.corp.example")
    assert not allows(mine, "corp.example")
    assert not allows(mine, "evilcorp.example")
    assert allows(mine, "pypi.org")
    assert mine.is_named("registry.example.org", 4873)
    assert not mine.is_named("pypi.org", 443)


def test_a_repository_only_takes_away():
    theirs = Registries.of([".corp.example"], only=["pypi.org", "npm.corp.example", "evil.example"])
    assert theirs.entries == ("pypi.org", "npm.corp.example")
    assert allows(theirs, "npm.corp.example")
    for gone in ("evil.example", "other.corp.example", "files.pythonhosted.org"):
        assert not allows(theirs, gone), gone
    assert Registries.of([], only=["pypi.org:8080", ".org"]).entries == tuple(
        host for host in DEFAULT if host.endswith(".org")
    )
    assert Registries.of([], only=[]).entries == ()


@pytest.mark.parametrize(
    "entry", ["", "https://pypi.org", "a b", "a:0", "a:70000", "ex/ample", "é.org"]
)
def test_what_names_no_host_is_told(entry):
    assert wrong(entry)


@pytest.mark.parametrize("entry", ["pypi.org", "*.example.org", ".example.org:8080", "localhost:1"])
def test_what_names_one_is_taken(entry):
    assert not wrong(entry)


def load(tmp_path, person: str, repository: str, environ: dict[str, str] | None = None):
    mine = tmp_path / "home" / ".config" / "runner" / "runner.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(person)
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "runner.toml").write_text(repository)
    surroundings = {"HOME": str(tmp_path / "home"), **(environ or {})}
    return load_settings(tmp_path / "repository", surroundings, {})


def test_a_repositorys_settings_narrow_what_the_person_allows_whoever_comes_later(tmp_path):
    mine, theirs = (
        'sandbox.registries = ["npm.corp.example"]\n',
        'sandbox.registries = ["pypi.org", "evil.example"]\n',
    )
    environ = {"RUNNER_SANDBOX_REGISTRIES": "npm.corp.example,*.more.example"}
    loaded = load(tmp_path, mine, theirs, environ)
    limits = apply_bounds(Limits(), loaded.settings)
    assert limits.registries.entries == ("pypi.org",)
    assert limits.registries.named == ("npm.corp.example", ".more.example")
    assert loaded.sources["floor.registries"] == "runner.toml:1"


def test_a_registry_that_is_none_is_a_mistake_with_its_place(tmp_path):
    with pytest.raises(RunnerError) as caught:
        load(tmp_path, 'sandbox.registries = ["https://pypi.org"]\n', "")
    assert "registries must be host names" in caught.value.message
    assert caught.value.where.endswith("runner.toml:1")


def test_registries_lie_between_loopback_and_everything():
    assert settings_of(network=Network.REGISTRIES).network_for(Network.YES) is Network.REGISTRIES
    assert settings_of(network=Network.LOOPBACK).network_for(Network.REGISTRIES) is Network.LOOPBACK
