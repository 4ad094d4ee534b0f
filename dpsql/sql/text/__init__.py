"""A statement as text: what may be parsed, its syntax tree, where its nodes stand, and values put for parameters."""
