"""TLS files of this side, by the person's settings or by Dask's own configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import ExitCode, RunnerError


@dataclass(frozen=True, slots=True)
class Certificates:
    """TLS of this side: paths, or contents; empty where Dask's own configuration names files."""

    ca: str = ""
    cert: str = ""
    key: str = ""


def security_of(library: Any, certificates: Certificates) -> Any:
    """What the settings say of TLS, else what Dask's own configuration says."""
    given = {
        "tls_ca_file": certificates.ca,
        "tls_client_cert": certificates.cert,
        "tls_client_key": certificates.key,
    }
    named = {name: path for name, path in given.items() if path}
    return library.Security(**named)


def has_certificates(security: Any) -> bool:
    """Whether TLS can be spoken. Raises RunnerError where a file is missing, or is none of TLS."""
    named = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
    try:
        for path in filter(None, named):
            if "\n" in path:  # it is the content itself
                continue
            with Path(path).open("rb"):  # ssl itself does not say which file it misses
                pass
        return bool(security.get_connection_args("client").get("ssl_context"))
    except OSError as error:  # of ssl, too
        raise RunnerError(
            f"a TLS file cannot be used: {error.strerror or error}",
            where=str(error.filename or "executor"),
            hint="check dask_tls_ca, dask_tls_cert and dask_tls_key in your own settings",
            code=ExitCode.PERSON,
        ) from error
