"""What DuckDB says of public work is told as it is true of the analyst's statement."""

from contextlib import closing

import pyarrow as pa
import pytest

from dpsql.errors import ProgrammingError
from dpsql.public import DuckDbPublicSql


def test_positions_of_order_by_are_not_counted_with_columns_that_nobody_wrote() -> None:
    public = DuckDbPublicSql({"t": pa.table({"a": [1]})}.__getitem__)
    with closing(public), pytest.raises(ProgrammingError, match="ORDER BY names a position") as caught:
        public.run("SELECT a, a AS hidden FROM t ORDER BY 5", {}, ["t"])
    assert "between 1 and 2" not in str(caught.value)
    assert caught.value.hint == "positions run from 1 to the number of its columns"
