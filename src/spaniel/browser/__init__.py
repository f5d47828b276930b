"""Chromium, controlled over a pipe; all its traffic uses `net`'s egress proxy."""
