"""Iterative database constructions of the papers: the state after t updates, each with one released answer. Public.

They are what their sources say, with their theorems; a fit to whole measurements (``tensor``, ``local``) learns more
from the same budget. docs/papers.md maps each to its source.
"""
