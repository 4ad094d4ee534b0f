"""Whole statements: which SELECTs are blocks over private rows, and what is left once their answers are tables."""
