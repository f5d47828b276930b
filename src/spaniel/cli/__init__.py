"""The command line. A command is a module with `parser()` and `main(args)`, and a line of COMMANDS in main.py."""
