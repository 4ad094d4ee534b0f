"""What a table's rows are known by: their texts and digests, and the state of the file that holds them."""
