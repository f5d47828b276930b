"""Spaniel beside its peers: every performance claim is a ratio from one interleaved run of this."""
