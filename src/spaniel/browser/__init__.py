"""Chromium, driven over a pipe; it has one way out, `net`'s egress proxy."""
