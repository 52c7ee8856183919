"""What is written under Contracts, read as what it asks for."""

import pytest

from runner.contracts import entries
from runner.contracts.entries import ContractKind, OpenApi, Refused, Schema


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        ("a.yaml app=b.api:app", OpenApi("a.yaml", app="b.api:app")),
        ("./c/a.yaml app=b:make()", OpenApi("c/a.yaml", app="b:make()")),
        (
            'a.yaml url=http://127.0.0.1:8001 start="python -m b --port 8001"',
            OpenApi("a.yaml", url="http://127.0.0.1:8001", start="python -m b --port 8001"),
        ),
    ],
)
def test_an_openapi_entry(value, entry):
    assert entries.openapi(value) == entry


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a.yaml", "an openapi contract needs either app= or url="),
        (
            "a.yaml app=b:c url=http://localhost:1 start=x",
            "an openapi contract needs either app= or url=",
        ),
        ("a.yaml app=b", "app=b is not a valid import path"),
        ("a.yaml app=b:c;rm", "app=b:c;rm is not a valid import path"),
        ("a.yaml url=http://127.0.0.1:1", "an openapi contract with url= needs start="),
        (
            "a.yaml url=http://example.org:80 start=x",
            "url=http://example.org:80 is not an http address of this machine",
        ),
        (
            "a.yaml url=http://127.0.0.1 start=x",
            "url=http://127.0.0.1 is not an http address of this machine",
        ),
        ("a.yaml port=1", "an openapi contract has no option 'port'"),
        ("", "an openapi contract needs a document"),
        ('a.yaml start="x', "'a.yaml start=\"x' has an unclosed quote"),
        ("../a.yaml app=b:c", "'../a.yaml' is not a path inside the repository"),
        (".git/config app=b:c", "'.git/config' is not a path inside the repository"),
        ("http://x/a.yaml app=b:c", "'http://x/a.yaml' is not a path inside the repository"),
    ],
)
def test_an_openapi_entry_that_cannot_be_read(value, message):
    with pytest.raises(Refused) as refused:
        entries.openapi(value)
    assert refused.value.message == message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        ("a.json = b.models:Thing", Schema("a.json", ContractKind.TYPE, "b.models:Thing")),
        (
            "a.json=b.models:Outer.Inner",
            Schema("a.json", ContractKind.TYPE, "b.models:Outer.Inner"),
        ),
        ("a.json = data/*.json", Schema("a.json", ContractKind.INSTANCES, "data/*.json")),
        ("`a.json` = `one.json`", Schema("a.json", ContractKind.INSTANCES, "one.json")),
        ("a.json = src/b.ts:BSchema", Schema("a.json", ContractKind.ZOD, "src/b.ts", "BSchema")),
        ("a.json = src/b.mjs:B", Schema("a.json", ContractKind.ZOD, "src/b.mjs", "B")),
        ("a.json", Schema("a.json")),
    ],
)
def test_a_schema_entry(value, entry):
    assert entries.schema(value) == entry
