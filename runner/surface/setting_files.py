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

_TOOLS_WORDS = """
mypy ruff pytest coverage pyright basedpyright flake8 pylint bandit pydocstyle
"""
_TOOLS = frozenset(_TOOLS_WORDS.split())
_INI = {"run": "coverage", "report": "coverage", "MESSAGES CONTROL": "pylint", "MAIN": "pylint"}
_OF_PACKAGE = {"eslintConfig": "eslint", "jest": "jest", "nyc": "nyc", "c8": "c8", "ava": "ava"}
_COMMENT = regex(r"(\"(?:\\.|[^\"\\])*+\")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
_OTHER_TABLE = regex(r"\A(ruff(?=\.lint)|pytest(?=\.ini_)|coverage(?=\.r))\.\w+\.")
"""Tables of which a tool also reads the keys in another place."""
_DEEPEST = 8

Reader = "Callable[[str], object]"


def find_reader(path: str) -> tuple[str, Callable[[str, str], object]] | None:
    """Return the tool that a file is for, empty for several, and what reads it."""
    name = path.rpartition("/")[2]
    return next((row for pattern, *row in _FILES if re.fullmatch(pattern, name)), None)  # type: ignore[return-value]


def read_settings(path: str, text: str) -> dict[str, object]:
    """Return the settings of a file by `tool.key`. Raises ValueError for what cannot be read."""
    row = find_reader(path)
    if row is None or not text.strip():
        return {}
    tool, read = row
    tables = read(path, text)
    found = dict[str, object]()
    for key, value in _flatten(tables, tool, 0):
        found[_OTHER_TABLE.sub(r"\1.", key)] = value
    return found


def _flatten(value: object, above: str, depth: int) -> Iterator[tuple[str, object]]:
    """Yield the values of nested tables; one of a list of tables is called by its own name."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _flatten(inner, f"{above}.{key}".lstrip("."), depth + 1)
    elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        for place, one in enumerate(value):
            name = (
                one.get("module") or one.get("files") or one.get("id") or one.get("repo") or place
            )
            yield from _flatten(one, f"{above}[{name}]", depth + 1)
    else:
        yield above, value


def _read_pyproject(_path: str, text: str) -> object:
    tool = parse_toml(text).get("tool")
    return (
        {name: one for name, one in tool.items() if name in _TOOLS}
        if isinstance(tool, dict)
        else {}
    )


def _read_toml(_path: str, text: str) -> object:
    return parse_toml(text)


def _read_cargo(_path: str, text: str) -> object:
    tables = parse_toml(text)
    workspace = tables.get("workspace")
    inner = workspace.get("lints") if isinstance(workspace, dict) else None
    return {"lints": tables.get("lints") or inner or {}}


def _read_ini(_path: str, text: str) -> object:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    found = dict[str, dict[str, object]]()
    for section in parser.sections():
        name = _INI.get(section, section.removeprefix("tool:"))
        head, _, inner = name.partition("-" if name.startswith("mypy-") else ":")
        if head in _TOOLS:
            key = f"{head}.{inner}" if inner not in ("", "run", "report") else head
            values = {one: _value(said) for one, said in parser.items(section)}
            found.setdefault(key, {}).update(values)
    return found


def _value(text: str) -> object:
    """Return an INI value as what it means: a truth, a number, a list, or the text."""
    said = text.strip()
    if said.lower() in ("true", "yes", "on", "false", "no", "off"):
        return said.lower() in ("true", "yes", "on")
    if re.fullmatch(r"\d+(?:\.\d+)?", said):
        return float(said)
    lines = [one.partition("#")[0] for one in said.splitlines()]
    return [one.strip() for line in lines for one in line.split(",") if one.strip()]


def _read_json(_path: str, text: str) -> object:
    return parse_json(_COMMENT.sub(lambda match: match[1] or "", text))


def _read_package(_path: str, text: str) -> object:
    tables = parse_json(text)
    rows = tables.items() if isinstance(tables, dict) else ()
    return {_OF_PACKAGE[key]: one for key, one in rows if key in _OF_PACKAGE}


def _read_yaml(_path: str, text: str) -> object:
    if re.search(r"(?:^|\s)&\w", text):
        raise ValueError("it has anchors")  # nested ones take time without end
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("no YAML") from error


def _read_eslint(path: str, text: str) -> object:
    return (
        _read_json(path, text) if text.lstrip().startswith(("{", "/")) else _read_yaml(path, text)
    )


def _read_script(path: str, text: str) -> object:
    """Return the literal values of a configuration that is code; the last of a key counts."""
    found = dict[str, object]()
    left: list[tuple[Node, str]] = [(read_root(path, text), "")]
    while left:
        node, above = left.pop()
        if node.type == "pair":
            key = text_of(field(node, "key")).strip("'\"")
            value = field(node, "value")
            name = f"{above}.{key}".lstrip(".")
            if value is not None:
                found.setdefault(name, _literal(value))
                left.append((value, name))
        else:
            left += [(one, above) for one in reversed(node.named_children)]
    return {key: value for key, value in found.items() if value is not None}


def _literal(node: Node) -> object:
    text = text_of(node)
    if node.type in ("true", "false"):
        return text == "true"
    if node.type == "number":
        return float(text.replace("_", "")) if re.fullmatch(r"[\d_.]+", text) else None
    if node.type == "string":
        return text.strip("'\"")
    if node.type == "array":
        return [one for inner in children(node) if (one := _literal(inner)) is not None]
    return None


_FILES: tuple[tuple[str, str, Callable[[str, str], object]], ...] = (
    (r"pyproject\.toml", "", _read_pyproject),
    (r"\.?ruff\.toml", "ruff", _read_toml),
    (
        r"\.?mypy\.ini|setup\.cfg|tox\.ini|\.?pytest\.ini|\.coveragerc|\.flake8|\.?pylintrc|\.bandit",
        "",
        _read_ini,
    ),
    (r"pyrightconfig\.json", "pyright", _read_json),
    (r"(?:ts|js)config[\w.-]*\.json", "tsconfig", _read_json),
    (r"\.eslintrc(?:\.json|\.ya?ml)?", "eslint", _read_eslint),
    (r"package\.json", "", _read_package),
    (r"biome\.jsonc?", "biome", _read_json),
    (r"(?:\.eslintrc|eslint\.config)\.[cm]?[jt]s", "eslint", _read_script),
    (r"(?:jest|vitest|vite|playwright|karma)\.config\.[cm]?[jt]s", "tests", _read_script),
    (r"\.golangci\.ya?ml", "golangci", _read_yaml),
    (r"\.golangci\.toml", "golangci", _read_toml),
    (r"\.?clippy\.toml", "clippy", _read_toml),
    (r"Cargo\.toml", "cargo", _read_cargo),
    (r"\.pre-commit-config\.ya?ml", "pre-commit", _read_yaml),
    (r"\.?codecov\.ya?ml", "codecov", _read_yaml),
)
"""Names of files, the tool they are for, and what reads them."""
