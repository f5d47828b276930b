"""Markdown: written from a tree, and sanitized if written by others."""
