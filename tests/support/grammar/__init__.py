"""Statements made by a grammar: every allowed function and every form that is answered, and what is refused."""

from tests.support.grammar.statements import Statement, statement, statements

__all__ = ["Statement", "statement", "statements"]
