"""What every DuckDB connection of ours has in common: how names are quoted, types are called and failures translated;
and how the address of a server's database is written.

It stands below the private engine and the public evaluator, so that the two need not see each other.
"""
