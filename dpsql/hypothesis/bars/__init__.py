"""Error bars of model answers: what a bootstrap, the covering noise and assumptions say about the error.

A model's answer has no noise of its own from which an error would follow, yet a number without an error cannot be used.
"""
