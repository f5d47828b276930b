"""Walls that pages show, through the records of the ingest profile: variants of overlays, boxes and what is no wall."""
# ruff: noqa: E501  one variant a line

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.testing import html
from tests.pipeline.test_ingest import ingesting

SENTENCE = "The river rose again in March, and the town was ready for it this time, with sand and boats. "
ARTICLE = "<article><h1>The river</h1>" + f"<p>{SENTENCE * 4}</p>" * 8 + "</article>"
START = f"<article><h1>The river</h1><p>{SENTENCE}</p><p>{SENTENCE * 2}</p>"
NOT_FREE = '<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":false}</script>'
SAYS = "<h2>Subscribe to continue reading</h2><p>Already a subscriber? <a href=/login>Sign in</a></p>"

OVERLAYS = {
    "paywall-modal": f"<div class=paywall-modal>{SAYS}</div>",
    "tp-modal": f"<div class='tp-modal'><div class=tp-iframe-wrapper>{SAYS}</div></div>",
    "tp-container": f"<div class='tp-container-inner'>{SAYS}</div>",
    "dialog": f"<dialog open>{SAYS}</dialog>",
    "dialog-opened-by-script": f"<dialog id=d>{SAYS}</dialog><script>document.getElementById('d').showModal()</script>",
    "role-dialog": f"<div role=dialog>{SAYS}</div>",
    "role-alertdialog": f"<section role=alertdialog>{SAYS}</section>",
    "aria-modal": f"<div aria-modal=true>{SAYS}</div>",
    "overlay-class": f"<div class='c-Overlay c-Overlay--full'>{SAYS}</div>",
    "fixed": f"<div style='position: fixed; inset: 0'>{SAYS}</div>",
    "poool": "<div id=poool-widget><p>Abonnez-vous pour lire la suite de cet article</p></div>",
    "zephr": "<div class=zephr-overlay><p>Register for free to continue reading</p><button>Register</button></div>",
    "leaky-paywall": "<div id=leaky_paywall_message>You have reached your limit of free articles. <a href=/s>Subscribe</a></div>",
    "memberful": "<div class=memberful-global-teaser-content><p>This post is for paying subscribers only.</p></div>",
    "metro-paywall": "<div class=MetroPaywall><b>To continue reading this article, please subscribe.</b></div>",
    "pelcro": "<div id=pelcro-app><p>Subscribe to read the full story</p></div>",
    "evolok": "<div class=evolok-gate><p>Log in to read this article</p></div>",
    "piano-inline": "<div class=piano-inline-offer><p>Unlock this article with a subscription.</p></div>",
    "data-testid": "<div data-testid=Paywall-Wrapper><p>Become a member to read this story.</p></div>",
    "regwall": "<div class=regwall><p>Create a free account to continue reading</p></div>",
    "full-story": "<div class=gate-modal><p>Subscribe to read the full story.</p></div>",
    "to-continue": "<div class=modal>To continue reading, <a href=/s>start your free trial</a> or sign in.</div>",
    "already-a-subscriber": "<div class=paywall-modal><p>Already a subscriber? <a href=/login>Sign in</a></p></div>",
    "last-free-article": "<div class=popup><p>You’ve read your last free article.</p></div>",
    "split-words": "<div class=modal><b>Subscribe</b> to <i>continue</i>&nbsp;reading</div>",
    "german": "<div class=modal>Jetzt Abo abschließen und weiterlesen. Bereits Abonnent? Anmelden</div>",
    "german-2": "<div class=paywall-modal>Dieser Artikel ist exklusiv für unsere Abonnenten.</div>",
    "french": "<dialog open>Cet article est réservé aux abonnés. Déjà abonné ? Connectez-vous</dialog>",
    "spanish": "<div class=modal-paywall>Suscríbete para seguir leyendo. ¿Ya eres suscriptor? Inicia sesión</div>",
    "italian": "<div class=modal>Abbonati per continuare a leggere</div>",
    "portuguese": "<div class=modal>Assine para continuar lendo</div>",
    "dutch": "<div class=modal>Word abonnee om dit artikel verder te lezen</div>",
    "swedish": "<div class=overlay>Prenumerera för att läsa vidare</div>",
    "danish": "<div class=overlay>Bliv abonnent for at læse videre</div>",
    "norwegian": "<div class=overlay>Bli abonnent for å lese hele saken</div>",
    "finnish": "<div class=overlay>Tilaa jatkaaksesi lukemista</div>",
    "polish": "<div class=modal>Wykup dostęp, aby czytać dalej</div>",
    "czech": "<div class=modal>Pokračování článku je jen pro předplatitele. Předplaťte si a čtěte dál</div>",
    "russian": "<div class=modal>Оформите подписку, чтобы продолжить чтение</div>",
    "turkish": "<div class=modal>Okumaya devam etmek için abone olun</div>",
    "japanese": "<div class=modal>会員登録すると記事の続きを読むことができます</div>",
    "chinese": "<div class=modal>订阅后即可阅读全文</div>",
    "korean": "<div class=modal>구독하고 계속 읽기</div>",
    "arabic": "<div class=modal>اشترك لمتابعة القراءة</div>",
    "shown-again-by-a-rule": "<style>.pw{display:none} .pw.on{display:block}</style><div class='modal pw on'>Subscribe to continue reading</div>",
}  # fmt: skip
BROKEN_OFF = {
    "box": "<div class=box><h3>Subscribe to continue reading</h3><a href=/subscribe>See plans</a></div></article>",
    "plain": "<p>To read the rest of this story, please subscribe or log in.</p></article>",
    "after-article": "</article><div><p>This article is for subscribers only.</p><a href=/s>Subscribe</a></div>",
    "substack": "<div><h2>This post is for paid subscribers</h2><a href=/s>Subscribe</a></div></article>",
    "german": "<div><p>Weiterlesen mit dem Digitalabo</p><a href=/abo>Jetzt testen</a></div></article>",
    "footer-after": "<div><p>Subscribe to read the full story</p></div></article><footer><p>"
    + SENTENCE * 2
    + "</p></footer>",
}
NO_WALLS = {
    "hidden": f"<div class=paywall-modal hidden>{SAYS}</div>",
    "display-none": f"<div class=paywall-modal style='display:none'>{SAYS}</div>",
    "inside-of-hidden": f"<div style='visibility: hidden'><div class=tp-modal>{SAYS}</div></div>",
    "template": f"<template><div class=paywall-modal>{SAYS}</div></template>",
    "noscript": f"<noscript><div class=paywall-modal>{SAYS}</div></noscript>",
    "script-string": f"<script>var wall = `<div class='paywall-modal'>{SAYS}</div>`;</script>",
    "script-json": f"<script type=text/template><div class=tp-modal>{SAYS}</div></script>",
    "closed-dialog": f"<dialog>{SAYS}</dialog>",
    "aria-hidden": f"<div role=dialog aria-hidden=true>{SAYS}</div>",
    "hidden-class": f"<div class='paywall-modal is-hidden'>{SAYS}</div>",
    "bootstrap-modal": f"<div class='modal fade' id=paywall>{SAYS}</div>",
    "style-sheet": f"<style>body{{margin:0}} .paywall-modal, .x {{ display : none !important }}</style><div class=paywall-modal>{SAYS}</div>",
    "comment": f"<!-- <div class=paywall-modal>{SAYS}</div> -->",
    "newsletter": "<div class=modal><h2>Subscribe to our newsletter</h2><p>Get the best stories in your inbox.</p><form><input type=email><button>Sign up</button></form></div>",
    "newsletter-2": "<div class=popup>Sign up to read the news before everybody else, every morning by email.</div>",
    "cookies": "<div role=dialog aria-modal=true class=consent-modal><p>We value your privacy. Accept cookies to continue, or subscribe to our ad-free version.</p><button>Accept</button></div>",
    "login-link": "<header><a href=/login>Sign in</a> <a href=/subscribe>Subscribe</a></header>",
    "login-modal": "<div class=login-modal role=dialog><form><input name=user><input type=password></form><p>Already a subscriber? Log in.</p></div>",
    "meter": "<div class=paywall-counter>2 of 3 free articles read. <a href=/s>Subscribe</a></div>",
    "scroll": "<div class=ad-overlay>Advertisement: scroll to continue reading</div>",
    "continue-reading": "<div class=modal-teaser><a href=/b>Continue reading</a></div>",
    "comments": "<div class=modal><p>Only subscribers can comment. Already a subscriber? Sign in.</p></div>",
    "empty-frame": "<div class=paywall></div><div id=piano></div>",
    "podcast": "<p>Subscribe to the podcast wherever you listen.</p>",
    "footer": "<footer><p>Subscribe to continue reading our best stories.</p></footer>",
    "paid-content-itself": f"<div class=paywall>{ARTICLE}</div>",
    "age": "<div role=dialog aria-modal=true>Are you over 18? Confirm your age to continue.</div>",
    "about-walls": f"<article><p>{SENTENCE}</p><p>Readers saw “Subscribe to continue reading” and left, the study of forty papers says.</p><p>{SENTENCE * 3}</p></article>",
    "not-free-by-linked-data": NOT_FREE,
    "not-free-with-newsletter": f"{NOT_FREE}<div class=newsletter-box><p>Subscribe to our newsletter</p></div>",
}  # fmt: skip


def page(body: str) -> str:
    return f"<!doctype html><html><head><title>The river</title></head><body>{body}</body></html>"


async def records(pages: dict[str, str], folder: Path) -> dict[str, dict[str, object]]:
    served = {f"/{name}": html(page(body)) for name, body in pages.items()}
    async with ingesting(dict(served), folder) as (spaniel, site, _):
        return {name: (await spaniel.record(site.url(f"/{name}"))).as_dict() for name in pages}


def verdicts(found: dict[str, dict[str, object]]) -> dict[str, object]:
    return {name: record["page_type"] for name, record in found.items()}


@pytest.mark.req("FG-47", "FG-21")
async def test_overlays_are_walls_over_a_whole_article(tmp_path: Path) -> None:
    found = await records({name: ARTICLE + box for name, box in OVERLAYS.items()}, tmp_path)
    assert verdicts(found) == dict.fromkeys(OVERLAYS, "paywall")
    assert all(record["extraction_method"] == "blocked" and record["markdown"] is None for record in found.values())
    assert all(record["title"] == "The river" for record in found.values())


@pytest.mark.req("FG-47", "FG-21")
async def test_overlays_are_walls_over_a_short_start(tmp_path: Path) -> None:
    found = await records({name: f"{box}{START}</article>" for name, box in OVERLAYS.items()}, tmp_path)
    assert verdicts(found) == dict.fromkeys(OVERLAYS, "paywall")


@pytest.mark.req("FG-47")
async def test_text_that_breaks_off_at_a_subscribe_box_is_walled(tmp_path: Path) -> None:
    found = await records({name: START + box for name, box in BROKEN_OFF.items()}, tmp_path)
    assert verdicts(found) == dict.fromkeys(BROKEN_OFF, "paywall")
    assert {record["wall"]["sign"] for record in found.values()} == {"break_off"}  # type: ignore[index]
    after = {name: START + box.replace("</article>", f"<p>{SENTENCE * 3}</p></article>") for name, box in BROKEN_OFF.items() if name != "after-article"}  # fmt: skip
    assert verdicts(await records(after, tmp_path / "after")) == dict.fromkeys(after)


@pytest.mark.req("FG-47")
async def test_boxes_that_are_no_walls_block_nothing(tmp_path: Path) -> None:
    found = await records({name: ARTICLE + box for name, box in NO_WALLS.items()}, tmp_path)
    assert verdicts(found) == dict.fromkeys(NO_WALLS)
    assert all("The river rose again" in str(record["markdown"]) for record in found.values())


@pytest.mark.req("FG-47")
async def test_linked_data_is_recorded_and_confirms_a_wall(tmp_path: Path) -> None:
    box = "<div class='paywall-modal big' id=wall><p>Subscribe to continue reading</p></div>"
    sale = "<div class=site-paywall>Subscribe</div>"
    found = await records({"open": NOT_FREE + START, "both": NOT_FREE + ARTICLE + box, "wall": ARTICLE + box, "sale": NOT_FREE + ARTICLE + sale, "free": ARTICLE + sale}, tmp_path)  # fmt: skip
    assert verdicts(found) == {"open": None, "both": "paywall", "wall": "paywall", "sale": "paywall", "free": None}
    assert found["open"]["signals"] == {"free": False}
    wall = {"sign": "overlay", "where": "div#wall.paywall-modal.big", "text": "subscribe to continue reading"}
    assert found["wall"]["wall"] == wall
    assert found["both"]["wall"] == {**wall, "confirmed_by": "isAccessibleForFree"}
    assert found["sale"]["wall"]["sign"] == "box"  # type: ignore[index]
    assert found["free"]["wall"] is None
