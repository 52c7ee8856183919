"""The `[extension.NAME]` tables of the person's own settings file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runner.config.paths import Places
from runner.errors import RunnerError
from runner.extensions.interface import load
from runner.text.foreign_documents import parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.extensions.interface import Extension


def read_table(extension: Extension, environ: Mapping[str, str]) -> Any:
    """Return the extension's table as an instance of its `settings` model.

    An absent table is an empty one. Raises RunnerError for a value that the model refuses.
    """
    from pydantic import ValidationError

    file = Places.of(environ).settings_file
    where = f"{file}, [extension.{extension.name}]"
    try:
        tables = parse_toml(file.read_text("utf-8-sig")).get("extension", {})
    except FileNotFoundError:
        tables = {}
    except (OSError, ValueError) as error:
        raise RunnerError(f"the settings cannot be read: {error}", where=str(file)) from error
    table = tables.get(extension.name, {}) if isinstance(tables, dict) else {}
    try:
        return load(extension.settings).model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise RunnerError(f"{key}: {first['msg']}", where=where) from error
