"""The packaged demonstration."""
