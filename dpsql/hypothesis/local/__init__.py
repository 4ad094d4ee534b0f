"""Local models from clean 1- and 2-way tables: the hypothesis of universes too large for a tensor."""
