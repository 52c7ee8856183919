from pathlib import Path

from runner.config.paths import Places, expand_home


def test_folders_are_those_of_the_xdg_specification():
    places = Places.of({"HOME": "/home/ann"})
    assert places.settings_file == Path("/home/ann/.config/runner/runner.toml")
    assert places.cache == Path("/home/ann/.cache/runner")
    assert places.state == Path("/home/ann/.local/state/runner")


def test_xdg_variables_are_honoured_and_relative_ones_ignored():
    places = Places.of({"HOME": "/home/ann", "XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "state"})
    assert places.cache == Path("/c/runner")
    assert places.state == Path("/home/ann/.local/state/runner")


def test_a_repository_has_one_folder_however_it_is_reached(tmp_path):
    real, other = tmp_path / "my repo", tmp_path / "other"
    real.mkdir()
    other.mkdir()
    (tmp_path / "link").symlink_to(real)
    places = Places.of({"HOME": "/home/ann"})
    assert places.repository_cache(tmp_path / "link") == places.repository_cache(real)
    assert places.repository_cache(real) != places.repository_cache(other)
    assert places.repository_cache(real).name.startswith("my-repo-")


def test_a_home_that_nobody_has_is_a_name_like_any_other(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert expand_home("~/data") == Path("/home/ada/data")
    assert expand_home("~nobody-is-called-so/data") == Path("~nobody-is-called-so/data")
