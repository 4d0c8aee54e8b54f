"""Soft 404s and empty pages: noted where all speaks for it, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.soft_404 import EMPTY, LONGEST_APOLOGY, LONGEST_NOTICE, NOTES, SOFT_404, note_on

ADVICE = "Go back to the start, or try the search. " * 12


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("404", ""),
        ("404 Not Found", "nginx"),
        ("Error 404", ADVICE),
        ("Not Found", "The requested URL was not found on this server."),
        ("Page not found | Example", ADVICE),
        ("Example: Page Not Found", ADVICE),
        ("Oops! Page not found", ADVICE),
        ("404 - Page not found - Example", ADVICE),
        ("Page can't be found", ADVICE),
        ("Example", "Sorry, the page you are looking for could not be found."),
        ("Example", "The page you requested does not exist."),
        ("Example", "We couldn't find that page"),
        ("Seite nicht gefunden – Beispiel", "Die Adresse stimmt nicht."),
        ("Beispiel", "Diese Seite existiert nicht."),
        ("Page introuvable", ""),
        ("Exemple", "Cette page n’existe plus"),
        ("Página no encontrada", ""),
        ("Pagina non trovata", ""),
        ("Página não encontrada", ""),
        ("Pagina niet gevonden", ""),
        ("Nie znaleziono strony", ""),
        ("Страница не найдена", ""),
        ("ページが見つかりません", ""),
        ("页面不存在", ""),
        ("예", "요청하신 페이지를 찾을 수 없습니다."),
    ],
)
def test_note_on_a_not_found_that_says_200(title, text):
    assert note_on(200, title, text, has_links=True) == SOFT_404
    assert note_on(200, title.upper(), text, has_links=True) == SOFT_404
    assert note_on(204, title, text or "x", has_links=True) == ""


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("", "A page of a few words."),
        ("How to fix 'page not found'", ADVICE),
        ("404 pages we love", ADVICE),
        ("Room 404", ADVICE),
        ("Lost and not found", ADVICE),
        ("404 Not Found", "An article on this status code. " * 100),
        ("Errors", "What to do when a page was not found."),
        ("Example", "Page not found. " + ADVICE),
        ("File formats", "not found"),
    ],
)
def test_note_on_a_page_that_only_speaks_of_it(title, text):
    assert note_on(200, title, text, has_links=True) == ""


@pytest.mark.parametrize(
    ("text", "has_links", "note"),
    [
        ("", False, EMPTY),
        (" \n\t" * 1000, False, EMPTY),
        ("", True, ""),  # frames, an image map
        ("x", False, ""),
    ],
)
def test_note_on_a_page_without_text(text, has_links, note):
    assert note_on(200, "Title", text, has_links=has_links) == note
    assert note_on(404, "Title", text, has_links=has_links) == note


@given(st.text(max_size=50), st.text(max_size=50), st.booleans())
def test_note_on_a_page_with_much_text_is_none(title, text, has_links):
    long = text + "a" * (LONGEST_APOLOGY + 1)
    assert note_on(200, title, long, has_links=has_links) == ""
    assert note_on(200, title, text, has_links=has_links) in ("", *NOTES)


def test_note_on_a_text_that_goes_on_after_the_phrase_needs_the_title():
    text = "Page not found. " + "a" * LONGEST_NOTICE
    assert note_on(200, "Example", text, has_links=True) == ""
    assert note_on(200, "Page not found", text, has_links=True) == SOFT_404
