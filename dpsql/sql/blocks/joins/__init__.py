"""Joins of private rows with public or released relations: what a relation says of a row is a function of the row.

``sources`` reads FROM, ``parts`` tells which relations are found by which columns of the row, ``cells`` computes what
they say for every declared value, and ``lookups`` makes of it rows of the private table with more columns. Two private
tables are joined where the owner has declared a view of both, ``declared_view``. ``correlated`` reads look-ups that
are written as subqueries.
"""

from dpsql.sql.blocks.joins.correlated import Correlated
from dpsql.sql.blocks.joins.declared_view import as_declared_view
from dpsql.sql.blocks.joins.joins import Joins

__all__ = ["Correlated", "Joins", "as_declared_view"]
