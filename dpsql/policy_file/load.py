"""The policy file, TOML version 1, read into a ``Policy``. docs/policy.md describes every key.

An owner's mistake is cheapest here: ranges are checked with the key's path before anything is made of the values.
"""

import tomllib
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from io import DEFAULT_BUFFER_SIZE
from os import PathLike
from pathlib import Path
from typing import Any, cast, get_args

from dpsql.domain import RowCount, TableDomain
from dpsql.errors import PolicyError
from dpsql.hypothesis import STRATEGIES
from dpsql.policy import RETIRED_STRATEGIES, Calibration, Mechanism, Neighbors, Policy, Privacy, WhenSpent
from dpsql.policy_file.columns import read_column, read_weight
from dpsql.policy_file.derived import check_derived, read_derived
from dpsql.policy_file.source import DataSource, read_source
from dpsql.policy_file.toml_table import TomlTable

VERSION = 1
EPSILON_RANGE = (Fraction(1, 10**6), Fraction(100))
"""Below, no count of any table survives the noise; above, the guarantee says nothing."""
DELTA_RANGE = (Fraction(1, 10**100), Fraction(1, 10))
"""Both ends excluded. Below, floats of the public accounting lose their precision."""
MAX_ROWS_PER_UNIT = 10**6
MAX_HARD_ROUNDS = 1000
MAX_PLANNED_QUERIES = 10**12
MAX_PLANNED_ROWS = 10**12
MECHANISM_KEYS = (
    "strategy",
    "hard_rounds",
    "when_spent",
    "warm_start",
    "error_factor",
    "calibration",
    "planned_rows",
    "on_demand",
)
WARM_START_RANGE = (Fraction(1, 10), Fraction(99, 100))
"""Below, there is nothing to warm with; above, nothing is left for the test."""
ERROR_FACTOR_RANGE = (Fraction(1, 10), Fraction(100))
ON_DEMAND_RANGE = (Fraction(0), Fraction(9, 10))
"""At 0 nothing is set aside; above .9 hardly anything is left for all other answers."""


def load_policy(source: str | PathLike[str]) -> Policy:
    """The policy in a file, or in ``source`` itself when that is a string of several lines.

    Raises PolicyError: the file cannot be read, is not UTF-8 or not TOML (with line and column), or a key is unknown,
    missing, of the wrong type or out of range (with the key's path).
    """
    if isinstance(source, str) and "\n" in source:
        return parse_policy(source)
    return parse_policy(_read(Path(source)))


def load_source(file: str | PathLike[str]) -> DataSource | None:
    """Where the policy in a file says that its rows are; ``None`` where it does not. PolicyError as `load_policy`."""
    path = Path(file)
    root = TomlTable(_toml(_read(path)))
    return read_source(root.table("source", "[source]"), path.parent) if "source" in root else None


def is_policy_file(path: Path) -> bool:
    """Whether a file is text in TOML, or text that the name of a policy file says to be: it may have an error."""
    try:
        with path.open("rb") as file:
            if b"\0" in file.read(DEFAULT_BUFFER_SIZE):  # a database, a ledger: not to be read whole
                return False
        text = _read(path)
        return path.suffix.lower() == ".toml" or _toml(text) is not None
    except (OSError, PolicyError):
        return False


def parse_policy(text: str) -> Policy:
    """The policy written in TOML ``text``. Numbers are read exactly as written. Raises PolicyError.

    >>> policy = parse_policy('''
    ... version = 1
    ... privacy = { epsilon = 0.1, delta = 1e-6 }
    ... [tables.adult.columns]
    ... age = { type = "integer", min = 17, max = 90 }
    ... ''')
    >>> policy.privacy.epsilon, policy.tables[0].cells
    (Fraction(1, 10), 75)
    """
    root = TomlTable(_toml(text))
    version = root.value("version", "version = 1 at the top")
    if isinstance(version, bool) or not isinstance(version, int) or version != VERSION:
        root.refuse("version", f"must be {VERSION}", f"this dpsql reads version = {VERSION}")
    root.only(("version", "privacy", "source", "mechanism", "tables", "public"), "the policy")
    if "source" in root:
        read_source(root.table("source", "[source] with path or uri"))  # of the file, not of the policy
    privacy = _privacy(root.table("privacy", "[privacy] with epsilon and delta"))
    mechanism = _mechanism(root.table("mechanism", "[mechanism]")) if "mechanism" in root else Mechanism()
    tables = _tables(root.table("tables", "[tables.NAME.columns] with a line for each column"))
    private = {t.name.lower() for t in tables}
    public = _public(root.table("public", "[public]"), private) if "public" in root else ()
    return Policy(privacy, tables, mechanism, public)


def _privacy(keys: TomlTable) -> Privacy:
    keys.only(("epsilon", "delta", "neighbors", "planned_queries"), "[privacy]")
    epsilon, delta = keys.number("epsilon", "epsilon = 1.0"), keys.number("delta", "delta = 1e-6")
    if epsilon <= 0:
        keys.refuse("epsilon", "must be above 0", "write epsilon = 1.0, or less for more privacy")
    if not EPSILON_RANGE[0] <= epsilon <= EPSILON_RANGE[1]:
        keys.refuse("epsilon", "must be from 1e-6 to 100", "epsilon = 1.0 is usual; above 10 little is protected")
    if not DELTA_RANGE[0] < delta < DELTA_RANGE[1]:
        advice = "write delta = 1e-6, well below 1 / (number of people)"
        keys.refuse("delta", "must be above 1e-100 and below 0.1", advice)
    options: dict[str, Any] = {}
    if "neighbors" in keys:
        options["neighbors"] = cast(Neighbors, keys.choice("neighbors", get_args(Neighbors)))
    if "planned_queries" in keys:
        options["planned_queries"] = keys.integer(
            "planned_queries", 1, MAX_PLANNED_QUERIES, example="planned_queries = 100_000"
        )
    return Privacy(epsilon, delta, **options)


def _mechanism(keys: TomlTable) -> Mechanism:
    keys.only(MECHANISM_KEYS, "[mechanism]")
    options: dict[str, Any] = {}
    if "strategy" in keys:
        options["strategy"] = _strategy(keys)
    if "hard_rounds" in keys:
        options["hard_rounds"] = keys.integer("hard_rounds", 1, MAX_HARD_ROUNDS, example="hard_rounds = 20")
    if "when_spent" in keys:
        options["when_spent"] = cast(WhenSpent, keys.choice("when_spent", get_args(WhenSpent)))
    for name, (low, high), example in (
        ("warm_start", WARM_START_RANGE, "warm_start = 0.96"),
        ("error_factor", ERROR_FACTOR_RANGE, "error_factor = 1.15"),
        ("on_demand", ON_DEMAND_RANGE, "on_demand = 0.05"),
    ):
        if name in keys:
            options[name] = keys.number(name, example)
            if not low <= options[name] <= high:
                keys.refuse(name, f"must be from {float(low)} to {float(high)}", f"write {example}")
    return Mechanism(**options, **_calibration(keys))


def _calibration(keys: TomlTable) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "calibration" in keys:
        found["calibration"] = cast(Calibration, keys.choice("calibration", get_args(Calibration)))
    if "planned_rows" in keys:
        if found.get("calibration") != "paper":
            keys.refuse("planned_rows", 'needs calibration = "paper"', "leave it out: the plan knows no number of rows")
        found["planned_rows"] = keys.integer("planned_rows", 1, MAX_PLANNED_ROWS, example="planned_rows = 100_000")
    return found


def _strategy(keys: TomlTable) -> str:
    """A word of the registry; one that was a name without a thing is refused with what it ran."""
    word = keys.string("strategy", 'strategy = "auto"')
    ran = None if word in STRATEGIES else RETIRED_STRATEGIES.get(word)
    if ran is not None:
        listing = " and ".join(f'"{name}"' for name in STRATEGIES)
        keys.refuse(
            "strategy",
            f'"{word}" never ran anything but "{ran}" and is gone; there are {listing}',
            f'write strategy = "{ran}": a ledger that was begun with "{word}" goes on with it',
        )
    return keys.choice("strategy", STRATEGIES)


def _tables(keys: TomlTable) -> tuple[TableDomain, ...]:
    if not keys.names():
        raise PolicyError("no table is declared", path=keys.path, hint="add [tables.NAME.columns]")
    _check_names(keys, "table")
    return tuple(_table(name, keys.table(name, f"[tables.{name}]")) for name in keys.names())


def _table(name: str, keys: TomlTable) -> TableDomain:
    keys.only(("unit", "max_rows_per_unit", "row_count", "joins", "weight", "columns"), "a table")
    unit, rows = None, 1
    if "unit" in keys:
        unit = keys.string("unit", 'unit = "owner_id"')
        if not unit or not unit.isprintable():
            keys.refuse("unit", "is not a column's name", 'write unit = "owner_id", the column that names the person')
    if "max_rows_per_unit" in keys:
        if unit is None:
            keys.refuse("max_rows_per_unit", "needs a unit", 'add unit = "owner_id", or leave max_rows_per_unit out')
        rows = keys.integer("max_rows_per_unit", 1, MAX_ROWS_PER_UNIT, example="max_rows_per_unit = 3")
    counted = cast(RowCount, keys.choice("row_count", get_args(RowCount))) if "row_count" in keys else "measured"
    columns = keys.table("columns", f"[{keys.path}.columns] with a line for each column")
    if not columns.names():
        raise PolicyError("no column is declared", path=columns.path, hint='add age = { type = "integer", ... }')
    _check_names(columns, "column")
    declared = {c: columns.table(c, _example(columns, c)) for c in columns.names()}
    derived = tuple(read_derived(c, keys) for c, keys in declared.items() if "sql" in keys)
    domains = [read_column(c, keys) for c, keys in declared.items()]
    joins = keys.strings("joins", 'joins = ["patients", "visits"]') if "joins" in keys else ()
    derivable = check_derived(name, unit, derived)
    return TableDomain(name, tuple(domains), unit, rows, counted, joins, derivable, read_weight(keys))


def _example(columns: TomlTable, name: str) -> str:
    """How a column is declared, of which the file has no table; a list is that of a category's values."""
    listed = isinstance(columns.value(name, name), list)
    return f'{name} = {{ type = "category", values = [...] }}' if listed else f'{name} = {{ type = "text" }}'


def _public(keys: TomlTable, private: set[str]) -> tuple[str, ...]:
    keys.only(("tables",), "[public]")
    names = keys.strings("tables", 'tables = ["zip_codes"]')
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not name or not name.isprintable():
            keys.refuse("tables", "is not a table's name", 'write tables = ["zip_codes"]', i)
        if name.lower() in private:
            keys.refuse(
                "tables", f"{name} is also a private table", "a table is public or private: keep one of the two", i
            )
        if name.lower() in seen:
            keys.refuse(
                "tables", f"{name} is listed twice", "list each table once; upper and lower case are the same", i
            )
        seen.add(name.lower())
    return names


def _check_names(keys: TomlTable, what: str) -> None:
    seen: dict[str, str] = {}
    for name in keys.names():
        if not name or not name.isprintable():
            keys.refuse(name, f"is not a {what}'s name", f"write the {what}'s name as the database has it")
        other = seen.setdefault(name.lower(), name)
        if other != name:
            keys.refuse(name, f"differs from {other} only in case", f"names ignore case: declare the {what} once")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        message, hint = "there is no such policy file", "write one with: dpsql init DATABASE, or pass --policy"
    except IsADirectoryError:
        message, hint = "is a directory, not a policy file", "name the .dpsql.toml file itself"
    except UnicodeDecodeError:
        message, hint = "is not UTF-8 text", "save the policy as UTF-8"
    except (OSError, ValueError):
        message, hint = "the policy file cannot be read", "check its name and permissions"
    raise PolicyError(message, path=str(path), hint=hint)


_TOML = (
    'strings are quoted, and names of other signs than a-z ("größe"); dates, true and false are not; { } stands on one '
    "line; see https://toml.io/en/v1.0.0"
)


def _toml(text: str) -> dict[str, Any]:
    hint = _TOML
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except tomllib.TOMLDecodeError as error:
        message = f"not TOML: {error}"
        if str(error).startswith("Cannot"):  # so tomllib begins what it says of all that is repeated
            hint = "a key, or a [table], stands twice: keep one of them"
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of nested brackets
        message = "not TOML that a policy needs: a number or a nesting is too long"
    raise PolicyError(message, hint=hint)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond decimal's own limits
        return Decimal("nan")
