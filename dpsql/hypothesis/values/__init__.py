"""What is known of the values of rows inside their bins, and questions about them as counts of cells. Public."""
