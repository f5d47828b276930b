"""The guard: ports, names, literals, toggles; and that a Target is proof."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from ipaddress import ip_address
from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.addresses import TOGGLES, Address
from spaniel.net.deadline import Deadline
from spaniel.net.guard import AddressValidator, Guard, Security, SsrfValidator, Target
from spaniel.net.resolver import MAX_ADDRESSES, SystemResolver
from spaniel.testing import FakeResolver
from spaniel.url import parse
from tests.stopwatch import Stopwatch

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "attack_urls.json"


def names(**answers: list[str]) -> FakeResolver:
    """`a=[…]` is what `a.example` resolves to; other names are nowhere (T-WF-INFRA-01)."""
    table = {f"{name}.example": addresses for name, addresses in answers.items()}
    return FakeResolver(table | {"localhost": ["127.0.0.1", "::1"]}, None)


async def verdict(url: str, guard: Guard) -> str:
    try:
        await guard.vet(parse(url), Deadline(5))
    except SpanielError as error:
        return str(error.code)
    return "accept"


@pytest.mark.req("FR-WF-05", "FR-WF-06", "NFR-WF-SEC-01", "T-WF-SSRF-02", "T-WF-INFRA-01")
@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("http://public.example/", "accept"),
        ("http://localhost/", "ssrf_blocked"),
        ("http://inside.example/", "ssrf_blocked"),
        ("http://metadata.example./", "ssrf_blocked"),
        ("http://mixed.example/", "ssrf_blocked"),
        ("http://mixedtoo.example/", "ssrf_blocked"),
        ("http://mapped.example/", "ssrf_blocked"),
        ("http://nothing.example/", "dns_failed"),
        ("http://127.0.0.1/", "ssrf_blocked"),
        ("http://[::1]/", "ssrf_blocked"),
        ("http://[::ffff:169.254.169.254]/", "ssrf_blocked"),
        ("http://169.254.169.254/latest/meta-data/", "ssrf_blocked"),
        ("http://93.184.215.14/", "accept"),
        ("http://[2606:4700:4700::1111]/", "accept"),
    ],
)
async def test_every_answer_must_pass(url: str, right: str) -> None:
    resolver = names(
        public=["93.184.215.14", "2606:4700::1"],
        inside=["10.1.2.3"],
        metadata=["169.254.169.254"],
        mixed=["93.184.215.14", "10.0.0.1"],
        mixedtoo=["10.0.0.1", "93.184.215.14"],
        mapped=["::ffff:192.168.0.1"],
    )
    assert await verdict(url, Guard(resolver)) == right


@pytest.mark.req("FR-WF-18b", "FR-WF-05")
async def test_a_refusal_names_the_address_the_range_and_the_toggle() -> None:
    with pytest.raises(SpanielError) as caught:
        await Guard(names(a=["10.0.0.5"])).vet(parse("http://a.example/"), Deadline(5))
    assert caught.value.details == {
        "blocked_ip": "10.0.0.5",
        "cidr": "10.0.0.0/8",
        "toggle": "block_private_ips",
        "what": "private (class A)",
    }


@pytest.mark.req("FR-WF-06", "NFR-WF-SEC-05")
async def test_a_name_is_looked_up_once_and_a_literal_never() -> None:
    resolver = names(a=["93.184.215.14"])
    guard = Guard(resolver)
    target = await guard.vet(parse("https://a.example/x"), Deadline(5))
    await guard.vet(parse("https://93.184.215.14/"), Deadline(5))
    assert resolver.asked == ["a.example"]
    assert (target.host, target.port, target.addresses) == ("a.example", 443, (ip_address("93.184.215.14"),))
    assert repr(target) == "Target(a.example:443 at 93.184.215.14)"


@pytest.mark.req("FR-WF-06")
@pytest.mark.parametrize(
    ("host", "address"), [("93.184.215.14", "93.184.215.14"), ("[2606:4700::11]", "2606:4700::11")]
)
async def test_a_literal_is_dialled_as_what_it_is(host: str, address: str) -> None:
    target = await Guard(names()).vet(parse(f"http://{host}/"), Deadline(5))
    assert target.addresses == (ip_address(address),)
    assert target.pins == {ip_address(address).packed}


@pytest.mark.req("FR-WF-06c", "FR-WF-18b")
@pytest.mark.parametrize(("many", "why"), [(0, "it has no address"), (MAX_ADDRESSES + 1, "more than 64 addresses")])
async def test_none_or_too_many_addresses_fail_the_lookup(many: int, why: str) -> None:
    resolver = names(a=[f"93.184.215.{i}" for i in range(many)])
    with pytest.raises(SpanielError) as caught:
        await Guard(resolver).vet(parse("http://a.example/"), Deadline(5))
    assert caught.value.code is Code.DNS_FAILED
    assert caught.value.details == {"host": "a.example", "error": why}


async def judged(host: str) -> set[str]:
    """The verdicts on an address as a literal, behind a name, and among others behind a name."""
    guard = Guard(names(a=[host], b=["93.184.215.14", host]))
    urls = (f"http://[{host}]/" if ":" in host else f"http://{host}/", "http://a.example/", "http://b.example/")
    return {await verdict(url, guard) for url in urls}


@pytest.mark.req("T-WF-SSRF-03", "FR-WF-05")
async def test_private_ranges_are_blocked_to_their_ends() -> None:
    for host in "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255".split():
        assert await judged(host) == {"ssrf_blocked"}, host
    for host in "9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0".split():
        assert await judged(host) == {"accept"}, host


@pytest.mark.req("T-WF-SSRF-04", "FR-WF-05")
async def test_link_local_addresses_are_blocked_to_their_ends() -> None:
    for host in "169.254.0.0 169.254.128.0 169.254.169.254 169.254.255.255 fe80::1 febf:ffff::1".split():
        assert await judged(host) == {"ssrf_blocked"}, host
    for host in ("169.253.255.255", "169.255.0.0"):
        assert await judged(host) == {"accept"}, host


@pytest.mark.req("T-WF-SSRF-05", "FR-WF-05a")
async def test_a_mapped_address_is_judged_as_the_one_inside() -> None:
    for host in "::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:ac10:1 ::ffff:169.254.0.1 ::ffff:0.0.0.0".split():
        assert await judged(host) == {"ssrf_blocked"}, host
    for host in ("::ffff:8.8.8.8", "::ffff:9.0.0.1"):
        assert await judged(host) == {"accept"}, host


@pytest.mark.req("T-WF-SSRF-01", "FR-WF-04")
@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("ftp://a.example/", "invalid_scheme"),
        ("FTP://a.example/", "invalid_scheme"),
        ("file:///etc/passwd", "invalid_scheme"),
        ("javascript:alert(1)", "invalid_scheme"),
        ("data:text/html,x", "invalid_scheme"),
        ("gopher://a.example/", "invalid_scheme"),
        ("ws://a.example/", "invalid_scheme"),
        ("httpss://a.example/", "invalid_scheme"),
        ("HTTP://a.example/", "accept"),
        ("https://a.example/", "accept"),
    ],
)
async def test_only_http_and_https_are_fetched(url: str, right: str) -> None:
    assert await verdict(url, Guard(names(a=["93.184.215.14"]))) == right


@pytest.mark.req("T-WF-SSRF-06", "FR-WF-04b")
@pytest.mark.parametrize(
    "host", ["0177.0.0.1", "0x7f000001", "2130706433", "0x7f.0.0.1", "127.1", "08.8.8.8", "8.8.8.010", "134744072", "0"]
)
async def test_another_form_of_an_address_is_refused_wherever_it_leads(host: str) -> None:
    """Also where it is a public one: it is the form that is refused."""
    assert await verdict(f"http://{host}/", Guard(names())) == "invalid_host"


@pytest.mark.req("FR-WF-05d", "FR-WF-05e", "T-WF-SSRF-07", "T-WF-SSRF-08")
async def test_a_list_of_ports_is_the_whole_list() -> None:
    """A default port that is not on it is refused, whether the URL writes it or not."""
    resolver = names(a=["93.184.215.14"])
    for ports, good, bad in [
        ((8080, 8443, 9000), ":8080 :8443 :9000", " :80 :443 :8081 :900"),
        ((443,), ":443", " :80 :8080"),
        ((80, 443, 65535), " :80 :443 :65535", ":65534 :1 :8080"),
    ]:
        guard = Guard(resolver, Security(allowed_ports=ports))
        for port in good.split(" "):
            assert await verdict(f"http://a.example{port}/", guard) == "accept", (ports, port)
        for port in bad.split(" "):
            assert await verdict(f"http://a.example{port}/", guard) == "port_blocked", (ports, port)


@pytest.mark.req("FR-WF-05c", "FR-WF-05d", "FR-WF-05e", "T-WF-SSRF-07", "T-WF-SSRF-08")
async def test_only_allowed_ports_pass_and_settings_may_add_some() -> None:
    resolver = names(a=["93.184.215.14"])
    for url, right in [
        ("http://a.example/", "accept"),
        ("https://a.example/", "accept"),
        ("http://a.example:443/", "accept"),
        ("http://a.example:8080/", "port_blocked"),
        ("http://a.example:22/", "port_blocked"),
        ("http://a.example:0/", "port_blocked"),
    ]:
        assert await verdict(url, Guard(resolver)) == right
    assert await verdict("http://a.example:8080/", Guard(resolver, Security(allowed_ports=(80, 443, 8080)))) == "accept"
    assert await verdict("http://a.example/", Guard(resolver, Security(allowed_ports=()))) == "accept"  # empty: default


@pytest.mark.req("FR-WF-05e", "FR-WF-18b")
def test_a_blocked_port_is_named_with_the_allowed_ones() -> None:
    with pytest.raises(SpanielError) as caught:
        Guard(names()).check_form(parse("http://a.example:8080/"))
    assert caught.value.details == {"port": 8080, "allowed_ports": [80, 443]}


@pytest.mark.req("D2-04")
def test_the_form_of_a_url_is_judged_without_a_resolver() -> None:
    resolver = names(a=["10.0.0.1"])
    guard = Guard(resolver)
    guard.check_form(parse("http://a.example/"))
    with pytest.raises(SpanielError, match="blocked"):
        guard.check_form(parse("http://10.0.0.1/"))
    assert resolver.asked == []


@pytest.mark.req("FR-WF-05b", "T-WF-SSRF-11", "D2-26")
@pytest.mark.parametrize("toggle", TOGGLES)
def test_a_block_is_not_switched_off_without_the_override(toggle: str) -> None:
    with pytest.raises(SpanielError) as caught:
        Guard(names(), Security(**{toggle: False}))  # type: ignore[arg-type]
    assert caught.value.code is Code.BAD_ARGS
    assert caught.value.details == {
        "field": f"tools.webfetch.security: {toggle}",
        "reason": "switching a block off needs allow_insecure_overrides = true",
    }


@pytest.mark.req("FR-WF-05b", "T-WF-SSRF-11")
async def test_with_the_override_it_is_switched_off_and_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    settings = Security(block_loopback=False, block_private_ips=False, allow_insecure_overrides=True)
    with caplog.at_level(logging.WARNING, "spaniel"):
        guard = Guard(names(a=["127.0.0.1", "10.0.0.1"], b=["169.254.1.1"]), settings)
    assert caplog.messages == ["SSRF protection disabled for: block_private_ips, block_loopback"]
    assert caplog.records[0].name == "spaniel.protection"  # which no option silences
    assert await verdict("http://a.example/", guard) == "accept"
    assert await verdict("http://b.example/", guard) == "ssrf_blocked"


def test_a_target_cannot_be_made_by_hand() -> None:
    with pytest.raises(TypeError, match=r"Guard\.vet"):
        Target("a.example", 80, [ip_address("127.0.0.1")])
    with pytest.raises(TypeError, match=r"Guard\.vet"):
        Target("a.example", 80, [ip_address("127.0.0.1")], object())


async def test_a_target_cannot_be_changed() -> None:
    target = await Guard(names(a=["93.184.215.14"])).vet(parse("http://a.example/"), Deadline(5))
    with pytest.raises(AttributeError, match="proof"):
        target.addresses = (ip_address("127.0.0.1"),)


class Stub:
    """A validator for which one name has an address, and one address is forbidden."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def validate_ip(self, ip: Address) -> None:
        if ip == ip_address("93.184.215.14"):
            raise SpanielError(Code.SSRF_BLOCKED, blocked_ip=str(ip), cidr="of the stub's", toggle="none")

    async def resolve_and_validate(self, host: str) -> list[Address]:
        self.asked.append(host)
        if host != "stubbed.example":
            raise SpanielError(Code.DNS_FAILED, host=host, error="the stub knows no such name")
        return [ip_address("10.1.2.3")]


@pytest.mark.req("FR-WF-06b", "T-WF-INFRA-01")
async def test_a_guard_judges_addresses_by_the_validator_that_it_is_given() -> None:
    """Neither the system's DNS nor the table of ranges has a word in it then."""
    stub = Stub()
    guard = Guard(names(), validator=stub)
    target = await guard.vet(parse("http://stubbed.example/"), Deadline(5))
    assert target.addresses == (ip_address("10.1.2.3"),)
    assert await verdict("http://other.example/", guard) == "dns_failed"
    assert await verdict("http://93.184.215.14/", guard) == "ssrf_blocked"
    assert await verdict("http://stubbed.example:22/", guard) == "port_blocked"
    assert stub.asked == ["stubbed.example", "other.example"]


@pytest.mark.req("FR-WF-06b")
async def test_the_validator_of_the_guard_resolves_and_judges() -> None:
    validator: SsrfValidator = AddressValidator(names(a=["93.184.215.14"], b=["127.0.0.1"]))
    assert await validator.resolve_and_validate("a.example") == [ip_address("93.184.215.14")]
    with pytest.raises(SpanielError, match="blocked"):
        await validator.resolve_and_validate("b.example")
    with pytest.raises(SpanielError, match="blocked"):
        validator.validate_ip(ip_address("127.0.0.1"))


@pytest.mark.req("FR-WF-06c", "FG-02")
async def test_a_thousand_addresses_are_a_failed_lookup() -> None:
    many = [f"93.184.{i >> 8}.{i & 255}" for i in range(1000)]
    assert await verdict("http://a.example/", Guard(names(a=many))) == "dns_failed"
    assert await verdict("http://a.example/", Guard(names(a=many[:MAX_ADDRESSES]))) == "accept"


class Silent:
    async def resolve(self, host: str) -> list[Address]:
        await asyncio.sleep(60)
        return []


@pytest.mark.req("FR-WF-10a")
async def test_a_resolver_that_never_answers_ends_at_the_deadline() -> None:
    watch = Stopwatch()
    with pytest.raises(SpanielError) as caught:
        await Guard(Silent()).vet(parse("http://a.example/"), Deadline(0.2))
    assert caught.value.code is Code.TIMEOUT
    assert caught.value.details["phase"] == "dns"
    assert watch.seconds < 1.2


@pytest.mark.req("FR-WF-06c", "FG-02")
async def test_the_system_resolver_fails_closed() -> None:
    with pytest.raises(SpanielError) as caught:
        await SystemResolver().resolve("no-such-name.invalid")
    assert caught.value.code is Code.DNS_FAILED
    assert caught.value.details["host"] == "no-such-name.invalid"


@pytest.mark.req("T-WF-SSRF-02", "FG-05")
async def test_the_system_resolver_knows_localhost_and_the_guard_refuses_it() -> None:
    assert ip_address("127.0.0.1") in await SystemResolver().resolve("localhost")
    assert await verdict("http://localhost/", Guard(SystemResolver())) == "ssrf_blocked"


async def test_a_lookup_that_hangs_does_not_hold_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def slow(host: str) -> list[Address]:
        if host == "slow.example":
            go.wait(100)
        return [ip_address("93.184.215.14")]

    monkeypatch.setattr("spaniel.net.resolver._addresses", slow)
    resolver = SystemResolver(seconds=60)
    hanging = [asyncio.create_task(resolver.resolve("slow.example")) for _ in range(20)]
    await asyncio.sleep(0)
    assert await resolver.resolve("quick.example")
    assert not any(task.done() for task in hanging)
    go.set()
    assert await asyncio.gather(*hanging) == [[ip_address("93.184.215.14")]] * 20


async def test_an_answer_that_comes_too_late_disturbs_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def late(host: str) -> list[Address]:
        go.wait(60)
        if host == "failing.example":
            raise SpanielError(Code.DNS_FAILED, host=host, error="late")
        return [ip_address("93.184.215.14")]

    monkeypatch.setattr("spaniel.net.resolver._addresses", late)
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    resolver = SystemResolver(seconds=0.01)
    for host in ("late.example", "failing.example"):
        with pytest.raises(SpanielError, match="no answer within"):
            await resolver.resolve(host)
    asked = {"resolve late.example", "resolve failing.example"}
    threads = [thread for thread in threading.enumerate() if thread.name in asked]
    assert len(threads) == 2
    go.set()
    for thread in threads:
        await asyncio.to_thread(thread.join, 60)
    await asyncio.sleep(0)
    assert not complaints


@pytest.mark.req("NFR-WF-SEC-01", "FR-WF-05", "D2-07", "D2-12")
@pytest.mark.skipif(not CORPUS.exists(), reason="the shared corpus is not here")
async def test_the_shared_attack_urls_whole() -> None:
    wrong = []
    for row in json.loads(CORPUS.read_text(encoding="utf-8")):
        resolver = FakeResolver(elsewhere=row.get("resolves_to", []))
        try:
            await Guard(resolver).vet(parse(row["url"]), Deadline(5))
            got = "accept"
        except SpanielError as error:
            got = str(error.code)
        if got not in {row["expect"].replace("_extra", ""), *row.get("also_ok", ())}:
            wrong.append((row["id"], got))
    assert not wrong
