"""Threads, comments and reviews."""
