"""The public sites of the world, as document 3 describes them, and what they say in their languages."""

from __future__ import annotations

from spaniel.testing import Reply, html, redirect
from tests.online.world import DEAD, OTHER_NAME, REFUSES, RESETS, SPEAKS_HTTP, Web

SPANISH = """El certificado se puede solicitar por internet o en la oficina de atención, con cita previa. Los documentos que
se presentan son el pasaporte y el contrato de la vivienda, y el plazo para la respuesta es de tres meses desde que se
entrega la solicitud. Si no hay respuesta, se puede presentar un recurso en la misma oficina."""
CATALAN = """El certificat es pot sol·licitar per internet o a l'oficina d'atenció, amb cita prèvia. Els documents que es
presenten són el passaport i el contracte de l'habitatge, i el termini per a la resposta és de tres mesos des que es
lliura la sol·licitud. Si no hi ha resposta, es pot presentar un recurs amb els mateixos documents, però sense cita."""
BASQUE = """Ziurtagiria internet bidez edo bulegoan eska daiteke, eta beharrezkoa da aldez aurreko hitzordua. Aurkeztu behar
diren agiriak pasaportea eta etxebizitzaren kontratua dira, eta erantzuteko epea hiru hilabetekoa da. Erantzunik ez bada,
errekurtsoa aurkez daiteke bulego berean, baina hori ez da beti behar, eta beste bat ere egin izan dute bere eskaera."""
FRENCH = """Le certificat peut être demandé par internet ou au bureau, avec un rendez-vous. Les documents que vous présentez
sont le passeport et le contrat de logement, et le délai pour la réponse est de trois mois depuis la demande. Sans
réponse, vous pouvez faire un recours dans le même bureau avec votre demande."""
ENGLISH = """You can ask for the certificate on the internet or at the office, with an appointment. The documents that you
have to bring are the passport and the contract of the home, and the answer is given in three months from the day that
you ask for it. If there is no answer you can appeal at the same office."""


def page(text: str = SPANISH, title: str = "Página", head: str = "", more: str = "", lang: str = "") -> Reply:
    root = f'<html lang="{lang}">' if lang else "<html>"
    return html(f"{root}<head><title>{title}</title>{head}</head><body><p>{text}</p>{more}</body></html>")


def versions(**urls: str) -> str:
    return "".join(f'<link rel="alternate" hreflang="{lang}" href="{url}">' for lang, url in urls.items())


def chain(start: str, length: int) -> dict[str, Reply]:
    """`start`1 leads to `start`2, and so on; the last is a page."""
    hops = {f"{start}{i}": redirect(f"{start}{i + 1}", 301) for i in range(1, length + 1)}
    return {**hops, f"{start}{length + 1}": page()}


PAGES: dict[str, Reply] = {
    # The five of the table: the bare domain leads to the form that is preferred
    **{
        f"{scheme}://{bare}/": redirect(f"https://{form}/", 301)
        for scheme in ("http", "https")
        for bare, form in {
            "boe.es": "www.boe.es", "sepe.es": "www.sepe.es", "seg-social.es": "www.seg-social.es",
            "agenciatributaria.es": "sede.agenciatributaria.gob.es", "comunidad.madrid": "www.comunidad.madrid",
        }.items()
    },
    **{
        f"https://{form}/": page(title="Inicio")
        for form in (
            "www.boe.es", "www.sepe.es", "www.seg-social.es", "sede.agenciatributaria.gob.es", "www.comunidad.madrid",
        )
    },
    "https://www.boe.es/buscar": page(),
    "https://www.boe.es/buscar/": page(),
    "https://www.boe.es/buscar/act.php?id=BOE-A-2023-12345": page(),
    "https://boe.es/buscar/act.php?id=BOE-A-2023-12345": redirect("https://www.boe.es/buscar/act.php?id=BOE-A-2023-12345", 301),
    "https://www.boe.es/buscar/leyes?tipo=leyes&p=7": page(more='<a href="?tipo=leyes&p=8">8</a> <a rel="last" href="?tipo=leyes&p=12">fin</a>'),
    "https://www.boe.es/buscar/normas?p=3": page(more="".join(f'<a href="/buscar/normas?p={n}">{n}</a>' for n in range(1, 10))),
    "https://www.boe.es/buscar/avisos?pagina=2": page(more="<p>Página 2 de 40</p>"),
    "https://www.boe.es/buscar/edictos?page=2": page(),
    "https://sepe.es/HomeSepe/Personas": redirect("https://www.sepe.es/HomeSepe/Personas", 301),
    "https://sepe.es/HomeSepe/Personas/": redirect("https://www.sepe.es/HomeSepe/Personas/", 301),
    "https://www.sepe.es/HomeSepe/Personas": page(title="Personas"),
    "https://www.sepe.es/HomeSepe/Personas/": page(title="Personas"),
    "https://www.sepe.es/HomeSepe/Empresas": page(title="Solicitud de la prestación por desempleo"),
    "https://sepe.es/page?lang=es": redirect("https://www.sepe.es/page?lang=es", 302),
    "https://www.sepe.es/page?lang=es": page(),
    "https://www.comunidad.madrid/servicios/empleo": page(),
    "https://comunidad.madrid/servicios/empleo": page(),
    "https://sede.agenciatributaria.gob.es/Sede/irpf": page(),
    "https://agenciatributaria.es/Sede/irpf": redirect("https://sede.agenciatributaria.gob.es/Sede/irpf", 302),
    "https://inclusion.gob.es/extranjeria": page(),
    "http://inclusion.gob.es/": redirect("https://inclusion.gob.es/"),
    "https://inclusion.gob.es/": page(),
    # A chain with two statuses, and one for each status
    "https://seg-social.es/imv": redirect("https://www.seg-social.es/imv", 301),
    "https://www.seg-social.es/imv": redirect("/wps/portal/wss/internet/Trabajadores/65850d68?utm_source=imv#inicio", 302),
    "https://www.seg-social.es/wps/portal/wss/internet/Trabajadores/65850d68?utm_source=imv": page(),
    **{f"https://www.seg-social.es/por/{status}": redirect("/por/fin.html", status) for status in (301, 302, 303, 307, 308)},
    "https://www.seg-social.es/por/fin.html": page(),
    **chain("https://www.junta.es/cinco/", 5),
    **chain("https://www.junta.es/seis/", 6),
    "https://www.junta.es/circulo/a": redirect("/circulo/b"),
    "https://www.junta.es/circulo/b": redirect("/circulo/a"),
    "https://www.junta.es/venta/a": redirect("https://tienda.example/oferta"),
    "https://tienda.example/oferta": redirect("https://www.junta.es/venta/fin"),
    "https://www.junta.es/venta/fin": page(),
    "https://www.junta.es/fuera/a": redirect("https://tienda.example/compra"),
    "https://tienda.example/compra": page(),
    "https://www.junta.es/ido/a": redirect("/ido/ya-no-esta"),
    "https://www.junta.es/roto/a": (500, {}, b""),
    "https://www.junta.es/privado/a": redirect("http://10.0.0.1/admin"),
    "https://www.junta.es/puerto/a": redirect("https://www.junta.es:22/"),
    "https://www.junta.es/protegido/a": (403, {}, b""),
    # www, both ways, and a seat that is found out
    "http://junta.es/": redirect("https://www.junta.es/", 301),
    "https://junta.es/": redirect("https://www.junta.es/", 301),
    "https://www.junta.es/": page(),
    "https://junta.es/tramites/padron-municipal": page(),
    "https://www.junta.es/tramites/padron-municipal": page(),
    "https://junta.es/solo/aqui": page(),
    "http://cabildo.es/": redirect("https://cabildo.es/"),
    "https://cabildo.es/": page(),
    "https://www.cabildo.es/": page(),
    "https://www.cabildo.es/ayudas/vivienda": page(),
    "https://cabildo.es/ayudas/vivienda": page(),
    "http://recaudacion.es/": redirect("https://sede.recaudacion.gob.es/", 302),
    "https://recaudacion.es/": redirect("https://sede.recaudacion.gob.es/", 302),
    "https://sede.recaudacion.gob.es/": page(),
    "https://recaudacion.es/pagos/tasas": page(),
    "https://sede.recaudacion.gob.es/pagos/tasas": page(),
    # Slashes
    "https://www.junta.es/padron/": page(),
    "https://www.junta.es/censo": redirect("/"),
    "https://www.junta.es/censo/": page(),
    "https://www.junta.es/becas": redirect("/becas/", 301),
    "https://www.junta.es/becas/": page(),
    "https://www.junta.es/indice": page(),
    "https://www.junta.es/indice/": page(),
    # HTTP only
    **{f"http://{host}/": page() for host in ("viejo.es", "cortado.es", "llano.es", "prestado.es", "vuelta.es")},
    **{f"http://{host}/tramites/alta": page() for host in ("viejo.es", "cortado.es", "llano.es", "prestado.es", "vuelta.es")},
    "https://vuelta.es/": redirect("http://vuelta.es/"),
    "https://vuelta.es/tramites/alta": redirect("http://vuelta.es/tramites/alta"),
    # A document
    "https://www.junta.es/impresos/solicitud": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.4"),
    # Sessions and broken encodings
    "https://sede.junta.gob.es/tramite?id=456": page(),
    "https://sede.junta.gob.es/tramite%20con%20espacios": page(),
    "https://sede.junta.gob.es/tr%E1mite": page(),
    # Languages: by what the site names, by path, by parameter, by host
    "https://web.gencat.cat/ca/tramits/tramit-12345": page(
        CATALAN, head=versions(ca="/ca/tramits/tramit-12345", es="/es/tramits/tramit-12345", en="/en/tramits/tramit-12345"), lang="ca"
    ),
    "https://web.gencat.cat/es/tramits/tramit-12345": page(lang="es"),
    "https://web.gencat.cat/ca/menu/idiomes": page(
        CATALAN, more='<nav><a href="/es/menu/idiomes">Castellano</a> <a href="/en/menu/idiomes">English</a></nav>', lang="ca"
    ),
    "https://web.gencat.cat/es/menu/idiomes": page(
        head=versions(ca="/ca/menu/idiomes", de="/de/menu/idiomes"), more='<a hreflang="oc" href="/oc/menu/idiomes">Aranés</a>', lang="es"
    ),
    "https://web.gencat.cat/en/tramits/tramit-12345": page(ENGLISH, lang="en"),
    "https://euskadi.eus/tramite/eu/12345": page(BASQUE, lang="eu"),
    "https://euskadi.eus/tramite/es/12345": page(lang="es"),
    "https://euskadi.eus/tramite/fr/12345": page(FRENCH, lang="fr"),
    "https://euskadi.eus/bakarrik/eu/1": page(BASQUE, lang="eu"),
    "https://www.dogv.es/avis?lang=ca": page(CATALAN),
    "https://www.dogv.es/avis?lang=es": page(),
    "https://ca.parcs.es/rutes/montseny": page(CATALAN),
    "https://es.parcs.es/rutes/montseny": page(),
    "https://web.gencat.cat/ca/nomes/catala": page(CATALAN, lang="ca"),
    "https://web.gencat.cat/es/nomes/catala": page(CATALAN, lang="es"),  # it says Spanish and is not
    "https://web.gencat.cat/ca/torna/casa": page(CATALAN, lang="ca"),
    "https://web.gencat.cat/es/torna/casa": redirect("https://web.gencat.cat/es/inici"),
    "https://web.gencat.cat/es/inici": page(lang="es"),
    "https://web.gencat.cat/ca/menteix/aqui": page(CATALAN, head=versions(es="https://tienda.example/es"), lang="ca"),
    "https://tienda.example/es": page(lang="es"),
    "https://xunta.es/gal/tramites/obras": (
        200,
        {"Content-Type": "text/html", "Link": '<https://xunta.es/castellano/tramites/obras>; rel="alternate"; hreflang="es-ES"'},
        page("A solicitude pódese facer na oficina ou por internet.", lang="gl")[2],
    ),
    "https://xunta.es/castellano/tramites/obras": page(lang="es"),
    "http://xunta.es/": redirect("https://xunta.es/"),
    "https://xunta.es/": page(),
    # Shorteners
    "https://bit.ly/3abc": redirect("https://www.seg-social.es/por/fin.html", 301),
    "https://bit.ly/compra": redirect("https://tienda.example/compra", 301),
    "https://bit.ly/dos": redirect("https://goo.gl/x", 301),
    "https://goo.gl/x": redirect("https://www.seg-social.es/por/fin.html", 301),
    "https://bit.ly/parado": redirect("https://goo.gl/parado", 301),
    "https://goo.gl/parado": page(),
    "https://corto.example/": redirect("https://www.corto-info.example/"),
    "https://www.corto-info.example/": page(),
    "https://corto.example/x": redirect("https://www.seg-social.es/por/fin.html", 302),
    # robots.txt
    "https://callado.es/robots.txt": (200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /\n"),
}  # fmt: skip

HTTPS = {
    "viejo.es": REFUSES,
    "cortado.es": RESETS,
    "llano.es": SPEAKS_HTTP,
    "prestado.es": OTHER_NAME,
    "mudo.es": DEAD,
}

ALLOWLIST = """\
# Official sources
boe.es
sepe.es
seg-social.es
*.gob.es
agenciatributaria.es
comunidad.madrid
junta.es
cabildo.es
recaudacion.es
viejo.es
cortado.es
llano.es
prestado.es
vuelta.es
gencat.cat
euskadi.eus
dogv.es
parcs.es
xunta.es
callado.es
mudo.es
nadie.es
"""


def public_web() -> Web:
    return Web(PAGES, HTTPS)
