"""Run the command line: `python -m spaniel` is the same as `spaniel`."""

from spaniel.cli.main import run

run()
