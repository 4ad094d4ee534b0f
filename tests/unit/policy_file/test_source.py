"""``[source]``: said by a policy's file, never by the policy that a ledger is bound to."""

from pathlib import Path

import pytest

from dpsql.errors import PolicyError
from dpsql.policy_file import DataSource, dump_policy, load_policy, load_source, parse_policy

POLICY = 'version = 1\nprivacy = { epsilon = 1, delta = 1e-6 }\n[tables.t.columns]\nb = { type = "boolean" }\n'


def with_source(line: str) -> str:
    return f"{POLICY}[source]\n{line}\n"


@pytest.mark.parametrize("line", ['path = "clinic.duckdb"', 'uri = "postgresql://db.example/clinic"'])
def test_a_policy_is_the_same_wherever_its_rows_are(line: str) -> None:
    plain, moved = parse_policy(POLICY), parse_policy(with_source(line))
    assert plain == moved and plain.digest == moved.digest
    assert dump_policy(plain) == dump_policy(moved)


def test_paths_are_beside_the_policy(tmp_path: Path) -> None:
    file = tmp_path / "p.dpsql.toml"
    file.write_text(with_source('path = "data/clinic.duckdb"'))
    assert load_source(file) == DataSource(path=tmp_path / "data" / "clinic.duckdb")
    file.write_text(with_source(f'path = "{tmp_path.as_posix()}/x.duckdb"'))
    assert load_source(file) == DataSource(path=tmp_path / "x.duckdb")
    file.write_text(with_source('uri = "postgresql://ann@db.example/clinic"'))
    assert load_source(file) == DataSource(uri="postgresql://ann@db.example/clinic")
    file.write_text(POLICY)
    assert load_source(file) is None and load_policy(file) == parse_policy(POLICY)


@pytest.mark.parametrize(
    ("line", "path", "what"),
    [
        ("", "source.uri", "one of path and uri"),
        ('path = "a"\nuri = "postgresql://b"', "source.uri", "one of path and uri"),
        ("path = 3", "source.path", "must be a string"),
        ('path = ""', "source.path", "not the path"),
        ('path = "postgresql://db"', "source.path", "not the path"),
        ('uri = "clinic.duckdb"', "source.uri", "not an address"),
        ('url = "postgresql://db"', "source.url", "unknown key"),
        ('uri = "postgresql://ann:secret@db/clinic"', "source.uri", "holds a password"),
        ('uri = "postgresql://db/clinic?password=secret"', "source.uri", "holds a password"),
        ('uri = "postgresql://ann:se/secret@db/clinic"', "source.uri", "holds a password"),
    ],
)
def test_what_is_refused(line: str, path: str, what: str) -> None:
    with pytest.raises(PolicyError, match=what) as caught:
        parse_policy(with_source(line))
    assert caught.value.path == path and caught.value.hint and "secret" not in str(caught.value)
