"""Of questions about the values of a column: what of them a release measures."""
