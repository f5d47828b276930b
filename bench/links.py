"""Links checked: CPU for each, of Spaniel's door and checker beside others' and raw aiohttp, on one host and on 200.

All of them resolve names by the system, ask with HEAD, 64 at a time, without throttles, on one core; the hosts and
their name server are on another. What a start costs is taken out: it is the difference between many links and few.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.harness import child_cpu, title, wanted
from bench.links_world import DOMAIN, PORT, UNSHARE, World, enter, possible, urls

FEW, MANY = 256, 5_256
ROUNDS = 3
HOSTS = (1, 200)
JOBS = "64"
NODE = Path(sys.prefix) / "link_checkers" / "node_modules" / ".bin"
Command = Callable[[Path, int, int], Sequence[str]]  # of a file of URLs, their number, and the number of their hosts


def index(count: int, hosts: int) -> str:
    return f"http://h0.{DOMAIN}:{PORT}/index-{count}-{hosts}.html"


def client(name: str) -> Command:
    return lambda file, _count, _hosts: [sys.executable, "-m", "bench.links_clients", name, str(file)]


LYCHEE = "--method head --no-progress --format json --max-retries 0 --host-request-interval 0ms".split()
LYCHEE += ["--max-concurrency", JOBS, "--host-concurrency", JOBS]
BLC = ["--filter-level", "0", "--requests", JOBS, "--host-requests", JOBS]
CHECK = "--kind text --format jsonl --no-history --include-private --quiet --delay 0".split()
CHECK += ["--jobs", JOBS, "--per-host", JOBS]
SETTINGS = f"""[tools.webfetch.security]
block_loopback = false
allow_insecure_overrides = true
allowed_ports = [{PORT}]
"""
CONTENDERS: dict[str, Command] = {
    "spaniel": lambda file, _count, _hosts: [sys.executable, "-m", "spaniel", "check", str(file), *CHECK],
    "spaniel's door": client("door"),  # what the checker goes by
    "aiohttp": client("aiohttp"),
    "lychee": lambda file, _count, _hosts: [_beside("lychee"), *LYCHEE, str(file)],
    "linkinator": lambda _file, n, hosts: [str(NODE / "linkinator"), "--concurrency", JOBS, index(n, hosts)],
    "broken-link-checker": lambda _file, n, hosts: [str(NODE / "blc"), *BLC, index(n, hosts)],
}


def run() -> None:
    if not possible():
        print("links: names need a network namespace (unshare), which is not to be had here; nothing was measured")
        return
    subprocess.run([*UNSHARE, sys.executable, "-m", "bench.links"], check=True)


def _beside(program: str) -> str:
    return str(Path(sys.executable).parent / program)


def _there(name: str) -> bool:
    program = CONTENDERS[name](Path(), 0, 1)[0]
    found = shutil.which(program) is not None
    if not found:
        print(f"{name} is not installed here, and left out")
    return found


def measure() -> None:
    enter()
    contenders = [name for name in CONTENDERS if _there(name)]
    with World() as world, tempfile.TemporaryDirectory() as folder:
        _share_out(world.pid)
        settings = Path(folder) / "spaniel.toml"
        settings.write_text(SETTINGS, encoding="utf-8")
        CHECK.extend(("--config", str(settings)))
        for hosts in HOSTS:
            files = {count: Path(folder) / f"{count}-{hosts}.txt" for count in (FEW, MANY)}
            for count, file in files.items():
                file.write_text("\n".join(urls(count, hosts)) + "\n", encoding="ascii")
            _report(hosts, *_rounds(world, contenders, files, hosts))


def _share_out(world: int) -> None:
    """One core for whoever is measured, the others for the world."""
    mine, *others = sorted(os.sched_getaffinity(0))
    if others:
        os.sched_setaffinity(0, {mine})
        os.sched_setaffinity(world, set(others))


def _rounds(
    world: World, contenders: list[str], files: dict[int, Path], hosts: int
) -> tuple[dict[str, float], dict[str, float]]:
    """CPU seconds for one more link, and of the whole process with many."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    whole: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(ROUNDS):
        turn = number % len(contenders)
        for name in contenders[turn:] + contenders[:turn]:
            few, many = (_cpu(world, CONTENDERS[name](files[count], count, hosts), count) for count in (FEW, MANY))
            if few and many:
                taken[name].append((many - few) / (MANY - FEW))
                whole[name].append(many)
    return _medians(taken), _medians(whole)


def _medians(taken: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(seconds) for name, seconds in taken.items() if seconds}


def _cpu(world: World, command: Sequence[str], count: int) -> float:
    """Of a whole process and its children; 0 where it did not ask for all links."""
    world.asked()
    start = child_cpu()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    used = child_cpu() - start
    asked = world.asked()
    if done.returncode != 0 or asked < count:  # on a busy machine some give good links up
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        print(f"  {Path(command[0]).name}: {asked} of {count} links asked for; {''.join(said)[:200]}")
    return used if asked >= count else 0


def _report(hosts: int, found: dict[str, float], whole: dict[str, float]) -> None:
    title(f"{MANY - FEW:,} links on {hosts} host{'s' if hosts > 1 else ''}, by name")
    for name, seconds in found.items():
        print(f"  {name:20} {seconds * 1e6:7,.0f} µs of CPU a link   {1 / seconds:8,.0f} links a second on one core")
    ours = found["spaniel"]
    wanted("CPU a link, spaniel / raw aiohttp", ours / found["aiohttp"], most=1)
    if "lychee" in found:
        wanted("CPU a link, spaniel / lychee", ours / found["lychee"], most=1.5)
        wanted("CPU of the whole process, spaniel / lychee", whole["spaniel"] / whole["lychee"], most=2)
    if "broken-link-checker" in found:
        wanted("links a second, spaniel / broken-link-checker", found["broken-link-checker"] / ours, least=4)


if __name__ == "__main__":
    measure()
