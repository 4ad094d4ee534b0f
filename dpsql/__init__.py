"""Differentially private SQL counting for a whole session under one budget."""
