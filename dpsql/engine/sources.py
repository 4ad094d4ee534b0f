"""What a database's own catalog says of the private tables, the same for every engine over one. Public."""

from collections.abc import Mapping
from typing import Protocol

from dpsql.engine.scope import private_table
from dpsql.policy import Policy


class Source(Protocol):
    """A table or view as the catalog describes it."""

    @property
    def is_base_table(self) -> bool:
        """Whether its rows are stored in the database, and it is no view."""
        ...

    def is_of_integers(self, column: str) -> bool:
        """Whether the database's own type of a column, in any case, is one of whole numbers."""
        ...


class OverSources:
    """An engine that looked up its private tables in a catalog: ``_sources`` by name."""

    _policy: Policy
    _sources: Mapping[str, Source]

    def is_base_table(self, table: str) -> bool:
        """Whether the table's rows are stored in the database, and it is no view."""
        return self._sources[private_table(self._policy, table).name].is_base_table

    def is_of_integers(self, table: str, column: str) -> bool:
        """Whether the database's own type of the column is one of whole numbers."""
        return self._sources[private_table(self._policy, table).name].is_of_integers(column)
