"""Go, by its specification and its own tools."""

from __future__ import annotations

import re

from runner.languages.base import (
    LINTER,
    SKIP,
    Compiler,
    CoverageSupport,
    Language,
    Marker,
    OutlinePatterns,
    later,
)
from runner.languages.c_like_lexer import PLAIN

_NAMES = "runner.languages.go.names"
LITERALS = re.compile(PLAIN + r"|'(?:\\.|[^'\\\n])+'|`[^`]*`?", re.DOTALL)

LANGUAGE = Language(
    title="Go",
    imports_of=later(_NAMES, "imports_of"),
    keys_of=later(_NAMES, "keys_of"),
    names_of=later(_NAMES, "names_of"),
    folder_is_unit=True,
    exports_of=later(_NAMES, "exports_of"),
    outline=OutlinePatterns(
        offers=r"^func +(?:\([^)]*\) *)?([A-Z]\w*)|^type +([A-Z]\w*)|^(?:var|const) +([A-Z]\w*)",
        imports=r"^import\s*(?:\(([^)]*)\)|([^\n]*))",
    ),
    test_file=re.compile(r"(?:\A|/)[^/]*_test\.go\Z"),
    find_tests=later("runner.languages.test_functions", "find_go_tests"),
    # `TestMain`, and package initialisation
    loaded_first=re.compile(
        rb"^func\s+(?:TestMain|init)\s*\(|^var\s+\w[^\n]*=[^\n]*\(", re.MULTILINE
    ),
    test_command=later("runner.languages.test_functions", "make_go_command"),
    coverage=CoverageSupport(
        needed="have the test contracts run `go test`",
        function=re.compile(rb"\bfunc\b"),
    ),
    # -o /dev/null: a single main package would leave its binary in the tree.
    compiler=Compiler("go", "go.mod", (".go",), "go build -o /dev/null ./..."),
    syntax=("gofmt", "-l"),
    markers=(
        Marker("nolint", r"//_nolint\b", LINTER),
        Marker("skip", r"\bt\.Skip(?:f|Now)?\(", SKIP),
    ),
    environment='os.Getenv("{}")',
)
