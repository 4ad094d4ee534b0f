"""The owner's policy file: read, written back, and drafted from a schema.

Only this package knows TOML. It refuses whole files with the key's path, since a policy that is half understood
protects nobody.
"""

from dpsql.policy_file.draft import draft_policy, with_advice
from dpsql.policy_file.dump import dump_policy
from dpsql.policy_file.load import is_policy_file, load_policy, load_source, parse_policy
from dpsql.policy_file.lookups import FOUND, LARGEST_LOOKUP, may_describe, proposed_public
from dpsql.policy_file.schema import ColumnSchema, RowsEach, TableSchema
from dpsql.policy_file.source import DataSource
from dpsql.policy_file.units import may_tell_people

__all__ = [
    "FOUND",
    "LARGEST_LOOKUP",
    "ColumnSchema",
    "DataSource",
    "RowsEach",
    "TableSchema",
    "draft_policy",
    "dump_policy",
    "is_policy_file",
    "load_policy",
    "load_source",
    "may_describe",
    "may_tell_people",
    "parse_policy",
    "proposed_public",
    "with_advice",
]
