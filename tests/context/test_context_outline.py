import pytest

from runner.context.files import EMPTY, outline_of
from runner.languages.registry import is_source

PYTHON = b"""import os
from booking.models import (
    Booking,
    Guest,
)

LIMIT: int = 3
_hidden = 1

@dataclass
class Store:
    def add(self): ...

async def load(path): ...
def _private(): ...
"""
TYPESCRIPT = b"""import { api } from '../lib/api';
import type { Booking } from "./booking";
export interface Props { a: string }
export default async function Form() {}
export const total = 1;
export { helper as assist, Other };
const hidden = 2;
"""
GO = b"""package store

import (
\t"fmt"
\t"example.org/booking/models"
)

type Store struct{}

func (s *Store) Add() {}
func New() *Store { return nil }
func hidden() {}
"""
RUST = b"""use crate::models::Booking;
mod disk;

pub struct Store;
impl Store {
    pub async fn add(&self) {}
    fn hidden(&self) {}
}
pub(crate) const LIMIT: u32 = 3;
"""


@pytest.mark.parametrize(
    ("path", "content", "names", "mentions"),
    [
        ("a.py", PYTHON, "LIMIT Store load", {"os", "booking", "models", "Booking", "Guest"}),
        ("a.ts", TYPESCRIPT, "Props Form total assist Other", {"lib", "api", "booking"}),
        ("a.go", GO, "Store Add New", {"fmt", "booking", "models"}),
        ("a.rs", RUST, "Store add LIMIT", {"crate", "models", "Booking", "disk"}),
        ("a.js", b"module.exports = { one, two: 2 };\n", "one two", set()),
        ("a.cjs", b"exports.one = 1;\nconst x = require('./store');\n", "one", {"store"}),
    ],
)
def test_a_file_offers_its_exported_names_and_its_imports_are_remembered(
    path, content, names, mentions
):
    found = outline_of(path, content)
    assert found.names == names
    assert mentions <= set(found.mentions.split())
    assert found.lines == content.count(b"\n")


def test_what_is_broken_is_still_read_and_other_languages_are_not():
    assert outline_of("a.py", b"def f(:\n  class\nclass Ok: pass").names == "f Ok"
    assert outline_of("a.py", b"one line").lines == 1
    assert outline_of("a.md", b"# def f()\n") == EMPTY
    assert outline_of("a.py", b"x = 1\n" * 300_000) == EMPTY
    assert [is_source(path) for path in ("a.py", "a.tsx", "a.go", "a.rs", "a.md")] == [
        *([True] * 4),
        False,
    ]
