"""What kind of nothing a page is: one without content, or a "not found" that says 200.

Only noted, in `pages.note`: such a page is kept and its links are followed like any other's.
A phrase alone proves nothing, for pages about errors have it too. So it has to be a whole
part of the title, or begin a text so short that it says little else.
"""

from __future__ import annotations

import re
from functools import cache

EMPTY = "empty"
SOFT_404 = "soft_404"
NOTES = (EMPTY, SOFT_404)

# Characters. Beside a "not found" in the title there may be some advice, a search box, the
# links around it: about a screen. An article on that error has more to say.
LONGEST_APOLOGY = 1500
# A text that says it without a title that does has to come to the point.
LONGEST_NOTICE = 500
_BEGINNING = 200

# How a site says so, by language. Words that other pages have in titles ("error",
# "unavailable", "removed") are not here.
_PHRASES = (
    # English
    r"(?:the |this |requested |web)*page (?:was |is )?not found",
    r"(?:the |this |requested )*page (?:(?:you|that) [\w' ]{2,40} )?"
    r"(?:(?:does not|doesn't|no longer) exists?|(?:cannot|can't|could not|couldn't) be found)",
    r"we (?:can't|cannot|couldn't|could not) find (?:that|the|this) page",
    # German, French, Spanish, Italian, Portuguese, Dutch
    r"(?:die )?seite (?:wurde |konnte )?(?:leider )?nicht gefunden(?: werden)?",
    r"diese seite (?:existiert nicht|gibt es nicht)",
    r"page (?:introuvable|non trouvée)",
    r"cette page n['’]existe (?:pas|plus)",
    r"página no (?:encontrada|existe)",
    r"no se (?:ha encontrado|encontró|pudo encontrar) la página",
    r"pagina non trovata",
    r"página não (?:encontrada|existe)",
    r"pagina niet gevonden",
    # Swedish, Danish, Norwegian, Finnish
    r"sidan (?:hittades inte|kunde inte hittas|finns inte)",
    r"siden (?:blev ikke|ble ikke|kunne ikke) (?:fundet|funnet|findes|finnes)",
    r"sivua ei löyd(?:y|etty)",
    # Polish, Czech, Hungarian, Turkish, Russian, Ukrainian
    r"(?:nie znaleziono strony|strona nie (?:została znaleziona|istnieje))",
    r"stránka (?:nenalezena|nebyla nalezena|neexistuje)",
    r"az oldal nem található",
    r"sayfa bulunamadı",
    r"страница не (?:найдена|существует)",
    r"сторінку не знайдено",
    # Japanese, Chinese, Korean
    r"(?:お探しの|指定された)?ページ(?:が|は)(?:見つかりません|存在しません)(?:でした)?",
    r"(?:您访问的)?页面(?:不存在|找不到|未找到)",
    r"(?:找不到|無法找到)(?:此|該)?(?:页面|頁面|網頁|网页)",
    r"頁面不存在",
    r"(?:요청하신 )?페이지를 찾을 수 없(?:습니다|음)",
)
_SEPARATOR = re.compile(r"\s+[-–—·»«]\s+|\s*[|:•]\s*")


@cache
def _title() -> re.Pattern[str]:
    return re.compile(
        rf"(?:oops|sorry|whoops)?[!,. …]*(?:(?:http )?(?:error |status |fehler |erreur )?404"
        rf"(?: error)?[!,. …]*(?:(?:file |object )?not found|{'|'.join(_PHRASES)})?"
        rf"|(?:file |object )?not found|{'|'.join(_PHRASES)})[!,. …]*",
        re.IGNORECASE,
    )


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(
        rf"\W*(?:(?:oops|sorry|404|error|whoops)\W*)*(?:{'|'.join(_PHRASES)})", re.IGNORECASE
    )


def note_on(status: int, title: str, text: str, *, has_links: bool) -> str:
    """EMPTY or SOFT_404, for a page of HTML that is one; "" for all others.

    `text` is that of its body, as `html` gives it.

    >>> note_on(200, "Page not found | Example", "Try the search.", has_links=True)
    'soft_404'
    """
    if len(text) > LONGEST_APOLOGY and not text.isspace():
        return ""
    words = " ".join(text.split())
    if status == 200 and len(words) <= LONGEST_APOLOGY:
        if any(map(_title().fullmatch, _SEPARATOR.split(title))):
            return SOFT_404
        if len(words) <= LONGEST_NOTICE and _opening().match(words[:_BEGINNING]):
            return SOFT_404
    return "" if words or has_links else EMPTY
