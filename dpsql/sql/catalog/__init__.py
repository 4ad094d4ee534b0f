"""What tools ask before they ask for numbers: tables, columns, transactions, settings. The policy alone answers."""

from dpsql.sql.catalog.commands import DONE, Command, read_command
from dpsql.sql.catalog.definitions import Definitions, gives_name, read_definition, with_definitions
from dpsql.sql.catalog.relations import Catalog, catalog_of, describing
from dpsql.sql.catalog.series import SERIES, UNNEST, check_series, series_entry
from dpsql.sql.catalog.tables import stand_in

__all__ = [
    "DONE",
    "SERIES",
    "UNNEST",
    "Catalog",
    "Command",
    "Definitions",
    "catalog_of",
    "check_series",
    "describing",
    "gives_name",
    "read_command",
    "read_definition",
    "series_entry",
    "stand_in",
    "with_definitions",
]
