"""A crawl's folder: what was fixed stays, what is others' is left alone, orphans go."""

from __future__ import annotations

import json

import pytest

from pipeline.folder import (
    FIXED,
    Crawl,
    going_on,
    locked,
    open_crawl,
    read_crawl_file,
    refuse_foreign,
    sweep,
)
from pipeline.manifest import read_manifests, summarize, to_json
from pipeline.options import Settings, UsageError
from tests.samples import NOTHING_SETTLED, make_result
from transforms import layout, storage
from transforms.canonical import OPTIONAL
from transforms.records import PAGE, ShardState, WarcFile

SEEDS = ("http://a.example/", "http://b.example/x", "http://c.example/")
STORED = {"scope": "host", "include": [], "exclude": ["/out"], "shards": 16}


def settings(out, *seeds: str, **given) -> Settings:
    return Settings.of(seeds, out=str(out), **given)


def below(folder) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def touch(folder, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_fixed_options_are_those_that_the_state_depends_on():
    assert {"scope", "include", "exclude", "shards"} <= {option.name for option in FIXED}
    assert not {"depth", "limit", "delay", "concurrency"} & {option.name for option in FIXED}


def test_open_crawl_starts_and_then_goes_on_with_the_same(tmp_path):
    given = {"shards": 4, "scope": "domain", "exclude": ("/out", "/away")}
    started = open_crawl(settings(tmp_path, *SEEDS, **given), given)
    assert started.last is None
    assert started.states == started.start
    again = open_crawl(settings(tmp_path, depth=3), {"depth": 3})
    assert again.start == started.start
    assert sorted(again.settings.seeds) == sorted(SEEDS)
    assert again.settings.exclude == ("/out", "/away")
    assert (again.settings.scope, again.settings.shards) == ("domain", 4)
    assert again.settings.depth == 3


def test_open_crawl_goes_on_from_the_last_manifest(tmp_path):
    base = str(tmp_path)
    open_crawl(settings(base, *SEEDS, shards=1), {"shards": 1})
    manifest = summarize(base, [make_result()], [], 1, "now")
    storage.publish(layout.manifest_file(base, 0), to_json(base, manifest))
    opened = open_crawl(settings(base), {})
    assert opened.last == manifest
    assert opened.states == manifest.states


def test_crawl_from_before_canonical_keys_goes_on_with_urls_to_the_letter(tmp_path):
    open_crawl(settings(tmp_path, *SEEDS), {})
    path = tmp_path / "crawl.json"
    document = json.loads(path.read_bytes())
    for name in ("tell_apart", "allow"):
        del document["settings"][name]
    path.write_text(json.dumps(document))
    went_on = open_crawl(settings(tmp_path), {}).settings
    assert (went_on.tell_apart, went_on.allow) == (OPTIONAL, ())


def test_open_crawl_without_seeds_says_what_to_name(tmp_path):
    with pytest.raises(UsageError, match="no seeds: name a URL or --input-file"):
        open_crawl(settings(tmp_path / "new"), {})
    assert not (tmp_path / "new").exists()


def test_open_crawl_removes_what_a_run_left_that_never_started(tmp_path):
    touch(tmp_path, "frontier/round=00000/old.parquet", "visited/round=00000/old.parquet")
    open_crawl(settings(tmp_path, *SEEDS), {})
    assert not [name for name in below(tmp_path) if "old" in name]


def test_open_crawl_after_a_kill_while_crawl_json_was_published(tmp_path):
    touch(tmp_path, f"crawl.json.123{layout.TEMPORARY}", "lock")
    assert open_crawl(settings(tmp_path, *SEEDS), {}).last is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shards": 8}, "--shards was 16 when the crawl in D began, .* leave --shards out"),
        ({"scope": "any"}, "--scope was host when"),
        ({"include": ("x",)}, "--include was not set when"),
        ({"exclude": ("/out", "x")}, "--exclude was /out when"),
        ({"exclude": ()}, "--exclude was /out when"),
    ],
)
def test_going_on_with_another_fixed_option_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        going_on(settings("D", **given), given, STORED, SEEDS)


@pytest.mark.parametrize(
    "given", [{}, {"shards": 16}, {"scope": "host", "exclude": ("/out",)}, {"include": ()}]
)
def test_going_on_with_the_same_or_nothing_said_keeps_what_was(given):
    went_on = going_on(settings("D", *SEEDS[:1], **given), given, STORED, SEEDS)
    assert went_on.seeds == SEEDS
    assert (went_on.scope, went_on.shards, went_on.exclude) == ("host", 16, ("/out",))


def test_going_on_with_a_new_seed_is_refused():
    new = settings("D", SEEDS[0], "http://new.example/", "http://newer.example/")
    with pytest.raises(UsageError, match=r"http://new\.example/ is not among the seeds"):
        going_on(new, {}, STORED, SEEDS)


def test_going_on_may_change_all_else():
    given = {"depth": 1, "delay": 9.0, "user_agent": "other/1", "robots": False}
    went_on = going_on(settings("D", **given), given, STORED, SEEDS)
    assert (went_on.depth, went_on.delay, went_on.user_agent) == (1, 9.0, "other/1")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"format": 1, "settings": {}, "start": []}', "has format 1, this version reads 2"),
        ('{"format": 2}', "is no crawl's"),
        ("{}", "is no crawl's"),
        ("[]", "is no crawl's"),
        ("null", "is no crawl's"),
        ("", "is no crawl's"),
        ("\x00", "is no crawl's"),
    ],
)
def test_crawl_file_of_another_kind_is_refused(tmp_path, content, said):
    (tmp_path / "crawl.json").write_text(content)
    with pytest.raises(UsageError, match=said):
        read_crawl_file(str(tmp_path))


def test_crawl_file_holds_what_is_fixed_and_how_it_began(tmp_path):
    assert read_crawl_file(str(tmp_path)) is None
    open_crawl(settings(tmp_path, *SEEDS, shards=2, depth=7), {})
    document = json.loads((tmp_path / "crawl.json").read_text())
    assert set(document["settings"]) == {option.name for option in FIXED}
    assert [state["shard"] for state in document["start"]] == [0, 1]
    assert str(tmp_path) not in json.dumps(document)


def test_refuse_foreign_lets_pass_what_is_a_crawls(tmp_path):
    refuse_foreign(str(tmp_path / "absent"))
    refuse_foreign(str(tmp_path))
    touch(tmp_path, "lock", "STOP", *(f"{kind}/x" for kind in (*layout.KINDS, "rounds")))
    refuse_foreign(str(tmp_path))
    touch(tmp_path, "holiday.jpg")
    with pytest.raises(UsageError, match=r"there is holiday.jpg, .* choose another --out"):
        refuse_foreign(str(tmp_path))


def test_refuse_foreign_of_a_file_says_so(tmp_path):
    touch(tmp_path, "file")
    with pytest.raises(UsageError, match="is a file; --out wants a folder"):
        refuse_foreign(str(tmp_path / "file"))


def test_locked_folder_lets_in_one_after_the_other(tmp_path):
    base = str(tmp_path / "new")
    with (
        locked(base, print),
        pytest.raises(UsageError, match="another run is at work in"),
        locked(base, print),
    ):
        pass
    with locked(base, print) as lock:
        assert not lock.took_over


def test_locked_folder_tells_that_a_job_elsewhere_may_have_outlived_its_driver(tmp_path):
    base = str(tmp_path)
    with pytest.raises(RuntimeError), locked(base, print, elsewhere=True):
        raise RuntimeError("the driver lost its job")
    with pytest.raises(RuntimeError), locked(base, print) as lock:
        assert lock.took_over
        raise RuntimeError("before it could make the round void")
    with locked(base, print) as lock:
        assert lock.took_over
    with locked(base, print) as lock:
        assert not lock.took_over


def committed(base: str, *rounds: int) -> Crawl:
    """A crawl of one shard, with files that its last manifest names and files it does not."""
    start = (
        ShardState(
            0,
            0,
            frontier=(f"{base}/frontier/round=00000/start",),
            visited=(f"{base}/visited/round=00000/start",),
        ),
    )
    opened = Crawl(settings(base), start, None)
    for round_ in rounds:
        folder = f"round={round_:05d}"
        settled = NOTHING_SETTLED._replace(
            pages=f"{base}/pages/{folder}/named",
            links=(f"{base}/links/{folder}/named",),
            outcomes={PAGE: 1},
        )
        state = ShardState(
            0,
            round_ + 1,
            frontier=(f"{base}/frontier/round={round_ + 1:05d}/named",),
            visited=(f"{base}/visited/{folder}/named",),
            contents=(f"{base}/contents/{folder}/named",),
            sketches=(f"{base}/sketches/{folder}/named",),
            patterns=(f"{base}/patterns/{folder}/named",),
            aside=(f"{base}/aside/{folder}/named",),
            hosts=(f"{base}/hosts/{folder}/named",),
            discovered=1,
            fetched=1,
        )
        result = make_result(0, round_, state=state, settled=settled, discovered=1)
        manifest = summarize(base, [result], [WarcFile(f"warc/{folder}/named", 1, 1)], 1, "now")
        storage.publish(layout.manifest_file(base, round_), to_json(base, manifest))
        opened = opened._replace(last=manifest)
    return opened


def test_sweep_keeps_what_is_named_and_removes_the_rest(tmp_path):
    crawl = committed(str(tmp_path), 0, 1)
    kept = {
        "frontier/round=00000/start",  # from it the seeds are read
        "visited/round=00000/start",  # crawl.json names it
        "frontier/round=00001/named",  # the record of where a URL was found
        "frontier/round=00002/named",
        *(f"{kind}/round=00001/named" for kind in layout.KINDS if kind != layout.FRONTIER),
        *(f"{kind}/round=00000/named" for kind in (layout.PAGES, layout.LINKS, layout.WARC)),
        "rounds/round-00000.json",
        "rounds/round-00001.json",
    }
    orphans = {
        "frontier/round=00001/shard-00000-of-00001.rest-cafe.parquet",  # fetched since
        "frontier/round=00002/orphan",
        "frontier/round=00003/orphan",
        f"frontier/round=00001/x.123{layout.TEMPORARY}",
        *(f"{kind}/round=00000/merged" for kind in layout.RUNS),
        *(f"{kind}/round=00001/orphan" for kind in layout.KINDS if kind != layout.FRONTIER),
        *(f"{kind}/round=00002/orphan" for kind in (layout.PAGES, layout.LINKS, layout.WARC)),
    }
    touch(tmp_path, *(kept - {"rounds/round-00000.json", "rounds/round-00001.json"}), *orphans)
    sweep(crawl, read_manifests(str(tmp_path)))
    assert below(tmp_path) == kept
    sweep(crawl, read_manifests(str(tmp_path)))
    assert below(tmp_path) == kept


def test_sweep_keeps_what_is_held_until_it_is_judged(tmp_path):
    crawl = committed(str(tmp_path), 0, 1)
    waits, judged = (f"frontier/round=0000{n}/shard-00000-of-00001.held.parquet" for n in (1, 0))
    [state] = crawl.last.states
    held = state._replace(held=(f"{tmp_path}/{waits}",))
    touch(tmp_path, waits, judged)
    rounds = read_manifests(str(tmp_path))
    sweep(crawl._replace(last=crawl.last._replace(states=(held,))), rounds)
    assert {name for name in below(tmp_path) if ".held." in name} == {waits}
    sweep(crawl, read_manifests(str(tmp_path)))
    assert not [name for name in below(tmp_path) if ".held." in name]


def test_sweep_since_a_round_leaves_the_rounds_before_it_alone(tmp_path):
    crawl = committed(str(tmp_path), 0, 1, 2)
    kinds = (layout.PAGES, layout.LINKS, layout.WARC)
    before = {f"{kind}/round=00000/{name}" for kind in kinds for name in ("named", "orphan")}
    later = {f"{kind}/round=0000{n}/named" for kind in kinds for n in (1, 2)}
    orphans = {f"{kind}/round=0000{n}/orphan" for kind in kinds for n in (1, 2, 3)}
    touch(tmp_path, *before, *later, *orphans)
    sweep(crawl, read_manifests(str(tmp_path), since=1))
    assert {name for name in below(tmp_path) if name.startswith(kinds)} == before | later
    sweep(crawl, read_manifests(str(tmp_path)))
    assert not [name for name in below(tmp_path) if name.endswith("orphan")]


def test_sweep_of_a_crawl_that_has_just_begun_keeps_its_start(tmp_path):
    crawl = open_crawl(settings(tmp_path, *SEEDS), {})
    before = below(tmp_path)
    touch(tmp_path, "pages/round=00000/orphan", "visited/round=00000/orphan")
    sweep(crawl, read_manifests(str(tmp_path)))
    assert below(tmp_path) == before


def test_sweep_after_several_rounds_removes_the_orphans_of_each(tmp_path):
    crawl = committed(str(tmp_path), 0, 1, 2)
    orphans = {f"{kind}/round=00000/slot-00000-dead-00000" for kind in (layout.LINKS, layout.WARC)}
    touch(tmp_path, *orphans)
    sweep(crawl, read_manifests(str(tmp_path)))
    assert not below(tmp_path) & orphans
