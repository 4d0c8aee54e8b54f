"""Archive: what was sent and received, as every reader of WARC files expects it."""

from __future__ import annotations

import gzip
import io
import re
import zlib

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from tests.samples import HEAD, REQUEST_HEAD, make_fetched, make_page, pipeline_of_stage
from transforms import archive
from transforms.archive import ArchivePages, ArchiveStage, WarcWriter, settle_head
from transforms.http_head import parse_head
from transforms.payloads import PROFILE, KeptPayloads
from transforms.records import (
    HTTP_ERROR,
    NETWORK_ERROR,
    PAGE,
    ROBOTS_TXT,
    TOO_LARGE,
    UNSUPPORTED_TYPE,
    Fetched,
    Page,
    WarcFile,
)

DESCRIPTION = {"software": "beamcrawl/0", "robots": "RFC 9309"}
STATUS = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("lines", "settled"),
    [
        (b"", b""),
        (b"A: 1\r\n", b"A: 1\r\n"),
        (b"Content-Length: 9\r\n", b"X-Crawler-Content-Length: 9\r\n"),
        (b"content-length:9\r\nA: 1\r\n", b"X-Crawler-content-length:9\r\nA: 1\r\n"),
        (b"CONTENT-ENCODING\t: br\r\n", b"X-Crawler-CONTENT-ENCODING\t: br\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"X-Crawler-Transfer-Encoding: chunked\r\n"),
        (
            b"Content-Length: 9\r\nContent-Length: 9\r\n",
            b"X-Crawler-Content-Length: 9\r\nX-Crawler-Content-Length: 9\r\n",
        ),
        (b"X-Content-Length: 9\r\n", b"X-Content-Length: 9\r\n"),
        (b"Content-Length-Of: 9\r\n", b"Content-Length-Of: 9\r\n"),
        (b"A: Content-Length: 9\r\n", b"A: Content-Length: 9\r\n"),
        (b"A: 1\r\n Content-Length: 9\r\n", b"A: 1\r\n Content-Length: 9\r\n"),  # folded
        (b"A: \xff\r\n", b"A: \xff\r\n"),
    ],
)
def test_settle_head_is_true_to_the_body_behind_it(lines, settled):
    head = settle_head(STATUS + lines + b"\r\n", 42)
    assert head == STATUS + settled + b"Content-Length: 42\r\n\r\n"


@given(
    st.lists(
        st.sampled_from(
            [
                b"Content-Length: 1",
                b"content-encoding: gzip",
                b"Transfer-Encoding:chunked",
                b"Set-Cookie: a=b",
                b" folded",
                b"\xff\xfe",
            ]
        )
    ),
    st.sampled_from([b"\r\n", b"\n"]),
    st.integers(0, 10**9),
)
def test_settle_head_leaves_one_length_and_no_coding(lines, end, length):
    head = end.join([b"HTTP/1.1 200 OK", *lines, b"", b""])
    headers = parse_head(settle_head(head, length))
    assert headers["content-length"] == [str(length)]
    assert not {"content-encoding", "transfer-encoding"} & set(headers)
    stale = sum(line.lower().startswith((b"content-", b"transfer-")) for line in lines)
    assert sum(len(v) for name, v in headers.items() if name.startswith("x-crawler-")) == stale


def write(*exchanges: Fetched) -> tuple[bytes, list[int]]:
    """A WARC file, and the offset of each exchange."""
    file = io.BytesIO()
    writer = WarcWriter(file, DESCRIPTION, KeptPayloads())
    offsets = [writer.write_exchange(fetched) for fetched in exchanges]
    assert writer.offset == len(file.getvalue())
    assert writer.records == 1 + 2 * len(exchanges)
    return file.getvalue(), offsets


def members(data: bytes) -> list[bytes]:
    """What each gzip member holds."""
    found = []
    while data:
        reader = zlib.decompressobj(wbits=31)
        found.append(reader.decompress(data))
        assert reader.eof
        data = reader.unused_data
    return found


def records(data: bytes) -> list[tuple[dict[str, str], bytes]]:
    """Headers and block of each record, as fastwarc reads them."""
    reader = FastIterator(io.BytesIO(data), parse_http=False)
    return [(dict(record.headers.asdict()), record.reader.read()) for record in reader]


def test_warc_begins_with_a_warcinfo_record():
    headers, block = records(write()[0])[0]
    assert headers["WARC-Type"] == "warcinfo"
    assert headers["Content-Type"] == "application/warc-fields"
    assert block == b"software: beamcrawl/0\r\nrobots: RFC 9309\r\n"


def test_warc_has_a_gzip_member_for_each_record():
    data, _ = write(make_fetched(body=b"one"), make_fetched(body=b"two"))
    parts = members(data)
    assert len(parts) == 5
    assert all(part.startswith(b"WARC/1.1\r\n") for part in parts)
    assert all(part.endswith(b"\r\n\r\n") for part in parts)
    kinds = [headers["WARC-Type"] for headers, _ in records(data)]
    assert kinds == ["warcinfo", "response", "request", "response", "request"]


def test_warc_offset_leads_to_the_response():
    data, offsets = write(*(make_fetched(f"http://a.example/{n}") for n in range(3)))
    for number, offset in enumerate(offsets):
        headers, _ = records(data[offset:])[0]
        assert headers["WARC-Type"] == "response"
        assert headers["WARC-Target-URI"] == f"http://a.example/{number}"


def test_warc_exchange_says_who_when_and_what():
    data, _ = write(make_fetched("http://a.example/x?y", b"body", fetched_at=1_700_000_000.9))
    _, (response, answered), (request, asked) = records(data)
    for headers in (response, request):
        assert headers["WARC-Target-URI"] == "http://a.example/x?y"
        assert headers["WARC-Date"] == "2023-11-14T22:13:20Z"
        assert headers["WARC-IP-Address"] == "192.0.2.1"
    assert response["Content-Type"] == "application/http; msgtype=response"
    assert request["Content-Type"] == "application/http; msgtype=request"
    assert request["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    assert asked == REQUEST_HEAD
    assert answered == settle_head(HEAD, 4) + b"body"
    assert "WARC-Truncated" not in response


def test_warc_exchange_without_an_address_has_none():
    data, _ = write(make_fetched(ip=""))
    assert all("WARC-IP-Address" not in headers for headers, _ in records(data))


@pytest.mark.parametrize(
    ("outcome", "truncated"),
    [
        (TOO_LARGE, "length"),
        (UNSUPPORTED_TYPE, "unspecified"),
        (PAGE, None),
        (HTTP_ERROR, None),
        (ROBOTS_TXT, None),
    ],
)
def test_warc_truncated_says_that_the_body_is_not_whole(outcome, truncated):
    data, _ = write(make_fetched(body=b"half", outcome=outcome))
    _, (response, _), (request, _) = records(data)
    assert response.get("WARC-Truncated") == truncated
    assert "WARC-Truncated" not in request


@pytest.mark.parametrize("error", ["timeout", "the connection broke off"])
def test_warc_truncated_stands_on_what_broke_off(error):
    data, _ = write(make_fetched(body=b"half", outcome=NETWORK_ERROR, error=error))
    assert records(data)[1][0]["WARC-Truncated"] == "disconnect"


BODIES = st.binary(max_size=300)


@settings(max_examples=50)
@given(BODIES, st.sampled_from(["br", "gzip", "deflate", "none"]))
@example(b"", "br")
@example(b"WARC/1.1\r\n\r\n", "br")
@example(gzip.compress(b"a page that is itself gzip"), "gzip")
def test_warc_is_read_back_the_same_by_fastwarc_and_warcio(body, coding):
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: text/html\r\n\r\n" % coding.encode()
    )
    data, _ = write(make_fetched(body=body, head=head))
    [fast] = [
        record.reader.read()
        for record in FastIterator(io.BytesIO(data))
        if record.headers["WARC-Type"] == "response"
    ]
    [warcio] = [
        (record.content_stream().read(), record.http_headers.get_statuscode())
        for record in WarcioIterator(io.BytesIO(data), check_digests="raise")
        if record.rec_type == "response"
    ]
    assert fast == body
    assert warcio == (body, "200")


@given(BODIES)
def test_warc_digest_is_of_the_payload(body):
    data, _ = write(make_fetched(body=body))
    for record in FastIterator(io.BytesIO(data), parse_http=False):
        if "WARC-Block-Digest" in record.headers:
            assert record.verify_block_digest()
        if record.headers["WARC-Type"] == "response":
            record.parse_http()
            assert record.verify_payload_digest()


def test_warc_records_have_ids_of_their_own():
    data, _ = write(*(make_fetched() for _ in range(3)))
    ids = [headers["WARC-Record-ID"] for headers, _ in records(data)]
    assert len(set(ids)) == len(ids) == 7
    assert all(re.fullmatch("<urn:uuid:[0-9a-f-]{36}>", name) for name in ids)


ONE, TWO = make_fetched("http://a.example/1", b"body"), make_fetched("http://b.example/2", b"body")


def test_warc_revisit_refers_to_the_first_with_its_body():
    data, offsets = write(ONE._replace(fetched_at=1_700_000_000.9), TWO)
    _, (first, _), _, (revisit, block), (request, _) = records(data)
    assert records(data[offsets[1] :])[0][0] == revisit
    assert (first["WARC-Type"], revisit["WARC-Type"]) == ("response", "revisit")
    assert revisit["WARC-Profile"] == PROFILE
    assert revisit["WARC-Refers-To"] == first["WARC-Record-ID"]
    assert revisit["WARC-Refers-To-Target-URI"] == first["WARC-Target-URI"] == ONE.url.url
    assert revisit["WARC-Refers-To-Date"] == first["WARC-Date"] == "2023-11-14T22:13:20Z"
    assert revisit["WARC-Payload-Digest"] == first["WARC-Payload-Digest"]
    assert revisit["WARC-Target-URI"] == TWO.url.url
    assert block == settle_head(HEAD, 4)  # its own head, true to the body it refers to
    assert request["WARC-Concurrent-To"] == revisit["WARC-Record-ID"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (ONE, TWO._replace(body=b"other")),
        (ONE._replace(body=b""), TWO._replace(body=b"")),
        (ONE._replace(outcome=HTTP_ERROR), TWO._replace(outcome=HTTP_ERROR)),
        (ONE._replace(outcome=TOO_LARGE), TWO),  # cut there by chance
        (ONE, TWO._replace(outcome=TOO_LARGE)),
        (ONE._replace(outcome=ROBOTS_TXT), TWO),
    ],
)
def test_warc_revisit_is_only_of_whole_pages_with_the_same_body(one, two):
    kinds = [headers["WARC-Type"] for headers, _ in records(write(one, two)[0])]
    assert kinds.count("response") == 2


@given(st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=20), st.integers(1, 3))
def test_warc_revisit_leads_to_a_response_with_that_body(bodies, most):
    file = io.BytesIO()
    writer = WarcWriter(file, DESCRIPTION, KeptPayloads(most))
    for number, body in enumerate(bodies):
        writer.write_exchange(make_fetched(f"http://a.example/{number}", body, fetched_at=number))
    responses = {}
    for headers, block in records(file.getvalue()):
        if headers["WARC-Type"] == "response":
            responses[headers["WARC-Record-ID"]] = headers, block
        elif headers["WARC-Type"] == "revisit":
            first, block = responses[headers["WARC-Refers-To"]]
            number = int(headers["WARC-Target-URI"].rpartition("/")[2])
            assert block.endswith(b"\r\n\r\n" + bodies[number])
            assert headers["WARC-Refers-To-Target-URI"] == first["WARC-Target-URI"]
            assert headers["WARC-Refers-To-Date"] == first["WARC-Date"]
    assert set(bodies) == {block[-1:] for _, block in responses.values()}


def test_warc_revisit_passes_warcio_and_fastwarc():
    data, _ = write(ONE, TWO)
    kinds = []
    for record in WarcioIterator(io.BytesIO(data), check_digests="raise"):
        kinds.append(record.rec_type)
        if record.rec_type == "revisit":
            assert record.http_headers.get_statuscode() == "200"
        record.content_stream().read()
    assert kinds == ["warcinfo", "response", "request", "revisit", "request"]
    for fast in FastIterator(io.BytesIO(data), parse_http=False):
        assert fast.verify_block_digest() or fast.headers["WARC-Type"] == "warcinfo"


STAGE = ArchiveStage("", tuple(DESCRIPTION.items()))
Element = tuple[Fetched, Page]


def element(number: int, **changes) -> Element:
    url = f"http://a.example/{number}"
    return make_fetched(url, b"body %d" % number, **changes), make_page(url, body=b"body")


def run_bundle(base: str, elements: list[Element]) -> tuple[list[Page], list[WarcFile]]:
    """The DoFn by itself: which elements make a bundle is a runner's to choose."""
    dofn = archive._ArchivePages(STAGE._replace(base=base))
    dofn.start_bundle()
    pages = [page for each in elements for page in dofn.process(each)]
    files = [output.value.value for output in dofn.finish_bundle()]
    assert {key for key, _ in files} <= {None}
    return pages, [file for _, file in files]


def test_archive_pages_tells_each_page_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(archive.secrets, "token_hex", lambda size: "cafe")
    pages, [file] = run_bundle(str(tmp_path), [element(n) for n in range(3)])
    data = (tmp_path / file.name).read_bytes()
    assert file == WarcFile("warc/round=00000/slot-00000-cafe-00000.warc.gz", len(data), 7)
    for page in pages:
        assert page.warc_file == file.name
        headers, _ = records(data[page.warc_offset :])[0]
        assert headers["WARC-Target-URI"] == page.url.url


def test_archive_pages_in_bundles_of_one_loses_none(tmp_path):
    pages = []
    for number in range(3):  # of one slot: runners end a bundle when they like
        pages += run_bundle(str(tmp_path), [element(number)])[0]
    for page in pages:
        data = (tmp_path / page.warc_file).read_bytes()[page.warc_offset :]
        assert records(data)[0][0]["WARC-Target-URI"] == page.url.url
    assert len({page.warc_file for page in pages}) == 3


def test_archive_pages_lets_pass_what_had_no_answer(tmp_path):
    fetched, page = element(0, head=b"", outcome=NETWORK_ERROR)
    assert run_bundle(str(tmp_path), [(fetched, page)]) == ([page], [])
    assert list(tmp_path.iterdir()) == []


def test_archive_pages_begins_a_new_file_when_one_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "FILE_BYTES", 1000)
    pages, files = run_bundle(str(tmp_path), [element(n) for n in range(5)])
    assert len(files) > 1
    assert [file.name[-13:] for file in files] == [
        f"{number:05d}.warc.gz" for number in range(len(files))
    ]
    kinds = [
        [headers["WARC-Type"] for headers, _ in records((tmp_path / file.name).read_bytes())]
        for file in files
    ]
    assert all(kind[0] == "warcinfo" and kind.count("warcinfo") == 1 for kind in kinds)
    assert sum(kind.count("response") for kind in kinds) == 5
    assert sum(file.records for file in files) == sum(map(len, kinds))
    for page in pages:
        headers, _ = records((tmp_path / page.warc_file).read_bytes()[page.warc_offset :])[0]
        assert headers["WARC-Target-URI"] == page.url.url


def test_archive_pages_keeps_no_body_that_may_not_be_kept(tmp_path):
    fetched, page = element(0)
    [kept], [file] = run_bundle(str(tmp_path), [(fetched, page._replace(noarchive=True))])
    _, (headers, block), _ = records((tmp_path / file.name).read_bytes())
    assert headers["WARC-Truncated"] == "unspecified"
    assert block == settle_head(HEAD, 0)
    assert kept.size == page.size  # the table still says what was had


@pytest.mark.parametrize("noarchive", [(True, False), (False, True), (True, True)])
def test_archive_pages_refers_to_no_body_that_may_not_be_kept(tmp_path, noarchive):
    elements = [
        (make_fetched(url, b"body"), make_page(url, body=b"body", noarchive=wish))
        for url, wish in zip(("http://a.example/1", "http://a.example/2"), noarchive, strict=True)
    ]
    _, [file] = run_bundle(str(tmp_path), elements)
    kinds = [headers["WARC-Type"] for headers, _ in records((tmp_path / file.name).read_bytes())]
    assert "revisit" not in kinds


def test_archive_pages_refers_to_a_file_of_the_same_bundle(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "FILE_BYTES", 1)
    elements = [(each, make_page(each.url, body=b"body")) for each in (ONE, TWO)]
    for _ in range(2):  # what another bundle kept may not be there
        _, files = run_bundle(str(tmp_path), elements)
        kinds = [records((tmp_path / file.name).read_bytes())[1][0]["WARC-Type"] for file in files]
        assert kinds == ["response", "revisit"]


def test_archive_pages_of_a_failed_bundle_publishes_nothing(tmp_path):
    dofn = archive._ArchivePages(STAGE._replace(base=str(tmp_path)))
    dofn.start_bundle()
    list(dofn.process(element(0)))
    assert not list(tmp_path.rglob("*.warc.gz"))
    dofn.start_bundle()  # the next attempt
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_archive_pages_writes_one_file_of_a_bundle(tmp_path):
    elements = [element(0), element(1, head=b"", outcome=NETWORK_ERROR)]
    stage = STAGE._replace(base=str(tmp_path))
    with pipeline_of_stage() as pipeline:
        archived = pipeline | beam.Create(elements, reshuffle=False) | ArchivePages(stage)
        places = archived.pages | beam.Map(lambda page: (page.url.url, page.warc_file != ""))
        counts = archived.files | beam.MapTuple(lambda _, file: file.records)
        expected = [("http://a.example/0", True), ("http://a.example/1", False)]
        assert_that(places, equal_to(expected), label="pages")
        assert_that(counts, equal_to([3]), label="files")
