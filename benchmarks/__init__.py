"""Benchmarks: each module is one command, ``python -m benchmarks.NAME``; it prints a table and writes JSON."""
