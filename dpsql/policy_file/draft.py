"""A first policy for the owner to correct, drafted from the database's schema.

An owner who starts from an empty file forgets columns. The draft lists all of them, marks what is guessed, and looks at
no row unless it is asked to.
"""

from collections.abc import Iterable, Mapping, Sequence

from dpsql.errors import PolicyError
from dpsql.policy_file.columns import Drafted, draft_column
from dpsql.policy_file.joined import join_lines
from dpsql.policy_file.lookups import proposed_public
from dpsql.policy_file.schema import ColumnSchema, TableSchema
from dpsql.policy_file.toml_table import quoted, quoted_key, quoted_list
from dpsql.policy_file.units import left_out, unit_lines

_HEADER = """\
# A draft: it knows the schema, not the people. Go through every line marked CHECK, then delete the mark.
# What this file declares is public, names included: ranges and lists must come from general knowledge, never from the
# rows. A schema may hold them too: an ENUM of the values that occur, a table or column named after one.
# A value outside its declared range or list counts as NULL, in a "number" column as the nearer end of the range (write
# outside = "null" for NULL). A column without a line does not exist for the analyst.
"""
_LOOKED = """\
# WARNING: this draft was made by looking at the data. Ranges and lists below marked FROM THE DATA disclose values of
# single rows, outside the privacy guarantee. Replace each by what is publicly known.
"""
_PRIVACY = """\
version = 1

[privacy]
epsilon = 1.0                     # CHECK: the whole session's budget; less is more private
delta = 1e-6                      # CHECK: well below 1 / (number of people)
neighbors = "add-remove"          # or "replace-one": units are exchanged
"""
_PUBLIC = """\

# [public]                        # tables the analyst may read freely
# tables = ["zip_codes"]
"""
_CODES = (
    "# CHECK: every row of these is shown. They seem to say nothing of people, only what codes of other tables mean"
)


def draft_policy(tables: Iterable[TableSchema | tuple[str, Sequence[ColumnSchema | tuple[object, ...]]]]) -> str:
    """A commented policy that loads as it is, with conservative guesses marked ``# CHECK``.

    ``tables`` come from the catalog alone, unless columns carry ``low``, ``high`` or ``values``: then the text warns.
    Raises PolicyError when no column of any table can be declared.

    >>> text = draft_policy([("people", [("age", "INTEGER"), ("member", "BOOLEAN", True), ("photo", "BLOB")])])
    >>> print(text[text.index("[tables.people.columns]"):text.index("# [public]")].rstrip())
    [tables.people.columns]
    age = { type = "integer", min = 0, max = 100 }  # CHECK: the range that is publicly known
    member = { type = "boolean", nullable = false }
    # photo: BLOB columns cannot be declared
    """
    given = [_schema(t) for t in tables]
    public = proposed_public(given)
    schemas = [t for t in given if t.name not in public]
    if not any(draft_column(c).keys is not None for t in schemas for c in t.columns):
        raise PolicyError("no table with a column that can be declared", hint="is this the right database?")
    looked = any(c.looked_at for t in schemas for c in t.columns)
    joins = "".join(f"{line}\n" for line in ("", *lines)) if (lines := join_lines(schemas)) else ""
    parts = [_HEADER, _LOOKED if looked else "", _PRIVACY, *(_table(t) for t in schemas), joins, _public(public)]
    return "".join(parts)


def with_advice(draft: str, lines: Sequence[str]) -> str:
    """The draft with comment lines before its tables.

    >>> draft = draft_policy([("people", [("member", "BOOLEAN")])])
    >>> text = with_advice(draft, ["mind the gap"])
    >>> text[text.index("neighbors"):text.index("[tables.people]")].splitlines()[-2:]
    ['# mind the gap', '']
    """
    head, tables = draft[: draft.index(_PRIVACY) + len(_PRIVACY)], draft[draft.index(_PRIVACY) + len(_PRIVACY) :]
    return head + "".join(f"# {line}".rstrip() + "\n" for line in lines) + tables


def _schema(table: TableSchema | tuple[str, Sequence[ColumnSchema | tuple[object, ...]]]) -> TableSchema:
    if isinstance(table, TableSchema):
        return table
    name, columns = table
    return TableSchema(name, tuple(ColumnSchema(*c) for c in columns))


def _public(tables: Mapping[str, str]) -> str:
    """The tables proposed as public, each with what it says of which columns; an example in comments where none is."""
    if not tables:
        return _PUBLIC
    lines = [f"# {quoted(name)}: {quoted(codes)}" for name, codes in tables.items()]
    return "\n".join(["", "[public]", f"{_CODES} (FROM THE DATA):", *lines, f"tables = {quoted_list(tables)}"]) + "\n"


def _table(table: TableSchema) -> str:
    name = quoted_key(table.name)
    lines = {c.name: draft_column(c) for c in table.columns}
    without = left_out(table)
    if any(line.keys is not None for column, line in lines.items() if column not in without):
        lines |= {column: Drafted(None, why) for column, why in without.items()}
    mark = "" if any(line.keys is not None for line in lines.values()) else "# "
    units = unit_lines(table)
    out = [
        "",
        f"{mark}[tables.{name}]",
        *(line if line.startswith("#") else f"{mark}{line}" for line in units),
        f"{mark}[tables.{name}.columns]",
    ]
    for column, line in lines.items():
        if line.keys is None:
            out.append(f"# {column!a}: {line.note}" if not column.isprintable() else f"# {column}: {line.note}")
        else:
            out.append(f"{quoted_key(column)} = {{ {line.keys} }}" + (f"  # {line.note}" if line.note else ""))
    return "\n".join(out) + "\n"
