"""Load the layers of settings, validated or from the cache, and the tables of extensions.

Later over earlier: the user's `~/.config/runner/runner.toml`, the repository's `runner.toml` or
`[tool.runner]` in its pyproject.toml, environment `RUNNER_<TABLE>_<NAME>`, flags. Values are
validated by pydantic, which takes long to import; so a validated result is kept by the digest of
all inputs, and where nothing is set there is nothing to validate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from runner.config import layers, setting_values
from runner.config.paths import Places
from runner.config.settings import Loaded, Settings, declarations
from runner.errors import RunnerError
from runner.extensions.interface import load
from runner.lazy_module import lazy_module
from runner.text.foreign_documents import parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.config import merge_layers
    from runner.extensions import registry
    from runner.extensions.interface import Extension
    from runner.secrets import load_rules
else:
    load_rules = lazy_module("runner.secrets.load_rules")
    registry = lazy_module("runner.extensions.registry")
    merge_layers = lazy_module("runner.config.merge_layers")


def load_settings(
    root: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    cache: Path | None = None,
) -> Loaded:
    """Load the settings for `root`. Raises RunnerError with all mistakes of all sources.

    Raises RunnerError that reports every mistake of every source together.
    """
    known = declarations().values()
    given = layers.gather(root, Places.of(environ), environ, flags, known)
    if all(setting_values.is_plain(layer, known) for layer in given):
        return _make_loaded(setting_values.plainly_merged(given, known))
    key = setting_values.key_of(given, declarations())
    found = setting_values.read(cache, key)
    if found is None:
        found = merge_layers.merge_layers(given, declarations())
        setting_values.write(cache, key, found)
    return _make_loaded(found)


def _make_loaded(merged: setting_values.MergedSettings) -> Loaded:
    sources = dict.fromkeys(declarations(), "default") | dict(merged.sources)
    settings = make_settings(setting_values.to_field_types(merged.values))
    register_secret_formats(settings)
    registry.name_others(settings.build.extensions)
    return Loaded(settings, sources, merged.notes)


def make_settings(values_by_name: Mapping[str, Any]) -> Settings:
    """Create settings with these values by name and defaults for the others."""
    tables: dict[str, dict[str, Any]] = {}
    for name, value in values_by_name.items():
        table, _, own = name.rpartition(".")
        tables.setdefault(table, {})[own] = value
    made = Settings(**tables.pop("", {}))
    return replace(
        made, **{name: replace(getattr(made, name), **table) for name, table in tables.items()}
    )


def register_secret_formats(settings: Settings) -> None:
    """Register the secret formats of these settings, so that this process redacts them."""
    if formats := (*settings.secret_formats, *settings.floor.secret_formats):
        load_rules.add_shapes(formats)


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
