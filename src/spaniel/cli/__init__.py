"""The command line: parse input, call, print."""
