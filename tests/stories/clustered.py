"""One cluster of this machine for many runs: to start one takes a second or more."""

import json
import os
import subprocess
import sys
from pathlib import Path

from msgspec.structs import astuple

TEACHES = """\
import json, sys
told = json.load(sys.stdin)
from distributed import Client, Security

def teach(stories):
    import sys
    sys.path.insert(0, stories)
    import drafter
    drafter.install()

ca, cert, key = told["certificates"]
security = Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key)
with Client(told["address"], security=security) as client:
    client.run(teach, told["stories"])
"""
"""In a process of its own: in a test's, pickles are shut."""


class Lent:
    """The shared cluster as one run has it: it outlives the run."""

    def __init__(self, cluster):
        self.address, self.certificates = cluster.address, cluster.certificates

    def close(self):
        """Others go on with it."""


def begun(home):
    """A cluster of two workers, which know the stand-in agent of these stories."""
    from runner.extensions.cluster.local_cluster import LocalCluster

    environ = {name: value for name, value in os.environ.items() if not name.startswith("RUNNER_")}
    environ |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    environ |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": str(home / "gitconfig")}
    cluster = LocalCluster(2, environ)
    told = {"address": cluster.address, "certificates": astuple(cluster.certificates)}
    told["stories"] = str(Path(__file__).parent)
    words = [sys.executable, "-c", TEACHES]
    subprocess.run(words, input=json.dumps(told).encode(), check=True, cwd="/", timeout=120)
    return cluster
