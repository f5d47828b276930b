"""Finds the links in documents of every kind, with line and column. Works on text and opens no files."""
