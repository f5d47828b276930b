"""Resumable runs: items and what became of them in SQLite files, records in append-only part files."""
