"""Where records go: append-only parts while a run lasts, and the form that was asked for when it is done."""

from spaniel.batch.outputs.finish import finish
from spaniel.batch.outputs.form import Form, form_of
from spaniel.batch.outputs.merge import Merged, merge
from spaniel.runs.parts import Part, as_line

__all__ = ["Form", "Merged", "Part", "as_line", "finish", "form_of", "merge"]
