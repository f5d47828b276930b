"""Pages that do not say how their characters are encoded, and are no UTF-8."""

from __future__ import annotations

import pytest

from spaniel.reading import read
from spaniel.reading.document import CHARSET_GUESSED

RAIN = {
    "de": "Über Nacht wurden die Straßen überflutet; für die Bewohner öffneten zwei Schulen ihre Türen.",
    "fr": "L\u2019été dernier, la bibliothèque a reçu des œuvres très rares, que l\u2019élève étudie déjà.",
    "pl": "Wczoraj wieczorem nad miastem przeszła burza, a mieszkańcy prosili władze o pomoc, żeby ocalić część łąk.",
    "cs": "Včera večer nad městem pršelo a řada ulic zůstala pod vodou; žáci dnes zůstali doma.",
    "ru": "Вчера вечером в городе прошёл сильный дождь, и многие улицы оказались под водой.",
    "bg": "Вчера в столицата валя силен дъжд и много хора потърсиха помощ от съседите си.",
    "el": "Η χθεσινή βροχή προκάλεσε πλημμύρες σε πολλούς δρόμους της πόλης και οι κάτοικοι ζητούν βοήθεια.",
    "tr": "Dün akşam şehirde şiddetli yağmur yağdı ve birçok sokak sular altında kaldı; öğrenciler evde çalıştı.",
    "he": "אתמול בערב ירד גשם כבד בעיר ורחובות רבים הוצפו במים.",
    "ar": "هطلت أمطار غزيرة مساء أمس في المدينة وغمرت المياه شوارع كثيرة.",
    "lt": "Vakar vakare mieste smarkiai lijo, daugelis gatvių buvo užtvindytos, žmonės prašė pagalbos šiąnakt.",
    "zh": "昨天晚上市里下了大雨，许多街道被水淹没，居民们请求帮助。",
    "zh-Hant": "昨天晚上市裡下了大雨，許多街道被水淹沒，居民們請求幫助。",
    "ja": "昨日の夜、市内で大雨が降り、多くの通りが水に浸かった。住民は助けを求めている。",
    "ko": "어제 저녁 시내에 많은 비가 내려 여러 거리가 물에 잠겼고 주민들은 도움을 요청했다.",
}
LEGACY = [
    ("windows-1252", "de"), ("windows-1252", "fr"), ("iso-8859-1", "de"), ("windows-1250", "pl"), ("iso-8859-2", "cs"),
    ("windows-1251", "ru"), ("windows-1251", "bg"), ("koi8-r", "ru"), ("iso-8859-5", "ru"), ("windows-1253", "el"),
    ("iso-8859-7", "el"), ("windows-1254", "tr"), ("windows-1255", "he"), ("windows-1256", "ar"), ("windows-1257", "lt"),
    ("gbk", "zh"), ("gb18030", "zh"), ("big5", "zh-Hant"), ("shift_jis", "ja"), ("euc-jp", "ja"), ("euc-kr", "ko"),
]  # fmt: skip
PAGE = "<!doctype html><title>{0}</title><nav><a href=/>Home</a></nav><main><h1>{0}</h1><p>{0}</p></main>"


@pytest.mark.req("D2-36")
@pytest.mark.parametrize(("charset", "language"), LEGACY)
@pytest.mark.parametrize("kind", ["text/html", "text/plain", "text/markdown"])
def test_what_declares_nothing_and_is_no_utf_8_is_read_in_its_own_charset(
    kind: str, charset: str, language: str
) -> None:
    text = RAIN[language]
    page = PAGE.format(text) if kind == "text/html" else text
    document = read(page.encode(charset), kind, "https://example.com/", ("html", "text", "markdown"))
    assert text in document.markdown.replace("\\", "")
    assert document.notes == (CHARSET_GUESSED,)


@pytest.mark.req("D2-36")
@pytest.mark.parametrize("language", RAIN)
def test_utf_8_is_no_guess(language: str) -> None:
    document = read(PAGE.format(RAIN[language]).encode(), "text/html", None)
    assert RAIN[language] in document.markdown
    assert document.notes == ()


@pytest.mark.req("FR-WF-10i", "D2-36")
def test_declared_charset_overrides_detection() -> None:
    page = PAGE.format(RAIN["ru"]).encode("windows-1251")
    assert read(page, "text/html; charset=windows-1251", None).notes == ()
    for declared in (page.replace(b"<title>", b"<meta charset=utf-8><title>"), b"\xef\xbb\xbf" + page):
        document = read(declared, "text/html", None)
        assert "\ufffd" in document.markdown
        assert document.notes == ()
    late = page.replace(b"<title>", b"<!--" + b" " * 2000 + b"--><meta charset=koi8-r><title>")
    assert read(late, "text/html", None).notes == ()
    feed = b'<?xml version="1.0" encoding="windows-1251"?><a>' + RAIN["ru"].encode("windows-1251") + b"</a>"
    document = read(feed, "application/xml", None, ("xml",))
    assert RAIN["ru"] in document.markdown
    assert document.notes == ()


@pytest.mark.req("D2-37")
@pytest.mark.parametrize("language", RAIN)
@pytest.mark.parametrize("stale", ["gb2312", "iso-8859-1", "windows-1251", "shift_jis", "euc-kr", "koi8-r"])
def test_stale_meta_charset_does_not_spoil_utf_8(stale: str, language: str) -> None:
    text = PAGE.format(RAIN[language])
    for meta in (f"<meta charset={stale}>", f'<meta http-equiv=Content-Type content="text/html; charset={stale}">'):
        page = text.replace("<title>", f"{meta}<title>").encode()
        document = read(page, "text/html", None)
        assert RAIN[language] in document.markdown
        assert document.notes == (() if page.isascii() else (CHARSET_GUESSED,))


@pytest.mark.req("D2-37")
def test_stale_meta_charset_of_a_cut_page_does_not_spoil_utf_8() -> None:
    page = PAGE.format(RAIN["ja"]).replace("<title>", "<meta charset=shift_jis><title>").encode()
    cut = page[: page.rindex("。".encode()) + 1]
    document = read(cut, "text/html", None)
    assert document.notes == (CHARSET_GUESSED,)
    assert RAIN["ja"][:10] in document.markdown


@pytest.mark.req("D2-37", "FR-WF-10i")
def test_header_and_true_meta_charset_still_count() -> None:
    page = PAGE.format(RAIN["de"]).encode()
    assert "Ã" in read(page, "text/html; charset=iso-8859-1", None).markdown
    legacy = PAGE.format(RAIN["ru"]).replace("<title>", "<meta charset=windows-1251><title>").encode("windows-1251")
    document = read(legacy, "text/html", None)
    assert RAIN["ru"] in document.markdown
    assert document.notes == ()


@pytest.mark.req("D2-36")
@pytest.mark.parametrize("language", ["de", "ru", "ja"])
def test_utf_8_with_some_damage_stays_utf_8(language: str) -> None:
    body = bytearray(PAGE.format(RAIN[language] * 20).encode())
    for place in range(100, len(body), 1000):
        body[place] ^= 0x80
    document = read(bytes(body), "text/html", None)
    assert document.markdown.count(RAIN[language][:20]) >= 15
    assert document.notes == ()


@pytest.mark.req("D2-36")
def test_a_page_that_was_cut_inside_a_character_stays_utf_8() -> None:
    body = ("<p>" + "plain words, " * 60 + "é").encode()[:-1]
    document = read(body, "text/html", None)
    assert document.markdown.rstrip().endswith("\ufffd")
    assert document.notes == ()


@pytest.mark.req("D2-36")
def test_the_sites_domain_tells_where_the_bytes_alone_do_not() -> None:
    text = "A tűzoltók gyorsan érkeztek, és az őrség többé nem engedte be az újságírókat."
    body = f"<p>{text}</p>".encode("iso-8859-2")
    assert text in read(body, "text/html", "https://www.example.hu/hirek").markdown
    for odd in ("https://a_b/", "https://127.0.0.1/", "https://[::1]/", "https://example.museum/", "x"):
        assert read(body, "text/html", odd).notes == (CHARSET_GUESSED,)
