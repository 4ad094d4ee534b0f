"""``dpsql run``: the output of a file of statements, such that a broken run can go on."""
