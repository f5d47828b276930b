"""The hosts that take the longest to answer are named."""

from __future__ import annotations

from pathlib import Path

from spaniel.app import batch_wiring, batching
from spaniel.batch.progress import Progress
from spaniel.batch.supervisor import Pace
from spaniel.cli.batch import display_lines
from spaniel.hosts import answer_times
from spaniel.hosts.answer_times import AnswerTimes
from spaniel.pipeline.profile import load
from tests.batch.harness import FAST, batch, serving


def test_slowest_hosts_come_first_and_need_several_answers() -> None:
    times = AnswerTimes()
    for _ in range(3):
        times.took("quick.example", 0.1)
        times.took("slow.example", 2.0)
    times.took("once.example", 9.0)
    assert [(slow.host, round(slow.seconds, 3), slow.answers) for slow in times.slowest(5)] == [
        ("slow.example", 2.0, 3),
        ("quick.example", 0.1, 3),
    ]


def test_what_is_remembered_is_bounded_and_the_slow_are_kept() -> None:
    times = AnswerTimes()
    for number in range(5 * answer_times.MOST_KNOWN):
        times.took(f"{number}.example", 0.001)
        if not number % 100:
            times.took("slow.example", 5.0)
    assert times.slowest(1)[0].host == "slow.example"
    assert len(times.slowest(10**6)) <= answer_times.MOST_KNOWN


def test_a_run_names_its_slowest_host_to_programs_and_to_people(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [served.url("www.a.example", f"/ok{n}") for n in range(4)]
        urls += [served.url("www.b.example", f"/slow{n}") for n in range(3)]
        progress, _ = batch(served, tmp_path, urls, Pace(1, 4, FAST))
    slowest = progress.as_dict()["slowest_hosts"]
    assert isinstance(slowest, list)
    assert (slowest[0]["host"], slowest[0]["answers"]) == ("www.b.example", 4)  # with robots.txt
    assert slowest[0]["mean_seconds"] > 0.7
    assert any("".join(parts).startswith("slowest: www.b.example") for parts in display_lines(progress))


def test_no_host_is_slow_before_the_first_answer() -> None:
    assert Progress(1, {}, lambda: 0.0).as_dict()["slowest_hosts"] == []


def test_a_batch_fetches_as_for_ingestion_and_leaves_the_queue_alone() -> None:
    names = [
        fallback.name for fallback in batching.for_batches(load(batch_wiring.PROFILE), 600, cached=False).fallbacks
    ]
    assert "retry" in names
    assert "queue" not in names
