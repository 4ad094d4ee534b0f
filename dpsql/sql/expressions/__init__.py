"""Expressions over the columns of one private table: names, allowed functions and types, their bound form.

This is the allow-list: what is not named in here is refused with its place and a hint.
"""
