"""The settings of type checkers, linters and test tools in a file, by tool and dotted key."""

from __future__ import annotations

import configparser
import re
from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.surface.nodes import children, field, read_root, text_of
from runner.text.foreign_documents import parse_json, parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import yaml
    from tree_sitter import Node
else:
    yaml = lazy_module("yaml")

_TOOLS = regex(r"mypy|ruff|pytest|coverage|(?:based)?pyright|flake8|pylint|bandit|pydocstyle")
_INI = {"run": "coverage", "report": "coverage", "MESSAGES CONTROL": "pylint", "MAIN": "pylint"}
_COMMENT = regex(r"(\"(?:\\.|[^\"\\])*+\")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
_OTHER_TABLE = regex(r"\A(ruff(?=\.lint)|pytest(?=\.ini_)|coverage(?=\.r))\.\w+\.")
"""Tables of which a tool also reads the keys in another place."""
_DEEPEST = 8


def is_setting_file(path: str) -> bool:
    """Return whether a file has settings that are known here."""
    return _find_row(path) is not None


def read_settings(path: str, text: str) -> dict[str, object]:
    """Return the settings of a file by `tool.key`. Raises ValueError for what cannot be read."""
    row = _find_row(path)
    if row is None or not text.strip():
        return {}
    _, tool, read = row
    rows = _flatten(read(path, text), tool, 0)
    return {_OTHER_TABLE.sub(r"\1.", key): value for key, value in rows}


def _find_row(path: str) -> tuple[str, str, Callable[[str, str], object]] | None:
    name = path.rpartition("/")[2]
    return next((row for row in _FILES if re.fullmatch(row[0], name)), None)


def _flatten(value: object, above: str, depth: int) -> Iterator[tuple[str, object]]:
    """Yield the values of nested tables; one of a list of tables is called by its own name."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _flatten(inner, f"{above}.{key}".lstrip("."), depth + 1)
    elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        for place, one in enumerate(value):
            name = next(
                (one[key] for key in ("module", "files", "id", "repo") if key in one), place
            )
            yield from _flatten(one, f"{above}[{name}]", depth + 1)
    else:
        yield above, value


def _read_toml(path: str, text: str) -> object:
    """Return the tables of a document; of a manifest those of the tools alone."""
    tables = parse_toml(text)
    if path.endswith("Cargo.toml"):
        workspace = tables.get("workspace")
        return tables.get("lints") or (workspace if isinstance(workspace, dict) else {}).get(
            "lints"
        )
    if not path.endswith("pyproject.toml"):
        return tables
    tools = tables.get("tool")
    rows = tools.items() if isinstance(tools, dict) else ()
    return {name: one for name, one in rows if _TOOLS.fullmatch(name)}


def _read_ini(_path: str, text: str) -> object:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    found = dict[str, dict[str, object]]()
    for section in parser.sections():
        name = _INI.get(section, section.removeprefix("tool:"))
        tool, _, module = name.partition("-")  # [mypy-package.*]
        if _TOOLS.fullmatch(tool.partition(":")[0]):
            key = f"{tool.partition(':')[0]}.{module}".rstrip(".")
            found.setdefault(key, {}).update((k, _value(v)) for k, v in parser.items(section))
    return found


def _value(text: str) -> object:
    """Return an INI value as what it means: a truth, a number, or a list."""
    said = text.strip().lower()
    if said in ("true", "yes", "on", "false", "no", "off"):
        return said in ("true", "yes", "on")
    if re.fullmatch(r"\d+(?:\.\d+)?", said):
        return float(said)
    return [part.strip() for part in re.split(r"[,\n]|#[^\n]*", text) if part.strip()]


def _read_json(path: str, text: str) -> object:
    """Return a document with comments; of a manifest the settings of the tools alone."""
    tables = parse_json(_COMMENT.sub(lambda match: match[1] or "", text))
    if isinstance(tables, dict) and path.endswith("package.json"):
        kept = {"eslint": "eslintConfig", "jest": "jest", "nyc": "nyc", "c8": "c8", "ava": "ava"}
        return {tool: tables[key] for tool, key in kept.items() if key in tables}
    return tables


def _read_yaml(path: str, text: str) -> object:
    if text.lstrip().startswith(("{", "/")):
        return _read_json(path, text)
    if re.search(r"(?:^|\s)&\w", text):
        raise ValueError("it has anchors")  # nested ones take time without end
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("no YAML") from error


def _read_script(path: str, text: str) -> object:
    """Return the literal values of a configuration that is code; the first of a key counts."""
    found = dict[str, object]()
    left: list[tuple[Node, str]] = [(read_root(path, text), "")]
    while left:
        node, above = left.pop()
        value = field(node, "value")
        if node.type == "pair" and value is not None:
            above = f"{above}.{text_of(field(node, 'key'))}".replace("'", "").lstrip(".")
            found.setdefault(above, _literal(value))
        left += [(one, above) for one in reversed(node.named_children)]
    return found


def _literal(node: Node) -> object:
    text = text_of(node)
    if node.type == "number" and text.replace("_", "").isdigit():
        return float(text)
    if node.type == "array":
        return [_literal(one) for one in children(node)]
    plain = {"true": True, "false": False, "string": text.strip("'\"")}
    return plain.get(node.type)


_FILES: tuple[tuple[str, str, Callable[[str, str], object]], ...] = (
    (r"pyproject\.toml", "", _read_toml),
    (r"\.?ruff\.toml", "ruff", _read_toml),
    (r"\.?(?:mypy|pytest|tox)\.ini|setup\.cfg|\.coveragerc|\.flake8|\.?pylintrc", "", _read_ini),
    (r"pyrightconfig\.json", "pyright", _read_json),
    (r"(?:ts|js)config[\w.-]*\.json", "tsconfig", _read_json),
    (r"\.eslintrc(?:\.json|\.ya?ml)?", "eslint", _read_yaml),
    (r"package\.json", "", _read_json),
    (r"biome\.jsonc?", "biome", _read_json),
    (r"(?:\.eslintrc|eslint\.config)\.[cm]?[jt]s", "eslint", _read_script),
    (r"(?:jest|vitest|vite|playwright|karma)\.config\.[cm]?[jt]s", "tests", _read_script),
    (r"\.golangci\.ya?ml", "golangci", _read_yaml),
    (r"Cargo\.toml", "cargo.lints", _read_toml),
    (r"\.pre-commit-config\.ya?ml", "pre-commit", _read_yaml),
    (r"\.?codecov\.ya?ml", "codecov", _read_yaml),
)
"""Names of files, the tool they are for, and what reads them."""
