"""Rewrites of a kernel's structure that keep what it computes."""
