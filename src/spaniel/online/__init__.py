"""Canonicalization online: answers the questions of a policy's rules by requests, and caches the answers."""
