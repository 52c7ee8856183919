"""The door to Dask in this process, with its pickles shut.

`deserializers=["dask", "msgpack"]` keeps a client from opening a result that is a pickle, but
distributed opens others on the way: the type of a result, an exception, a warning, whatever a
message marks as pickled. All of them go through one module, which is given a `pickle` here that
makes bytes and plain values and nothing else. So a client must never share its process with a
scheduler or worker.
"""

from __future__ import annotations

import io
import logging
import pickle
import types
import warnings
from typing import TYPE_CHECKING, Any

from runner.errors import ExitCode, RunnerError

if TYPE_CHECKING:
    from collections.abc import Iterable

FAMILIES = ["dask", "msgpack"]
"""How values are serialised, both ways: no pickle among them."""
_HINT = "pip install 'task-graph-runner[dask]'"
_MADE = {("builtins", "bytes"): bytes, ("builtins", "bytearray"): bytearray}


class NotOpenedError(pickle.UnpicklingError, TypeError):
    """A pickle of something else; a TypeError, too, since distributed lets one of those pass."""


class _Plain(pickle.Unpickler):
    """Makes plain values: no class, no function, whatever is named."""

    def find_class(self, module: str, name: str) -> Any:
        """Bytes alone."""
        if (module, name) in _MADE:
            return _MADE[module, name]
        raise NotOpenedError(f"{module}.{name} is not opened here")


def plain_loads(data: bytes, *, buffers: Iterable[Any] = ()) -> Any:
    """As `pickle.loads`, of plain values alone. Raises NotOpenedError."""
    return _Plain(io.BytesIO(data), buffers=buffers).load()


def import_distributed() -> Any:
    """The library, its pickles shut, and silent. Raises RunnerError where it is missing.

    Any, since it ships no types; `cluster.py` alone uses it.
    """
    try:
        import dask
    except ImportError as error:
        raise RunnerError("dask is not installed", hint=_HINT, code=ExitCode.PERSON) from error
    dask.config.set({"logging": {"distributed": "critical"}})
    warnings.filterwarnings("ignore", module=r"distributed(\..*)?")
    try:
        import distributed as library
        from distributed import client
        from distributed.protocol import pickle as opened
    except ImportError as error:
        raise RunnerError("distributed is not installed", hint=_HINT) from error
    shut = _shut()
    setattr(opened, "pickle", shut)  # noqa: B010 - it is no public name of theirs
    setattr(client, "pickle", shut)  # noqa: B010 - for warnings alone
    _require_shut(opened)
    _silence()
    return library


def _silence() -> None:
    """What the library logs would stand in the middle of what a person reads."""
    known = (*logging.root.manager.loggerDict, "distributed", "tornado")
    for name in known:
        if name.partition(".")[0] in {"distributed", "tornado"}:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _shut() -> types.SimpleNamespace:
    """What stands where distributed looks for the module `pickle`."""
    names = {name: value for name, value in vars(pickle).items() if not name.startswith("__")}
    return types.SimpleNamespace(**names | {"loads": plain_loads, "load": None})


def _require_shut(opened: Any) -> None:
    """Try it: a version of distributed that opens pickles elsewhere is not used."""
    try:
        opened.loads(pickle.dumps(types.SimpleNamespace))
    except NotOpenedError:
        return
    raise RunnerError(
        "this version of distributed opens pickles where they cannot be kept out", hint=_HINT
    )
