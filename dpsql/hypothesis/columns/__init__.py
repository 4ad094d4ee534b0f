"""Noisy counts of one column: what they may be, what of them is noise, and what comes again in dates. Public."""
