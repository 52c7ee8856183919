"""Which sandbox is chosen, and what is said where the best one cannot be had."""

from __future__ import annotations

import pytest

from runner.errors import RunnerError
from runner.process import sandbox
from runner.process.sandbox import choose_sandbox, explain_opening, landlock_gaps


def test_an_unknown_word_is_refused_with_the_known_ones():
    with pytest.raises(RunnerError) as caught:
        choose_sandbox("docker")
    assert caught.value.hint == "one of auto, bubblewrap, landlock, seatbelt, none"


def test_none_is_none():
    chosen = choose_sandbox("none")
    assert (chosen.name, chosen.contains) == ("none", False)


@pytest.fixture
def fresh_choice():
    """Choices made anew, before and after."""
    from runner.process import sandbox

    sandbox._probe.cache_clear()
    yield
    sandbox._probe.cache_clear()


@pytest.fixture
def old_kernel(monkeypatch):
    """A kernel whose Landlock is too old."""
    from runner.process import syscalls

    monkeypatch.setattr(syscalls, "landlock_version", lambda: 2)


def test_landlock_is_chosen_by_name_alone(monkeypatch, tmp_path, fresh_choice):
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox._probe.cache_clear()
    auto = choose_sandbox("auto")
    assert auto.name == "none"
    try:
        chosen = choose_sandbox("landlock")
    except RunnerError:
        pytest.skip("this kernel has no Landlock")
    assert auto.reason == 'bubblewrap is not installed; sandbox.kind = "landlock" works here'
    assert (chosen.name, chosen.contains, chosen.encloses) == ("landlock", False, True)
    with pytest.raises(RunnerError, match="does not work here") as caught:
        choose_sandbox("bubblewrap")
    assert "apt-get install bubblewrap" in caught.value.hint


def test_without_either_auto_is_none_and_says_why(monkeypatch, tmp_path, fresh_choice, old_kernel):
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = choose_sandbox("auto")
    assert (chosen.name, chosen.contains, chosen.encloses) == ("none", False, False)
    assert chosen.reason == "bubblewrap is not installed"
    with pytest.raises(RunnerError, match="landlock does not work here"):
        choose_sandbox("landlock")


@pytest.fixture
def closed_bwrap(monkeypatch, tmp_path):
    """A bubblewrap that is installed and may not make namespaces."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_a_bubblewrap_that_may_not_make_namespaces_is_noticed(fresh_choice, closed_bwrap):
    assert "bwrap: No permissions to create new namespace" in choose_sandbox("auto").reason
    with pytest.raises(RunnerError, match="No permissions") as caught:
        choose_sandbox("bubblewrap")
    assert "apt-get" not in caught.value.hint
    assert caught.value.hint.endswith(', or set sandbox.kind = "none" in your own settings')


@pytest.mark.parametrize(
    ("name", "value", "opening"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "/etc/apparmor.d/bwrap"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces="),
        ("user/max_user_namespaces", "1", "allow user namespaces in the settings"),
    ],
)
def test_what_closes_the_door_of_bubblewrap_is_said_with_what_opens_it(
    tmp_path, closed_bwrap, name, value, opening
):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(f"{value}\n")
    assert opening in explain_opening(tmp_path)


def test_without_bubblewrap_it_is_to_be_installed(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert explain_opening() == "apt-get install bubblewrap"


def test_what_landlock_does_not_hold_is_said_beforehand(fresh_choice):
    gaps = landlock_gaps()
    if not gaps:
        pytest.skip("this kernel has no Landlock")
    assert any("no private loopback" in gap for gap in gaps)


def test_an_old_kernel_s_landlock_is_not_offered(fresh_choice, old_kernel):
    assert landlock_gaps() == ()
