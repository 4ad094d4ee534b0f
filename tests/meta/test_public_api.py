"""The public interface, frozen: a change here is a change for users, and belongs into the release notes."""

import dataclasses
import inspect
from collections.abc import Iterator

import click
import pytest

import dpsql
from dpsql.interface.cli import cli

NAMES = {
    *("BINARY", "DATETIME", "NUMBER", "ROWID", "STRING"),
    *("Binary", "Date", "DateFromTicks", "Time", "TimeFromTicks", "Timestamp", "TimestampFromTicks"),
    *("apilevel", "paramstyle", "threadsafety"),
    *("Answer", "Budget", "Connection", "Cursor", "Explanation", "Note", "Policy", "Result"),
    *("connect", "dump_policy", "extract", "load_policy"),
    *("BudgetExhausted", "DataError", "DatabaseError", "EngineError", "Error", "IntegrityError", "InterfaceError"),
    *(
        "InternalError",
        "LedgerError",
        "NotSupportedError",
        "OperationalError",
        "PolicyError",
        "PolicyWarning",
        "ProgrammingError",
    ),
    *("SqlSyntaxError", "UnknownName", "UnsupportedQuery", "Warning"),
}
ERRORS = """\
Error
  DatabaseError
    DataError
    IntegrityError
    InternalError
    NotSupportedError
      UnsupportedQuery
    OperationalError
      BudgetExhausted
      EngineError
      LedgerError
    ProgrammingError
      PolicyError
      SqlSyntaxError
      UnknownName
  InterfaceError
"""
SIGNATURES = {
    "connect": "(database=None, policy=None, ledger=None, *, engine=None, new_budget=False)",
    "extract": "(source, policy, output, *, replace=False)",
    "load_policy": "(source)",
    "dump_policy": "(policy)",
    "Connection.execute": "(self, operation, parameters=None, *, max_charge=None, within=None)",
    "Connection.explain": "(self, operation, parameters=None, *, within=None)",
    "Connection.cursor": "(self)",
    "Connection.tables": "(self)",
    "Cursor.execute": "(self, operation, parameters=None, *, max_charge=None, within=None)",
    "Cursor.executemany": "(self, operation, seq_of_parameters)",
    "Cursor.fetchmany": "(self, size=None)",
    "Cursor.__arrow_c_stream__": "(self, requested_schema=None)",
    "Error": "(message, *, hint=None)",
    "BudgetExhausted": "(message, *, requested, remaining, hint=None)",
}
MEMBERS = {
    "Connection": "budget close closed commit cursor execute explain notices rollback session synthesize tables",
    "Cursor": "answers arraysize close connection description df execute executemany explanation fetchall fetchmany"
    " fetchone messages notes pl result rowcount rownumber setinputsizes setoutputsize to_arrow_table",
}
FIELDS = {
    "Answer": "value error interval error_kind source certified certified_bound charged label",
    "Budget": "epsilon delta spent_epsilon remaining_epsilon hard_rounds_left queries_answered queries_free purses"
    " tables questions_left",
    "Explanation": "plans outer worst_charge remaining notes statements_left",
    "Result": "table types column_answers block_answers notes paid within",
    "Note": "kind text",
    "Policy": "privacy tables mechanism public_tables",
}
SESSION = "DATABASE --policy --ledger --new-budget"
COMMANDS = {
    "demo": "--keep",
    "init": "DATABASE --table -o/--output --force --look-at-data",
    "shell": SESSION,
    "run": f"{SESSION} FILE -p/--param --within --max-charge --format -o/--output --resume --keep-going",
    "query": f"{SESSION} SQL -p/--param --within --max-charge --format -o/--output",
    "explain": f"{SESSION} SQL -p/--param --within",
    "synth": f"{SESSION} --table --method --workload --epsilon --instead-of-first-look --rows --option --seed"
    " -o/--output --compare --public --json",
    "extract": "SOURCES --policy -o/--output --force",
    "budget": f"{SESSION} --json",
    "check": "DATABASE --policy --verify --json",
}


def test_names() -> None:
    assert set(dpsql.__all__) == NAMES
    assert len(dpsql.__all__) == len(NAMES)
    assert all(getattr(dpsql, name) is not None for name in NAMES)
    assert (dpsql.apilevel, dpsql.paramstyle, dpsql.threadsafety) == ("2.0", "qmark", 1)


def tree(error: type[Exception], depth: int = 0) -> Iterator[str]:
    yield "  " * depth + error.__name__
    for child in sorted(error.__subclasses__(), key=lambda c: c.__name__):
        if child.__module__ == "dpsql.errors":
            yield from tree(child, depth + 1)


def test_tree_of_errors() -> None:
    assert "\n".join(tree(dpsql.Error)) + "\n" == ERRORS
    assert not issubclass(dpsql.Warning, dpsql.Error)
    for name in ERRORS.split():
        assert getattr(dpsql, name).default_hint


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name: str) -> None:
    found: object = dpsql
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)
    signature = inspect.signature(found)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == SIGNATURES[name]


@pytest.mark.parametrize("name", MEMBERS)
def test_members(name: str) -> None:
    cls = getattr(dpsql, name)
    public = {member for member in dir(cls) if not member.startswith("_")}
    public -= {error for error in public if isinstance(getattr(cls, error), type)}  # PEP 249: the errors
    made_by_init = {"arraysize"} & set(MEMBERS[name].split())
    assert public | made_by_init == set(MEMBERS[name].split())
    assert all(callable(getattr(cls, special)) for special in ("__enter__", "__exit__"))


def test_a_connection_holds_the_errors() -> None:
    for name in ["Error", "Warning", "DatabaseError", "InterfaceError", "ProgrammingError", "DataError"]:
        assert getattr(dpsql.Connection, name) is getattr(dpsql, name)


@pytest.mark.parametrize("name", FIELDS)
def test_fields(name: str) -> None:
    assert [field.name for field in dataclasses.fields(getattr(dpsql, name))] == FIELDS[name].split()


def test_commands() -> None:
    assert list(cli.list_commands(click.Context(cli))) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_options(name: str) -> None:
    shown = [
        "/".join(parameter.opts) if isinstance(parameter, click.Option) else str(parameter.name).upper()
        for parameter in cli.commands[name].params
    ]
    assert shown == COMMANDS[name].split()
    assert cli.commands[name].help


def test_formats() -> None:
    chosen = next(p for p in cli.commands["query"].params if p.name == "form")
    assert isinstance(chosen.type, click.Choice)
    assert list(chosen.type.choices) == ["table", "csv", "json", "jsonl", "parquet", "markdown"]
    assert not isinstance(chosen.default, str)  # by the ending of the output's name, else table


def test_dir_lists_each_name_once() -> None:
    _ = dpsql.connect  # from here on among the globals
    assert len(dir(dpsql)) == len(set(dir(dpsql)))
    assert set(dir(dpsql)) >= NAMES
