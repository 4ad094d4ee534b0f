"""The classic PEP 249 suite, its test bodies unmodified but for two that it asks drivers to override."""

import dbapi20
import duckdb

from tests.interface.dbapi_shim import Driver, connect_privately


class TestCompliance(dbapi20.DatabaseAPI20Test):
    driver = Driver(connect_privately)

    def setUp(self) -> None:
        self.owner = duckdb.connect()
        self.connect_args = (self.owner,)

    def tearDown(self) -> None:
        super().tearDown()
        self.owner.close()

    def test_nextset(self) -> None:
        """Optional: a statement has one result set."""
        assert not hasattr(self._connect().cursor(), "nextset")

    def test_setoutputsize(self) -> None:
        """Left to the driver: it has no effect."""
        with self._connect() as con, con.cursor() as cur:
            cur.setoutputsize(1)
            self._paraminsert(cur)


def test_the_suite_still_has_the_bodies_that_are_overridden() -> None:
    ours = {name for name in vars(TestCompliance) if name.startswith("test")}
    assert ours == {"test_nextset", "test_setoutputsize"}
    theirs = {name for name in dir(dbapi20.DatabaseAPI20Test) if name.startswith("test")}
    assert ours < theirs and len(theirs) >= 35
