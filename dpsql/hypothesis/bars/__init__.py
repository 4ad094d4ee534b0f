"""Error bars of model answers: what a bootstrap, the covering noise and assumptions say about the error."""
