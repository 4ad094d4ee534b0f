"""Answers with noise of their own: a whole question, or only what released estimates leave open of it."""
