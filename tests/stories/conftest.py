"""Every story has a home folder of its own; a campaign tells them on a cluster."""

import os

import pytest


@pytest.fixture(autouse=True)
def at_home(alone):
    """Every test of this room has a home folder of its own."""


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory):
    """A cluster that all stories share which need one."""
    from clustered import begun

    cluster = begun(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.close()


@pytest.fixture(autouse=True)
def on_the_cluster(at_home, request, monkeypatch):
    """With STORIES_ON_CLUSTER, every run that names no executor is one on a cluster.

    On the one that all share, which has the environment of whoever started it; with
    STORIES_ON_CLUSTER=own, and where a story asks for it, on one of its own, as a person's run is.
    """
    if not os.environ.get("STORIES_ON_CLUSTER"):
        return
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", "dask")
    if request.node.get_closest_marker("own_cluster") or os.environ["STORIES_ON_CLUSTER"] == "own":
        return
    from clustered import Lent

    from runner.extensions.cluster import local_cluster

    cluster = request.getfixturevalue("shared_cluster")
    monkeypatch.setattr(local_cluster, "LocalCluster", lambda *_: Lent(cluster))


@pytest.fixture
def drafter(workplace, tmp_path_factory):
    """A program that gives one canned answer after the other; what it was asked is kept."""
    from wish_drafts import CannedDrafter

    canned = CannedDrafter(tmp_path_factory.mktemp("drafter"))
    workplace.settle(command=f"python3 {canned.program}", sandbox="none")
    return canned
