from __future__ import annotations

import codecs
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prose import PROSE
from transforms.charset import SAMPLE, decode, sniff_encoding

HTML = "text/html"


@pytest.mark.parametrize(
    ("body", "content_type", "codec"),
    [
        (codecs.BOM_UTF8 + b"<meta charset=koi8-r>", "text/html; charset=euc-kr", "utf-8"),
        (codecs.BOM_UTF16_LE + b"<\0", "text/html; charset=euc-kr", "utf-16-le"),
        (codecs.BOM_UTF16_BE + b"\0<", HTML, "utf-16-be"),
        (b"<meta charset=koi8-r>", "text/html; charset=euc-kr", "cp949"),
        (b"<meta charset=koi8-r>", "text/html; charset=nonsense", "koi8-r"),
        (b"<meta charset=koi8-r>\xc3\xa9", HTML, "koi8-r"),
        (b"caf\xc3\xa9", HTML, "utf-8"),
        (b"caf\xc3\xa9", "text/html; charset=iso-8859-1", "cp1252"),
        (b"\xfd\xfe\xfd", "text/html; charset=utf-8", "utf-8"),
        (b"", "", "utf-8"),
    ],
)
def test_encoding_is_looked_for_in_the_order_of_browsers(
    body: bytes, content_type: str, codec: str
) -> None:
    assert sniff_encoding(body, content_type) == codec


@pytest.mark.parametrize(
    ("content_type", "codec"),
    [
        ("text/html;charset=UTF8", "utf-8"),
        ('text/html; charset="euc-kr"', "cp949"),
        ("text/html; Charset = 'ks_c_5601-1987' ; x=y", "cp949"),
        ("text/html; charset=GB2312", "gb18030"),
        ("text/html; charset=gbk", "gb18030"),
        ("text/html; charset=Shift_JIS", "cp932"),
        ("text/html; charset=x-sjis", "cp932"),
        ("text/html; charset=euc-jp", "euc_jis_2004"),
        ("text/html; charset=iso-2022-jp", "iso2022_jp"),
        ("text/html; charset=big5", "big5hkscs"),
        ("text/html; charset=latin1", "cp1252"),
        ("text/html; charset=us-ascii", "cp1252"),
        ("text/html; charset=iso-8859-9", "cp1254"),
        ("text/html; charset=tis-620", "cp874"),
        ("text/html; charset=iso-8859-11", "cp874"),
        ("text/html; charset=iso-8859-8-i", "iso8859-8"),
        ("text/html; charset=x-mac-cyrillic", "mac-cyrillic"),
        ("text/html; charset=x-user-defined", "cp1252"),
        ("text/html; charset=utf-16", "utf-16-le"),
        ("text/html; charset=utf-7", "utf-8"),  # no label of the Encoding Standard
        ("text/html; charset=iso-2022-kr", "utf-8"),  # browsers read nothing of it
        ("text/html; charset=base64", "utf-8"),  # a codec of Python's, but no encoding
        ("text/html; charset=", "utf-8"),
        ("text/html; charset=utf-8, text/html", "utf-8"),
    ],
)
def test_label_in_the_header_is_read_as_browsers_read_it(content_type: str, codec: str) -> None:
    assert sniff_encoding(b"<p>", content_type) == codec


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ('<meta charset="koi8-r">', "koi8-r"),
        ("<META/CHARSET=koi8-r/>", "utf-8"),  # the label is "koi8-r/"
        ("<meta charset=koi8-r >", "koi8-r"),
        ("<meta name=a charset = 'koi8-r' charset=utf-8>", "koi8-r"),
        ('<meta http-equiv=Content-Type content="text/html; charset=koi8-r">', "koi8-r"),
        ('<meta content="text/html; charset=koi8-r" http-equiv="content-type">', "koi8-r"),
        ('<meta content="text/html; charset=koi8-r">', "utf-8"),
        ('<meta name=x content="charset=koi8-r">', "utf-8"),
        ("<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
        ("<meta charset=utf-16>", "utf-8"),
        ("<meta charset=x-user-defined>", "cp1252"),
        ("<!-- <meta charset=koi8-r> -->", "utf-8"),
        ("<!--> <meta charset=koi8-r>", "koi8-r"),
        ("<!-- <meta charset=koi8-r>", "utf-8"),
        ('<p title="<meta charset=koi8-r>">', "utf-8"),
        ("<metadata charset=koi8-r>", "utf-8"),
        ("</meta charset=koi8-r>", "utf-8"),
        ("<!doctype html><meta charset=koi8-r>", "koi8-r"),
        ('<?xml version="1.0" encoding="koi8-r"?>', "koi8-r"),
        ('<?xml version="1.0" encoding="utf-16"?>', "utf-8"),
        ('<?xml version="1.0" encoding="koi8-r"?><meta charset=euc-kr>', "cp949"),
        (' <?xml version="1.0" encoding="koi8-r"?>', "utf-8"),
        (" " * 900 + "<meta charset=koi8-r>", "koi8-r"),
        (" " * 1010 + "<meta charset=koi8-r>", "utf-8"),
    ],
)
def test_declaration_in_the_page_is_found_as_browsers_find_it(head: str, codec: str) -> None:
    assert sniff_encoding(head.encode(), HTML) == codec


def test_declaration_of_xml_comes_before_meta_in_xhtml() -> None:
    body = b'<?xml version="1.0" encoding="koi8-r"?><meta charset="euc-kr"/>'
    assert sniff_encoding(body, "application/xhtml+xml") == "koi8-r"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_xml_in_utf16_needs_no_byte_order_mark(codec: str) -> None:
    assert sniff_encoding('<?xml version="1.0"?><a/>'.encode(codec), "") == codec


def page(language: str, codec: str, head: str = "") -> bytes:
    """A page as they were when pages declared nothing, in the prose of a language."""
    sentences = PROSE[language]
    if codec == "cp1258":
        sentences = [with_combining_tones(sentence) for sentence in sentences]
    rows = [
        f'<tr class="row{i % 2}"><td width="120"><a href="/node/{i}.html">{sentence[:30]}</a></td>'
        f'<td align="left"><p class="text">{sentence}</p></td></tr>\n'
        for i, sentence in enumerate(sentences * 2)
    ]
    text = (
        f"<html><head><title>{sentences[0]}</title>{head}\n"
        "<script>function f(x) { return document.getElementById(x); }</script></head>\n"
        f'<body bgcolor="#ffffff"><table>{"".join(rows)}</table>\n'
        "<p>Copyright 2004. All rights reserved.</p></body></html>"
    )
    return text.encode(codec, "xmlcharrefreplace")


def with_combining_tones(text: str) -> str:
    """Vietnamese as windows-1258 has it: some letters as a letter and a tone mark."""

    def spelled(char: str) -> str:
        *marks, tone = unicodedata.normalize("NFD", char)
        return unicodedata.normalize("NFC", "".join(marks)) + tone if marks else tone

    return "".join(c if c.encode("cp1258", "ignore") else spelled(c) for c in text)


UNDECLARED = [
    ("korean", "cp949"),
    ("japanese", "cp932"),
    ("japanese", "euc_jis_2004"),
    ("japanese", "iso2022_jp"),
    ("chinese", "gb18030"),
    ("taiwanese", "big5hkscs"),
    ("russian", "koi8-r"),
    ("russian", "cp1251"),
    ("ukrainian", "cp1251"),
    ("polish", "cp1250"),
    ("polish", "iso8859-2"),
    ("czech", "cp1250"),
    ("czech", "iso8859-2"),
    ("hungarian", "iso8859-2"),
    ("german", "cp1252"),
    ("french", "cp1252"),
    ("spanish", "cp1252"),
    ("english", "cp1252"),
    ("greek", "cp1253"),
    ("greek", "iso8859-7"),
    ("turkish", "cp1254"),
    ("hebrew", "cp1255"),
    ("arabic", "cp1256"),
    ("lithuanian", "cp1257"),
    ("vietnamese", "cp1258"),
    ("thai", "cp874"),
]


@pytest.mark.parametrize(("language", "codec"), UNDECLARED)
def test_undeclared_encoding_is_recognized(language: str, codec: str) -> None:
    body = page(language, codec)
    assert decode(body, sniff_encoding(body, HTML)) == decode(body, codec)


@pytest.mark.parametrize("language", sorted(PROSE))
def test_undeclared_utf8_is_utf8(language: str) -> None:
    body = page(language, "utf-8")
    assert sniff_encoding(body, HTML) == "utf-8"


def test_undeclared_utf8_with_a_broken_character_is_utf8_still() -> None:
    body = page("russian", "utf-8")
    assert sniff_encoding(body.replace("я".encode(), b"\xd1", 1), HTML) == "utf-8"


def test_what_stands_far_behind_ascii_is_looked_at() -> None:
    body = b"<script>" + b"x" * 10 * SAMPLE + b"</script>" + page("russian", "koi8-r")
    assert sniff_encoding(body, HTML) == "koi8-r"


@pytest.mark.parametrize(
    ("body", "codec", "text"),
    [
        (codecs.BOM_UTF8 + b"a", "utf-8", "a"),
        (codecs.BOM_UTF16_LE + b"a\0", "utf-16-le", "a"),
        (b"\xc3", "utf-8", "\ufffd"),
        (b"a\0b", "cp1252", "a\0b"),
        (b"a\0b\0c", "utf-16-le", "ab\ufffd"),
        (b"\x93\xfa\x93", "cp932", "日\ufffd"),
        (b"\xad\xa1", "euc_jis_2004", "①"),
        (b"\x80", "cp1252", "€"),
    ],
)
def test_decode_replaces_what_cannot_be_read(body: bytes, codec: str, text: str) -> None:
    assert decode(body, codec) == text


@given(st.binary(), st.text())
def test_any_bytes_can_be_sniffed_and_decoded(body: bytes, content_type: str) -> None:
    decode(body, sniff_encoding(body, content_type)).encode()


@given(st.binary(), st.sampled_from(sorted({codec for _, codec in UNDECLARED})))
def test_any_bytes_can_be_decoded_in_any_encoding(body: bytes, codec: str) -> None:
    decode(body, codec).encode()
