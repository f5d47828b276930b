"""Definitions of the tools as each family of models wants them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest

from spaniel.app.settings import ToolSettings
from spaniel.pipeline.request import read_request
from spaniel.tool import ToolExecutor, WebFetchMoreTool, WebFetchTool, for_anthropic, for_gemini, for_openai
from spaniel.tool.registry import plain
from spaniel.tool.web_fetch import OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import OUTPUT_SCHEMA as MORE_OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import read_more

TOOLS: list[ToolExecutor] = [
    WebFetchTool(None, ToolSettings()),  # type: ignore[arg-type]
    WebFetchMoreTool(None, ToolSettings()),  # type: ignore[arg-type]
]
# The fields of Gemini's Schema; what is not among them is rejected.
GEMINI = set(
    "type format title description nullable enum maxItems minItems properties required minProperties maxProperties "
    "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum".split()
)


def words(schema: Mapping[str, Any]) -> Iterator[str]:
    """Every keyword of a schema, at any depth."""
    for word, value in schema.items():
        yield word
        for part in value.values() if word == "properties" else [value] if word == "items" else []:
            yield from words(part)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_gemini_gets_only_what_it_knows(tool: ToolExecutor) -> None:
    declaration = for_gemini(tool)
    assert set(declaration) == {"name", "description", "parameters"}
    parameters: Any = declaration["parameters"]
    assert set(words(parameters)) <= GEMINI
    assert "additionalProperties" in set(words(tool.schema))  # the control
    assert set(parameters["properties"]) == set(tool.schema["properties"])  # type: ignore[call-overload]
    assert parameters["required"] == ["url"]
    json.dumps(declaration)


@pytest.mark.parametrize("schema", [OUTPUT_SCHEMA, MORE_OUTPUT_SCHEMA])
def test_a_plain_schema_lets_in_what_the_full_one_does(schema: dict[str, Any]) -> None:
    assert "additionalProperties" not in set(words(plain(schema)))
    jsonschema.Draft202012Validator.check_schema(plain(schema))
    chunk = {"heading": "", "text": "x", "token_count": 1}
    answer = {"requested_url": "u", "final_url": "u", "fetched_at": "2026-01-01T00:00:00Z", "chunks": [chunk],
              "rendering_method": "http", "truncated": False, "total_chunks": 1}  # fmt: skip
    jsonschema.validate(answer, plain(schema))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**answer, "rendering_method": "carrier pigeon"}, plain(schema))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_strict_mode_gets_every_property_required_and_none_open(tool: ToolExecutor) -> None:
    function: Any = for_openai(tool, strict=True)["function"]
    parameters = function["parameters"]
    assert (function["strict"], parameters["additionalProperties"]) == (True, False)
    assert parameters["required"] == list(parameters["properties"]) == list(tool.schema["properties"])  # type: ignore[call-overload]
    assert not {"default", "minLength"} & set(words(parameters))
    for name, part in parameters["properties"].items():
        assert part["type"] == "string" if name == "url" else part["type"][1] == "null"
    jsonschema.Draft202012Validator.check_schema(parameters)


def test_what_strict_mode_makes_a_model_send_is_taken() -> None:
    fetch, more = (dict[str, object].fromkeys(tool.schema["properties"]) for tool in TOOLS)  # type: ignore[call-overload]
    for sent, tool in ((fetch, TOOLS[0]), (more, TOOLS[1])):
        sent["url"] = "https://a.example/"
        strict: Any = for_openai(tool, strict=True)["function"]
        jsonschema.validate(sent, strict["parameters"])
    assert read_request(fetch) == read_request({"url": "https://a.example/"})
    assert read_more(more) == read_more({"url": "https://a.example/"})


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_others_get_the_schema_as_it_is(tool: ToolExecutor) -> None:
    function: Any = for_openai(tool)["function"]
    assert set(function) == {"name", "description", "parameters"}
    assert function["parameters"] == for_anthropic(tool)["input_schema"] == tool.schema
