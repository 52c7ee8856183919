"""Rust, by its reference and the Cargo book."""

from __future__ import annotations

import re

from runner.languages.base import (
    LINTER,
    SKIP,
    Compiler,
    CoverageSupport,
    InnerTests,
    Language,
    Marker,
    OutlinePatterns,
    later,
)

_TESTS = "runner.languages.test_functions"
_NAMES = "runner.languages.rust.names"
LITERALS = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|r#"(?:.*?)"#|"(?:\\.|[^"\\])*"?' r"|'(?:\\.|[^'\\\n])'", re.DOTALL
)

LANGUAGE = Language(
    title="Rust",
    imports_of=later(_NAMES, "imports_of"),
    keys_of=later(_NAMES, "keys_of"),
    names_of=later(_NAMES, "names_of"),
    exports_of=later(_NAMES, "exports_of"),
    outline=OutlinePatterns(
        offers=(
            r"^[ \t]*pub(?:\([^)]*\))?\s+(?:(?:async|unsafe|const|extern(?:\s+\"[^\"]*\")?)\s+)*"
            r"(?:fn|struct|enum|trait|type|mod|static|const|union)\s+(?:mut\s+)?(\w+)"
        ),
        imports=r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:use|mod)\s+([^;{]*(?:\{[^;]*)?)",
    ),
    test_file=re.compile(r"(?:\A|/)(?:[^/]*_test|tests?)\.rs\Z"),
    find_tests=later(_TESTS, "find_rust_tests"),
    inner_tests=InnerTests(b"#[cfg(test)]", later(_TESTS, "find_inner_tests")),
    coverage=CoverageSupport(
        needed="have the test contracts run `cargo test`",
        tools=("cargo-llvm-cov", "cargo-tarpaulin"),
        absent="neither cargo-llvm-cov nor cargo-tarpaulin is installed: "
        "cargo install cargo-llvm-cov",
        function=re.compile(rb"\bfn\b"),
    ),
    compiler=Compiler("cargo", "Cargo.toml", (".rs",), "cargo check"),
    markers=(
        Marker("allow(", r"#!?\[allow\(", LINTER),
        Marker("ignore", r"#\[ignore\b", SKIP),
    ),
    environment='std::env::var("{}")',
)
