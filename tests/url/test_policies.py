"""Policy files: a user's works like a shipped one, and a bad one is refused with its place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.url import canonicalize, load, policies
from spaniel.url import overrides as override_files
from spaniel.url.hostlists import HostList
from spaniel.url.policies.compiled import POLICIES
from spaniel.url.policy import shipped
from spaniel.url.rules.table import RULES

MINE = """
name = "mine"
version = "3"

[[apply]]
rule = "parse"

[[apply]]
rule = "drop-params"
names = ["session*", "x"]
reason = "noise"
"""


def complaint(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpanielError) as caught:
        load(path)
    assert caught.value.code is Code.BAD_ARGS
    return caught.value.message


def test_a_users_own_file_works_like_a_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE, encoding="utf-8")
    result = canonicalize("https://example.com/a/?sessionX=1&y=2&X=3", path)
    assert result.url == "https://example.com/a/?y=2"
    assert result.as_dict()["dropped"] == [
        {"name": "sessionX", "value": "1", "reason": "noise (session*)"},
        {"name": "X", "value": "3", "reason": "noise (x)"},
    ]
    assert (result.policy, result.policy_version) == ("mine", "3")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE, encoding="utf-8")
    assert canonicalize("https://example.com/?x=1", path).url == "https://example.com/"
    path.write_text(MINE.replace('"x"', '"z"'), encoding="utf-8")
    assert canonicalize("https://example.com/?x=1", path).url == "https://example.com/?x=1"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('"drop-params"', '"drop-parms"'), "apply[1].rule: no rule 'drop-parms'; did you mean 'drop-params'?"),
        (("names =", "name ="), "mine.toml.apply[1].names: is missing"),
        (("reason =", "raeson ="), "mine.toml.apply[1].raeson: unknown key; did you mean 'reason'?"),
        (('["session*", "x"]', '"x"'), "mine.toml.apply[1].names: must be a list of texts"),
        (('version = "3"', "version = 3"), "mine.toml.version: must be text"),
        (('version = "3"', 'version = "3"\nverson = "4"'), "mine.toml.verson: unknown key; did you mean 'version'?"),
        (('rule = "parse"', 'rule = "sort-params"'), "mine.toml.apply[0].rule: the first rule must be 'parse'"),
        (('rule = "parse"', 'rule = "parse"\nmax_length = -1'), "apply[0].max_length: must be a whole number"),
        (('name = "mine"', 'name = "mine'), "not TOML"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_file_key_and_reason(tmp_path: Path, change: tuple[str, str], reason: str) -> None:
    assert reason in complaint(tmp_path / "mine.toml", MINE.replace(*change))


def test_a_bad_pattern_is_refused(tmp_path: Path) -> None:
    text = MINE + '[[apply]]\nrule = "drop-session-params"\nnames = []\npattern = "("\n'
    assert "mine.toml.apply[2].pattern" in complaint(tmp_path / "mine.toml", text)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(SpanielError, match="cannot be read"):
            load(f"{path}/")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(SpanielError, match="not UTF-8 text"):
        load(binary)


def test_an_unknown_policy_gets_a_hint() -> None:
    with pytest.raises(SpanielError, match="no policy 'exat'; did you mean 'exact'"):
        load("exat")


def test_the_shipped_policies_use_every_rule_and_say_what_they_are_for() -> None:
    assert shipped() == ["clara", "curious", "exact", "ingest"]
    used = {s.rule.name for name in shipped() for s in load(name)._steps}
    assert used == set(RULES)
    assert all(load(name).description and load(name).version for name in shipped())


class TestOverrides:
    @pytest.mark.req("UN-07")
    def test_the_first_match_counts_and_rewrites_run_once_in_order(self) -> None:
        data = {
            "overrides": [
                {
                    "match": {"host": "BÜCHER.example"},
                    "rewrite_rules": [
                        {
                            "from_prefix": "https://xn--bcher-kva.example/a",
                            "to_prefix": "https://xn--bcher-kva.example/b",
                        },
                        {"from_prefix": "https://xn--bcher-kva.example/b", "to_prefix": "https://example.com/b"},
                        {"from_prefix": "https://xn--bcher-kva.example/", "to_prefix": "https://never.example/"},
                    ],
                },
                {"match": {"host": "bücher.example"}, "drop_query_params": ["q"]},
            ]
        }
        policy = load("curious").with_overrides(override_files.from_data(data))
        assert canonicalize("https://bücher.example/a/1?q=1", policy).url == "https://example.com/b/1?q=1"

    @pytest.mark.req("UN-07")
    def test_what_was_dropped_for_a_host_is_told(self) -> None:
        data = {"overrides": [{"match": {"host": "e.com"}, "drop_query_params": ["src"]}]}
        policy = load("curious").with_overrides(override_files.from_data(data))
        assert canonicalize("https://e.com/?src=1", policy).dropped[0].reason == "dropped for this host (overrides)"

    @pytest.mark.req("UN-10")
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ('{"overrides": [}', "o.json:1:16: not JSON"),
            ('{"overrides": {}}', "o.json.overrides: must be a list of tables"),
            ("[]", "o.json: must be a table"),
            ('{"overrides": [{}]}', "o.json.overrides[0].match: is missing"),
            ('{"overrides": [{"match": {"host": 1}}]}', "o.json.overrides[0].match.host: must be text"),
            ('{"overrides": [{"match": {"host": ""}}]}', "o.json.overrides[0].match.host: is not a host name"),
            ('{"overrides": [{"match": {"hots": "a"}}]}', "o.json.overrides[0].match.host: is missing"),
            ('{"overrides": [{"match": {"host": "a"}, "drop": []}]}', "o.json.overrides[0].drop: unknown key"),
            ('{"overrides": [], "overrides": []}', "the key 'overrides' stands twice"),
            (
                '{"overrides": [{"match": {"host": "a"}, "rewrite_rules": '
                '[{"from_prefix": "https://a/", "to_prefix": "javascript:"}]}]}',
                "o.json.overrides[0].rewrite_rules[0].to_prefix: must begin a URL",
            ),
        ],
    )
    def test_a_malformed_file_is_refused_with_the_place(self, tmp_path: Path, text: str, reason: str) -> None:
        path = tmp_path / "o.json"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SpanielError) as caught:
            override_files.load(path)
        assert reason in caught.value.message

    def test_a_policy_without_a_place_for_them_says_so(self) -> None:
        with pytest.raises(SpanielError, match="has no rule 'apply-overrides'"):
            load("exact").with_overrides({})


@pytest.mark.parametrize(
    ("pattern", "host", "listed"),
    [
        ("example.com", "example.com", True),
        ("EXAMPLE.com.", "example.com", True),
        ("example.com", "www.example.com", False),
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "badexample.com", False),
        ("bücher.example", "xn--bcher-kva.example", True),
        ("BÜCHER.example", "xn--bcher-kva.example", True),
        ("*", "anything", True),
    ],
)
def test_host_lists_match_after_idna(pattern: str, host: str, listed: bool) -> None:
    assert (host in HostList([pattern])) is listed


def test_what_is_compiled_is_what_the_files_say() -> None:
    """`make policies` writes it; a policy is its TOML file, and the Python beside it only saves the reading."""
    folder = Path(policies.__file__).parent
    files = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.toml")}
    assert files == POLICIES
    assert shipped() == sorted(files)
