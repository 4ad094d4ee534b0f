"""Expressions over the columns of one private table: names, allowed functions and types, their bound form."""
