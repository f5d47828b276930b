"""URLs as people and machines write them: whole, odd, and broken."""

from __future__ import annotations

from hypothesis import strategies as st

names = st.sampled_from(
    [
        "utm_source",
        "UTM_x",
        "gclid",
        "ref",
        "source",
        "id",
        "page",
        "p",
        "lang",
        "sid",
        "jsessionid",
        "a",
        "b",
        "a!",
        "utm%5Fm",
    ]
)
values = st.one_of(
    st.sampled_from(["", "1", "es", "ca", "%zz", "%41", "x y", "ü", "a=b", "99999"]), st.text(max_size=6)
)
pairs = st.one_of(st.builds("{}={}".format, names, values), names, st.sampled_from(["", "=", "&", "?"]))
queries = st.one_of(st.just(""), st.lists(pairs, max_size=6).map(lambda p: "?" + "&".join(p)))
segments = st.one_of(
    st.sampled_from(
        [
            "",
            ".",
            "..",
            "%2e",
            "%2E%2e",
            ".%2e",
            "a",
            "A-b_c",
            "%7Eu",
            "%2f",
            "%",
            "%%34%31",
            "es",
            "ca",
            "a;jsessionid=1",
        ]
        + [
            "..;jsessionid=1",
            "..;sid=1;sid=2",
            ";",
            "ü",
            "x y",
            "act.php",
            "BOE-A-2023-12345",
            "~",
            "a:b",
            "@",
            "{}",
            "^",
            "|",
        ]
    ),
    st.text(max_size=5),
)
paths = st.one_of(st.just(""), st.lists(segments, max_size=5).map(lambda s: "/" + "/".join(s)))
hosts = st.sampled_from(
    [
        "example.com",
        "EXAMPLE.com",
        "www.example.co.uk",
        "boe.es",
        "Sepe.es",
        "comunidad.madrid",
        "bücher.example",
        "faß.de",
    ]
    + [
        "xn--bcher-kva.example",
        "bit.ly",
        "es.example.es",
        "93.184.215.14",
        "[2606:4700::1111]",
        "[2606:4700:0::1111]",
        "a",
    ]
    + ["example.com.", "1.example.com", "under_score.example", "foo.1-a", "user:pw@example.com"]
)
ports = st.sampled_from(["", "", "", ":80", ":443", ":8080", ":", ":0", ":65535"])
fragments = st.one_of(st.just(""), st.just("#"), st.text(max_size=5).map("#".__add__))
urls = st.builds(
    "{}{}{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "HTTP://", "hTTps://"]),
    hosts,
    ports,
    paths,
    queries,
    fragments,
)
anything = st.one_of(urls, st.text(), st.text().map("http://".__add__), paths.map("example.com".__add__))
