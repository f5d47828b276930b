"""What libyaml says of a broken document, in words that tell what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml

_PLAIN_WORDS = {
    "found character that cannot start any token": (
        "a tab, '@', '`' or '%' cannot begin anything here; indent with spaces, and write such a value in quotes"
    ),
    "found a tab character that violates indentation": "a tab cannot indent; use spaces",
    "could not find expected ':'": "this is no 'key: value' and no '- item'; write it as one, or within quotes",
    "mapping values are not allowed in this context": (
        "a ':' where no key can stand; write a value with ': ' in it within quotes, and begin all keys in one column"
    ),
    "did not find expected key": "this line does not fit the lines above; begin all keys in one column",
    "did not find expected '-' indicator": "this line does not fit the list above; begin each item with '- '",
    "block sequence entries are not allowed in this context": (
        "a '-' where no list can stand; begin the list in the next line, or write the value within quotes"
    ),
    "did not find expected <document start>": (
        "this is outside of the record; remove directives ('%YAML …'), and begin each record with '---'"
    ),
    "found unexpected end of stream": "a quotation mark is opened and not closed",
    "found unexpected document indicator": "a quotation mark is opened and not closed before the next '---'",
    "found unknown escape character": "in double quotes a '\\' needs another; or use single quotes",
}
# libyaml notices these at the end of the file or in the next line; who mends them looks for where they begin
_NOTICED_LATE = ("could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator")


def in_plain_words(error: yaml.MarkedYAMLError) -> tuple[str, yaml.Mark | None]:
    """What is wrong, and where. What the table has not is told as libyaml does."""
    problem = error.problem or error.context or "not YAML"
    marks = (error.problem_mark, error.context_mark)
    first, second = reversed(marks) if problem in _NOTICED_LATE else marks
    return _PLAIN_WORDS.get(problem, problem), first or second
