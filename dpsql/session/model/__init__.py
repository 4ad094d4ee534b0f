"""What a table's model says to the session: estimates with their error bars, and estimates beside measurements."""
