"""Which strings of a text column may be groups: those that a first touch has shown. Public."""

from collections.abc import Mapping

from dpsql.session.table_state import TableState


def released_keys(state: TableState, text_column: str) -> tuple[str | None, ...] | None:
    """The keys of a text column that may be shown, NULL last; ``None`` before its first touch."""
    found = state.touches.texts.keys(text_column)
    if found is None:
        return None
    domain = state.plan.table
    prefix = domain.prefixes.get(text_column)
    declared = domain.by_name[(text_column if prefix is None else prefix.column).lower()]
    return (*found, None) if declared.nullable else found


class ReleasedStrings:
    """What a session's front end may know of text columns, from the ``states`` of its tables by name."""

    def __init__(self, states: Mapping[str, TableState]) -> None:
        self._states = states

    def keys(self, table: str, text_column: str) -> tuple[str | None, ...] | None:
        """``released_keys`` of a table's column."""
        return released_keys(self._states[table], text_column)

    def shown_from(self, table: str, text_column: str) -> int | None:
        """From how many rows on a string could be shown, where the owner says that none has as many; else ``None``."""
        return self._states[table].plan.unshown.get(text_column)
