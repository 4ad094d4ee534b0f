"""``dpsql shell``: inputs gathered from lines, what the shell does with each, and the prompt of a terminal."""
