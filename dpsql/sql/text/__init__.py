"""A statement as text: what may be parsed, its syntax tree, where its nodes stand, and values put for parameters.

Nothing here knows tables or columns; it decides what is one well-formed SELECT of bearable size.
"""
