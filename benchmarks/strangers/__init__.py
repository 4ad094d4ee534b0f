"""A stranger's workload: kinds of questions that nobody tuned dpsql on, asked of several tables."""
