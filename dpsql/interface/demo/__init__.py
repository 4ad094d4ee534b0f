"""``dpsql demo``: two real, public tables, a tour of questions, the private answer beside the true one."""
