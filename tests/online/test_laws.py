"""Whatever the web answers: the fold ends, in a canonical URL or one typed refusal, and never off the allowlist."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spaniel.errors import SpanielError
from spaniel.url import load, parse
from spaniel.url.allowlist import read
from spaniel.url.questions import AnsweredWeb, Question, RedirectHop, RedirectWalk, WebAnswer

HOSTS = ["a.es", "www.a.es", "b.gob.es", "bit.ly", "shop.example", "es.a.es"]
ALLOWED = read("a.es\n*.gob.es\n!mal.a.es\n")
urls = st.builds(
    "{}://{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(HOSTS),
    st.sampled_from(["/", "/a/", "/ca/x/y", "/es/x/y", "/x?p=3", "/x/y?lang=ca&utm_source=z", "/x/;jsessionid=1#f"]),
)
walks = st.builds(
    RedirectWalk,
    hops=st.lists(
        st.builds(RedirectHop, st.sampled_from([301, 302, 308]), urls.map(lambda url: url.partition("#")[0])),
        max_size=7,
    ).map(tuple),
    status=st.sampled_from([None, 200, 403, 404, 500]),
    unreached=st.booleans(),
    endless=st.booleans(),
    trouble=st.sampled_from(["", "no answer"]),
)
languages = st.dictionaries(st.sampled_from(["es", "ca", "fr"]), urls, max_size=3)


@given(st.data(), urls)
def test_the_fold_ends_and_keeps_to_the_allowlist(data: st.DataObject, url: str) -> None:
    values = {
        "https": st.sampled_from([True, False, None]),
        "slash": st.sampled_from([True, False, None]),
        "redirects": st.none() | walks,
        "shortener": st.booleans(),
        "host": st.none() | st.sampled_from(HOSTS),
        "languages": st.none() | languages,
        "pages": st.none() | st.integers(1, 99),
        "title": st.none() | st.just("Solicitud"),
    }
    found: dict[Question, WebAnswer] = {}

    def look_up(question: Question) -> WebAnswer:
        if question not in found:
            found[question] = WebAnswer(data.draw(values[question.kind]), "")
        return found[question]

    policy = load("clara").with_allowlist(ALLOWED)
    try:
        result = policy.explain(url, AnsweredWeb(look_up, stops=True))
    except SpanielError:
        return
    host = parse(result.url).host
    assert host in ALLOWED or "shortener-unresolved" in result.flags
    assert len(found) < 40
