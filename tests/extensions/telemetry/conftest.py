"""Real receivers for every test that asks: a server of NATS JetStream, and of HTTP."""

import pytest

pytest.register_assert_rewrite("receivers")


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory):
    """One server for the whole run, on a port that the kernel chose."""
    from receivers import a_nats_server

    with a_nats_server(tmp_path_factory.mktemp("nats")) as address:
        yield address


@pytest.fixture
def stream(nats_server):
    """A stream of events with nothing in it; gives the server's address."""
    from receivers import drop_stream

    drop_stream(nats_server)
    return nats_server


@pytest.fixture
def receiver():
    """An HTTP server that answers as it is told."""
    from receivers import Receiver

    with Receiver() as made:
        yield made
