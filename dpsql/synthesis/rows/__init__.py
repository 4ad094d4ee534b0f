"""From a session's public estimate to whole rows: what they should add up to, first rows, and moves that fit them."""
