"""Peers: one file each, asked the same questions as dpsql under the same total (epsilon, 1e-6)."""
