"""Statements as tools and people send them, with the verdict wanted of each and the verdict that it gets."""
