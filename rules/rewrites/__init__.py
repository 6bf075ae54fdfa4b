"""Rewrites of a kernel's structure that keep its results."""
