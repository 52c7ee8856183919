"""The OpenAPI validator without pydantic, which it loads for two settings of its own.

That is a sixth of all that the driver imports. The settings stay as the validator has them: what
the environment says of them, which is the project's, does not reach a proof.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_VALIDATORS = ("openapi_spec_validator", "openapi_schema_validator")


def load_validator() -> tuple[Callable[[Any], None], type[Exception]]:
    """What validates a document, and what it raises where that is invalid."""
    try:
        with plain_settings():
            return _load()
    except (ImportError, AttributeError, TypeError):
        # Another release may want more of pydantic than stands in for it: then all of it.
        for name in [one for one in sys.modules if one.partition(".")[0] in _VALIDATORS]:
            del sys.modules[name]
        return _load()


def _load() -> tuple[Callable[[Any], None], type[Exception]]:
    from openapi_spec_validator import validate
    from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

    return validate, OpenAPIValidationError


@contextmanager
def plain_settings() -> Iterator[None]:
    """Let classes of settings that are made meanwhile be plain ones, of their defaults alone."""
    pydantic, settings = ModuleType("pydantic"), ModuleType("pydantic_settings")
    vars(pydantic).update(Field=_default_of, field_validator=_leave_as_it_is)
    vars(settings).update(BaseSettings=type("BaseSettings", (), {}), SettingsConfigDict=dict)
    given = {module.__name__: module for module in (pydantic, settings)}
    if given.keys() & sys.modules.keys():  # loaded already, so there is nothing to spare
        yield
        return
    sys.modules.update(given)
    try:
        yield
    finally:
        for name in given:
            del sys.modules[name]


def _default_of(default: Any = None, **_: Any) -> Any:
    return default


def _leave_as_it_is(*_: Any, **__: Any) -> Callable[[Any], Any]:
    return lambda method: method
