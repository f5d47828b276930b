"""`python -m spaniel` is `spaniel`."""

from spaniel.cli.main import run

run()
