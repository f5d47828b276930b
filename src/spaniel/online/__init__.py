"""Canonical links with the web at hand: what a policy's rules ask is asked here, politely, and remembered."""
