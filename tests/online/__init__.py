"""Canonical links, proved online."""
