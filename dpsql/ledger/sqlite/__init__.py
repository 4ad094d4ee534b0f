"""The durable ledger: one SQLite file, its answers and lock files beside it.

Everything that knows of files, processes and SQL stands in here; what a ledger means stands above, for its twin too.
"""
