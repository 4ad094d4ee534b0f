"""Whole statements: which SELECTs are blocks over private rows, and what is left once their answers are tables.

Analysts write whole queries, of which only the innermost part is about private rows. The rest is ordinary SQL over
released numbers, if it can be told apart; that is done here.
"""
