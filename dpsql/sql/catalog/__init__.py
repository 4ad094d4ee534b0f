"""What tools ask before they ask for numbers: tables, columns, transactions, settings. The policy alone answers."""

from dpsql.sql.catalog.commands import Command, read_command
from dpsql.sql.catalog.relations import Catalog, catalog_of, describing
from dpsql.sql.catalog.tables import stand_in

__all__ = ["Catalog", "Command", "catalog_of", "describing", "read_command", "stand_in"]
