"""Strings of text columns: which of them may be groups, and what their owner's word says of those that are listed."""
