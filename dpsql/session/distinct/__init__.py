"""Counts of different values: units, and strings that nobody could list. Each has noise of its own."""
