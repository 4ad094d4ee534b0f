"""Values of columns as queries count them: joined cells, classes, and what lies between two ends. Public."""
