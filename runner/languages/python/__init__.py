"""Python, by its own syntax tree and the common test tools."""

from __future__ import annotations

from runner.languages.base import (
    HIDES,
    LINTER,
    SCANNER,
    SKIP,
    TYPES,
    CoverageSupport,
    Language,
    Marker,
    OutlinePatterns,
    later,
)
from runner.lazy_pattern import regex

UNREADABLE = "?py"
"""Refers to all Python files: its imports could not be parsed."""
DYNAMIC = "*py"
"""Key of imports with names computed at run time."""
_NAMES = "runner.languages.python.names"

LANGUAGE = Language(
    title="Python",
    imports_of=later(_NAMES, "imports_of"),
    keys_of=later(_NAMES, "keys_of"),
    wide=(UNREADABLE, DYNAMIC),
    started_keys=later(_NAMES, "keys_when_started"),
    root_of=later(_NAMES, "root_of"),
    exports_of=later(_NAMES, "exports_of"),
    outline=OutlinePatterns(
        offers=r"^(?:async +)?def +([A-Za-z]\w*)|^class +([A-Za-z]\w*)|^([A-Z][A-Z\d_]+)\s*[:=]",
        imports=(r"^[ \t]*(?:from[ \t]+(\S+)[ \t]+)?import[ \t]+(?:\(([^)]*)\)|([^\n#]*))"),
    ),
    test_file=regex(r"(?:\A|/)(?:test_[^/]*\.pyi?|[^/]*_test\.py|conftest\.py|tests?\.py)\Z"),
    collected=regex(r"(?:\A|/)(?:test[^/]*|[^/]*_test)\.py\Z"),
    find_tests=later("runner.languages.test_functions", "find_python_tests"),
    # changes or patches of other modules at import time
    loaded_first=regex(
        rb"(?m)^\w+(?:\.\w+)+(?:\[[^\n]*\])?\s*[-+*/|&%]?=(?!=)"
        rb"|^(?:setattr|delattr)\(|^del \w+[.\[]"
        rb"|^[\w.]*\bpatch[\w.]*\([^\n]*\.start\(\)"
        rb"|^(?!sys\.path\b)\w+\.\w+\.(?:update|append|insert|clear|add)\("
    ),
    test_command=later("runner.languages.test_functions", "make_python_command"),
    coverage=CoverageSupport(
        "have the test contracts run Python without -I or -E, with coverage.py installed"
    ),
    markers=(
        Marker("nosec", r"(?:#|//)_nosec\b", SCANNER),
        Marker("noqa", r"#_(?:ruff:_|flake8[:=]_)?noqa\b", LINTER),
        Marker("disable", r"pylint[-:]?_disable", LINTER),
        Marker("ignore", r"(?:type|pyright|mypy):_ignore", TYPES),
        Marker("pragma", r"pragma:_no_(?:cover|branch)", HIDES),
        Marker("skip xfail", r"\b(?:skip|skipif|xfail)_\(|mark\.(?:skip|xfail)\b", SKIP),
        Marker("skip", r"\bimportorskip\b|\bSkipTest\b|@(?:unittest\.)?skip", SKIP),
        Marker("expectedfailure", r"\bexpectedFailure\b", SKIP),
    ),
    environment='os.environ["{}"]',
)
