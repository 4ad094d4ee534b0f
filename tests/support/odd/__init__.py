"""A table that nothing was built with: odd types, names, values and ranges, and statements about it by type."""

from tests.support.odd.checked import Checked
from tests.support.odd.in_postgresql import odd_table_in_postgresql
from tests.support.odd.statements import Statement, statement
from tests.support.odd.table import PARTS, Part, odd_table

__all__ = ["PARTS", "Checked", "Part", "Statement", "odd_table", "odd_table_in_postgresql", "statement"]
