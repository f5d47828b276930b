"""URLs that somebody will try, each with the one right verdict of the parser; `OK` is for the harmless look-alikes."""

from __future__ import annotations

OK = "ok"

SCHEMES = """
file:///etc/shadow
FILE://localhost/etc/hosts
ftp://files.example.com/pub
gopher://127.0.0.1:11211/_stats
dict://127.0.0.1:6379/info
ldap://127.0.0.1/dc=x
javascript:alert(document.domain)
JaVaScRiPt:alert(1)
vbscript:msgbox(1)
data:text/html,<p>hi</p>
data:;base64,aGk=
about:blank
blob:https://example.com/3f2a
view-source:http://example.com/
chrome://settings/
ws://example.com/socket
wss://example.com/socket
jar:http://example.com!/x
ssh://git@example.com/repo
smb://10.0.0.9/share
sftp://example.com/
mailto:someone@example.com
tel:+34900000000
urn:isbn:0451450523
hxxps://example.com/
view:http://example.com
""".split("\n")[1:-1]

NUMBERS = """
http://0x7f000001/
http://0X7F.0x0.0x0.0x1/
http://0x7f.1/
http://0177.0.0.1/
http://0177.0.0.01/
http://00000177.0.0.1/
http://017700000001/
http://2130706433/
http://3232235521/
http://127.1/
http://127.0.1/
http://0/
http://0.0/
http://0x0/
http://10.1/
http://1/
http://256.256.256.256/
http://1.2.3.256/
http://1.2.3.4.5/
http://1.2.3.04/
http://127.0.0.1./
http://8.8.8.8./
http://4294967295/
http://99999999999/
http://0xffffffffff/
http://example.0/
http://example.com.0x1/
http://example.com.127/
http://１２７.0.0.1/
http://127。0。0。1/
http://127．0．0．1/
http://①②⑦.⓪.⓪.①/
http://¹²⁷.⁰.⁰.¹/
http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/
http://٢٥٥.٢٥٥.٢٥٥.٢٥٥/
http://२१३०७०६४३३/
http://๑๒๗.๐.๐.๑/
http://127.0.0.1\u200d/
http://127.0.0.\u00ad1/
http://%31%32%37.0.0.1/
http://127%2e0%2e0%2e1/
http://%32130706433/
http://0x7f%30%30%30001/
http://1_1/
http://foo.1-a/
""".split("\n")[1:-1]

# Names that no name server has: characters that mean something to a shell or a template, and Punycode of nothing.
NAMELESS = [
    *(f"http://a{sign}b.example.com/" for sign in "!\"$&'()*+,;=`{}~"),
    "http://`id`.example.com/",
    "http://$(id).example.com/",
    "http://${jndi}.example.com/",
    "http://*.example.com/",
    "http://*/",
    "http://{host}/",
    "http://example.com)/",
    'http://"example.com"/',
    "http://'or'1'='1.example.com/",
    "http://example.com,example.org/",
    "http://example.com;example.org/",
    "http://bü$cher.example/",
    "http://＄ab.example/",
    "http://＂ab＂.example/",
    "http://｀id｀.example/",
    "http://xn--a.example/",
    "http://xn--0000h.example/",
    "http://a.xn--a/",
    "http://XN--A.example/",
    "http://xn--.example/",
    "http://xn--abc-.example/",
    "http://xn--99999999.example/",
    "http://xn--bcher-2pa.example/",  # a capital Ü
    "http://www.xn--BCHER-2PA.example/",
    "http://xn--1ug.example/",  # a joiner alone
    "http://xn--xn---epa.example/",
    "http://xn--ab-h4t.example/",  # a bidi control
    "http://xn--ab-1u3n.example/",  # a full-width slash
    "http://xn--ab-r13a.example/",  # an ideographic full stop
]

BROKEN = [
    "",
    "   ",
    "/path/only",
    "//example.com/",
    "example.com",
    "localhost:80/",
    "example.com:8080/a",
    "http:",
    "http:/",
    "http://",
    "http:///",
    "http:///example.com/",
    "http:example.com",
    "http:/example.com",
    "https:\\\\example.com\\",
    "http:/\\example.com",
    "http://\\example.com/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com\\.evil.com/",
    "http://example.com/a\\b",
    "\\\\127.0.0.1\\c$",
    "http://exa mple.com/",
    "http://example.com /",
    "http:// example.com/",
    "http://example.com\t/",
    "http://exam\nple.com/",
    "http://example.com/a\rb",
    "http://example.com/a\x00b",
    "http://example.com\x00.evil.com/",
    "http://example.com/\x1b[31m",
    "http://example.com/?q=\x07",
    "http://example.com/\x85",
    "http://example.com\u2028/",
    "http://example.com\u3000/",
    "ht\ttp://example.com/",
    "http\u200b://example.com/",
    "httр://example.com/",
    "http://a@b@example.com/",
    "http://user:pa@ss@example.com/",
    "http://@@example.com/",
    "http://@/",
    "http://user@/",
    "http://user:pw@:80/",
    "http://:80/",
    "http://#",
    "http://?",
    "http://example.com:99999/",
    "http://example.com:65536/",
    "http://example.com:000080/",
    "http://example.com:-80/",
    "http://example.com:+80/",
    "http://example.com:8o/",
    "http://example.com:80:80/",
    "http://example.com:８０/",
    "http://example.com: 80/",
    "http://[::1/",
    "http://::1/",
    "http://[::1]x/",
    "http://[::1]80/",
    "http://[]/",
    "http://[:::1]/",
    "http://[1::2::3]/",
    "http://[12345::]/",
    "http://[::1%25eth0]/",
    "http://[::1%eth0]/",
    "http://[127.0.0.1]/",
    "http://[::ffff:127.0.0.256]/",
    "http://[::ffff:0x7f.1]/",
    "http://[example.com]/",
    "http://[[::1]]/",
    "http://./",
    "http://../",
    "http://.example.com/",
    "http://a..b/",
    "http://example.com../",
    "http://example。。com/",
    "http://exa%6Dple.com/",
    "http://example%00.com/",
    "http://%/",
    "http://example.com%2f.evil.com/",
    "http://exa<mple.com/",
    "http://exa|mple.com/",
    "http://exa^mple.com/",
    "http://-/",
    "http://example.-/",
    "http://example.com_/",
    f"http://{'a' * 64}.com/",
    f"http://{'ü' * 60}.com/",
    f"http://{'.'.join(['a' * 60] * 5)}/",
    f"http://example.com/{'a' * 8192}",
    f"http://{'@' * 5000}example.com/",
    f"http://{'[' * 5000}",
    f"http://example.com:{'0' * 5000}80/",
    "http://\ud800.com/",
    "http://example.com/\udcff",
    "http://\ufffd.com/",
]

HARMLESS = """
http://example.com
http://EXAMPLE.com/
HTTPS://example.com/
https://example.com:443/
https://example.com:/
https://example.com./
http://10.com/
http://127.0.0.1.example.com/
http://0x7f.example.com/
http://0x.example/
http://1e100.net/
http://3com.com/
http://a-b--c.example.com/
http://under_score.example.com/
http://_dmarc.example.com/
http://-a-.example.com/
http://r3---sn-4g5e6nez.example.com/
http://xn--bcher-kva.example/
http://XN--Bcher-KVA.example/
http://xn--fa-hia.de/
http://xn--i-7iq.ws/
http://xn--ls8h.la/
http://xn--r8jz45g.xn--zckzah/
http://bücher.example/
http://例え.テスト/
http://faß.de/
http://münchen.de/straße?q=ü#ö
http://example.com/a b
http://example.com/%zz%
http://example.com/?next=http://127.0.0.1/
http://example.com/?a=\\b
http://example.com/#\\
http://example.com/@127.0.0.1
http://example.com/a:b@c
http://example.com?@127.0.0.1/
http://example.com#@127.0.0.1/
http://93.184.215.14/
http://1.2.3.4:80/
http://[2606:4700::1111]/
http://[2606:4700::1111]:443/
http://user:secret@example.com/
http://localhost/
http://intranet/
""".split("\n")[1:-1]

TABLE: list[tuple[str, str]] = [
    *((url, "invalid_scheme") for url in SCHEMES),
    *((url.encode().decode("unicode_escape") if url.isascii() else url, "invalid_host") for url in NUMBERS),
    *((url, "invalid_host") for url in NAMELESS),
    *((url, "invalid_url") for url in BROKEN),
    *((url, OK) for url in HARMLESS),
]
