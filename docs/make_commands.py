"""The references of the command line and of Python, made from the parsers and the public modules; run by make.py."""

from __future__ import annotations

import argparse
import inspect
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spaniel.cli.completion import whole_parser
from spaniel.cli.main import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

MODULES = ("spaniel", "spaniel.tool", "spaniel.registry", "spaniel.health", "spaniel.testing")
REQUIREMENTS = re.compile(r"\s*\((?:FR|NFR|D2|LH|FG|UN|CP|DB)-[^)]*\)")
LINE = 100  # characters of a signature in one line

CLI = """\
# Command line

<!-- Made from the parsers of src/spaniel/cli/ by `make docs`. -->

`spaniel COMMAND --help` shows the same in a terminal.
"""


def cli_page() -> str:
    """Every command and subcommand: what it does, examples, options."""
    lines = [CLI, "| command | what it does |", "|---|---|"]
    lines += [f"| [`{name}`](#spaniel-{name}) | {what} |" for name, what in COMMANDS.items()]
    for parser, depth in _parsers(whole_parser(), 2):
        lines += ["", f"{'#' * depth} `{parser.prog}`", "", *_command(parser)]
    return "\n".join(lines) + "\n"


def _parsers(parser: argparse.ArgumentParser, depth: int) -> Iterator[tuple[argparse.ArgumentParser, int]]:
    for action in parser._actions:  # noqa: SLF001  argparse has no public names for these
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                yield inner, depth
                yield from _parsers(inner, depth + 1)


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield _prose((parser.description or "").strip())
    examples, _, notes = (parser.epilog or "").partition("\n\n")
    if examples.startswith("examples:"):
        yield from ["", "```sh", *(line.strip() for line in examples.splitlines()[1:]), "```"]
    else:
        notes = parser.epilog or ""
    for group in parser._action_groups:  # noqa: SLF001
        actions = [a for a in group._group_actions if _is_shown(a)]  # noqa: SLF001
        if actions:
            title = {"positional arguments": "argument", "options": "option"}.get(group.title or "", group.title or "")
            yield from ["", f"| {title} | |", "|---|---|"]
            yield from (f"| {_names(action)} | {_cell(_help_of(parser, action))} |" for action in actions)
    for note in filter(None, notes.strip().split("\n\n")):
        yield from ["", *_note(note)]


def _is_shown(action: argparse.Action) -> bool:
    hidden = isinstance(action, argparse._HelpAction | argparse._SubParsersAction)  # noqa: SLF001
    return not hidden and action.help != argparse.SUPPRESS


def _names(action: argparse.Action) -> str:
    value = action.metavar or (",".join(map(str, action.choices)) if action.choices else action.dest.upper())
    value = " ".join(value) if isinstance(value, tuple) else str(value)
    takes = "" if action.nargs == 0 else f" {value}"
    names = [f"`{option}{takes}`" for option in action.option_strings] or [f"`{value}`"]
    return _cell(", ".join(names))


def _help_of(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return " ".join(parser._get_formatter()._expand_help(action).split()) if action.help else ""  # noqa: SLF001


def _note(text: str) -> list[str]:
    """A paragraph of an epilog; lines that are indented are a table for a terminal."""
    if re.search(r"^ {2}", text, re.MULTILINE):
        return ["```text", *text.splitlines(), "```"]
    return [_prose(" ".join(text.split()))]


def _prose(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*")


def _cell(text: str) -> str:
    text = text.replace("|", "\\|")
    return text if "`" in text else text.replace("<", "&lt;").replace("*", "\\*")


def modules() -> str:
    """Every public name with its signature and its docstring."""
    lines: list[str] = []
    for name in MODULES:
        module = import_module(name)
        lines += [f"## `{name}`", "", _first(module), ""]
        for each in module.__all__:
            lines += _name(module, each)
    return "\n".join(lines).rstrip()


def _first(value: object) -> str:
    return _docstring(inspect.getdoc(value) or "").split("\n\n")[0]


def _name(module: ModuleType, name: str) -> list[str]:
    value = getattr(module, name)
    shown = value.batch if inspect.ismodule(value) and hasattr(value, "batch") else value
    if inspect.ismodule(shown):  # a package that can be called: the function behind it
        shown = import_module("spaniel.app.batching").batch
    lines = [f"### `{name}`", ""]
    if callable(shown) and not isinstance(shown, type(int | str)):
        with_self = inspect.isclass(shown)
        lines += _signature(name, shown)
        lines += [_docstring(inspect.getdoc(shown) or ""), ""]
        if with_self:
            lines += _methods(shown)
    else:
        lines += [f"`{_clean(str(shown))}`", ""]
    return lines


def _methods(owner: Any) -> list[str]:
    lines: list[str] = []
    for name, value in vars(owner).items():
        text = inspect.getdoc(value) or ""
        if name.startswith("_") or not text or not (inspect.isroutine(value) or isinstance(value, property)):
            continue
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if isinstance(value, property):
            lines += [f"- `.{name}`: {_docstring(text).splitlines()[0]}"]
        else:
            call = "".join(_signature(f"{owner.__name__}.{name}", function)[1:-2])
            first = " ".join(_docstring(text).split("\n\n")[0].split())
            lines += [f"- `{_one_line(call)}`: {first}"]
    return [*lines, ""] if lines else []


def _one_line(call: str) -> str:
    return re.sub(r",\)", ")", re.sub(r"\s+", " ", call.replace("\n", " ")).replace("( ", "(").replace(" )", ")"))


def _signature(name: str, value: Any) -> list[str]:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return []
    kept = [p for p in signature.parameters.values() if p.name not in ("self", "cls") and not p.name.startswith("_")]
    if inspect.isclass(value):
        signature = signature.replace(return_annotation=inspect.Signature.empty)
        if [p.kind for p in kept[:1]] == [inspect.Parameter.VAR_POSITIONAL]:  # a protocol: it is not called
            return []
    parts = [_clean(str(parameter)) for parameter in kept]
    star = next((i for i, p in enumerate(kept) if p.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if star is not None and not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in kept):
        parts.insert(star, "*")
    returns = signature.return_annotation
    tail = "" if returns is inspect.Signature.empty else f" -> {_clean(_annotation(returns))}"
    prefix = "await " if inspect.iscoroutinefunction(value) else ""
    line = f"{prefix}{name}({', '.join(parts)}){tail}"
    if len(line) > LINE:
        line = f"{prefix}{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){tail}"
    return ["```py", line, "```", ""]


def _annotation(value: object) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))


def _clean(text: str) -> str:
    """An annotation as it stands in the source, without quotes, modules and the names of typing."""
    text = re.sub(r"ForwardRef\('([^']*)'(?:, module='[^']*')?\)", r"\1", text)
    text = re.sub(r"(?<=: )'([^']*)'|^'([^']*)'$", lambda m: m[1] or m[2], text)
    text = re.sub(r"\b(?:spaniel|typing|collections|datetime|os)(?:\.\w+)*\.(?=[A-Za-z])", "", text)
    return re.sub(r"<[^>]*object at 0x[0-9a-f]+>|<function (\w+) at 0x[0-9a-f]+>", lambda m: m[1] or "…", text)


def _docstring(text: str) -> str:
    """A docstring as Markdown: indented examples and lists of arguments become blocks."""
    blocks = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines and (all(line.startswith("    ") for line in lines) or block.startswith(">>>")):
            kind = "pycon" if ">>>" in block else "py"
            blocks.append("\n".join([f"```{kind}", *(re.sub("^    ", "", line) for line in lines), "```"]))
        elif len(lines) > 1 and all(re.match(r"\w+ {2,}\S|\s{10,}\S", line) for line in lines):
            rows = [re.split(r" {2,}", line, maxsplit=1) for line in lines]
            blocks.append("\n".join(["| argument | |", "|---|---|", *(f"| `{a}` | {_cell(b)} |" for a, b in rows)]))
        else:
            plain = REQUIREMENTS.sub("", block)
            blocks.append(plain if "`" in plain else plain.replace("<", "&lt;"))
    return "\n\n".join(blocks)


PAGES = {"reference/cli.md": cli_page}
