"""Statements on terms of the analyst's: a bound that is paid for, a charge that is not exceeded."""
