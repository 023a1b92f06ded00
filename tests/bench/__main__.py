"""`make bench`: runs the benchmarks, prints the results, and writes `.cache/bench/report.json`.

Arguments select benchmarks: `python -m tests.bench emulator function cold-start`. Without arguments, all run.

Report: {"benchmarks": [the fields of pairs.Comparison], "compositions": [of composition.Row], "rotations":
[of rotation.Turn], "cold_starts": [of cold_start.ColdStart], "crowds": [of crowd.Crowd], "sweeps":
[of sweep.Sweep], "lives": [of lives.Lives], "onboardings": [of lives.Onboarding], "soaks": [of
soak.Soak], "configs": [of configs.Held], "records": [of
records.Recorded]}.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

from tests.bench import (
    composition,
    configs,
    crowd,
    emulator,
    function,
    lives,
    records,
    rotation,
    soak,
    sweep,
)
from tests.bench.cold_start import ColdStart, cold_starts
from tests.bench.environments import cache
from tests.bench.pairs import Comparison

COMPARISONS: dict[str, Callable[[], list[Comparison]]] = {
    "emulator": emulator.comparisons,
    "function": function.comparisons,
}
COMPOSITION, ROTATION, COLD_START, CROWD = "composition", "rotation", "cold-start", "crowd"
SWEEP, LIVES, SOAK, CONFIGS = "sweep", "lives", "soak", "configs"
RECORDS = "records"


def main(names: Sequence[str]) -> None:
    all_ = (*COMPARISONS, COMPOSITION, ROTATION, COLD_START, CROWD, SWEEP, LIVES, SOAK, CONFIGS, RECORDS)
    unknown = set(names) - {*all_}
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(sorted(unknown))}; benchmarks: {', '.join(all_)}")
    chosen = set(names) or {*all_}
    compared = [c for name, measure in COMPARISONS.items() if name in chosen for c in measure()]
    composed = composition.rows() if COMPOSITION in chosen else []
    rotated = rotation.turns() if ROTATION in chosen else []
    started = cold_starts() if COLD_START in chosen else []
    crowded = crowd.crowds() if CROWD in chosen else []
    swept = sweep.sweeps() if SWEEP in chosen else []
    lived = lives.lives() if LIVES in chosen else []
    onboarded = lives.onboardings() if LIVES in chosen else []
    soaked = soak.soaks() if SOAK in chosen else []
    opened = configs.held() if CONFIGS in chosen else []
    made = records.recorded() if RECORDS in chosen else []
    report = cache() / "bench" / "report.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    figures = {
        "benchmarks": [asdict(c) for c in compared],
        "compositions": [asdict(row) for row in composed],
        "rotations": [asdict(turn) for turn in rotated],
        "cold_starts": [asdict(s) for s in started],
        "crowds": [asdict(c) for c in crowded],
        "sweeps": [asdict(s) for s in swept],
        "lives": [asdict(each) for each in lived],
        "onboardings": [asdict(each) for each in onboarded],
        "soaks": [asdict(each) for each in soaked],
        "configs": [asdict(h) for h in opened],
        "records": [asdict(each) for each in made],
    }
    report.write_text(json.dumps(figures, indent=2) + "\n")
    show_comparisons(compared)
    show_compositions(composed)
    show_rotations(rotated)
    show_cold_starts(started)
    show_sweeps(swept)
    show_lives(lived, onboarded)
    show_soaks(soaked)
    show_configs(opened)
    show_records(made)
    print(f"report: {report}")


WHERE_THE_TIME_GOES = (
    "in our call with one tenant and news, gRPC and TLS take 40% of the time (measured with an empty "
    "handler), our own code takes 25% if it runs again at once, and most of the rest is because it does not"
)


def show_compositions(found: Iterable[composition.Row]) -> None:
    for r in found:
        ratio = "" if r.ours_times_as_fast is None else f"; ours is {r.ours_times_as_fast} times as fast"
        print(f"{r.name}: {r.resources} resources, {r.in_flight} in flight, {r.function}")
        print(f"  p50 {r.p50_ms} ms, p99 {r.p99_ms} ms, {r.calls_per_second}/s, {r.memory_mb} MB{ratio}")
        if r.ours_times_as_fast is not None and r.ours_times_as_fast < 1:
            print(f"  slower than the rival: {WHERE_THE_TIME_GOES}")


def show_rotations(found: Iterable[rotation.Turn]) -> None:
    for t in found:
        news = f"news in one of {t.news} calls"
        print(f"{t.name}: {t.claims} claims with {t.tenants} tenants each in turn, {news}, {t.function}")
        ratio = (
            f"; ours takes {t.ours_to_this} of that ({t.ratio_min} to {t.ratio_max})"
            if t.ours_to_this
            else ""
        )
        print(f"  CPU {t.cpu_ms} ms per call{ratio}")
        print(f"  memory {t.memory_mb_first} MB after the first round, {t.memory_mb} MB at the end")


def show_cold_starts(found: Iterable[ColdStart]) -> None:
    for s in found:
        ratio = "" if s.ratio_to_go is None else f", {s.ratio_to_go} times as fast as Go"
        print(f"{s.name}: {s.resources} resources, {s.provider}")
        ready = "all" if s.ready == s.resources else f"timed out: only {s.ready}"
        print(f"  {ready} Ready after {s.seconds} s ({s.reconciles_per_second}/s{ratio})")
        print(
            f"  CPU {s.cpu_seconds} s, memory {s.memory_mb} MB, {s.writes_per_resource} writes per resource"
        )


def show_sweeps(found: Iterable[sweep.Sweep]) -> None:
    for s in found:
        print(f"{s.tenants} tenants at rest, with {s.name}")
        print(
            f"  {s.reads_per_tenant_and_hour:.2f} reads per tenant and hour; all calls of the hour: {s.hour}"
        )
        print(f"  a restart: {s.restart}")
        print(f"  {s.drifted} changed in AWS: repaired after {s.drift_seconds:.0f} s, {s.drift}")


def show_lives(lived: Iterable[lives.Lives], onboarded: Iterable[lives.Onboarding]) -> None:
    for each in lived:
        print(f"the life of {each.tenants} tenants, with {each.name}: {each.calls} calls")
        print(f"  {each.by_operation}")
        print("  " + ", ".join(f"{stage} {seconds:.0f} s" for stage, seconds in each.seconds.items()))
    for new in onboarded:
        print(f"{new.tenants} new tenants, with {new.name}: Ready after {new.seconds:.0f} s")
        print(f"  {new.calls_per_tenant:.2f} calls for each (at least {new.least_calls_per_tenant})")
        print(f"  {new.by_operation}")


def show_soaks(found: Iterable[soak.Soak]) -> None:
    for each in found:
        print(f"{each.days} days: {sum(each.events.values())} events, {each.renewed} renewed certificates")
        print(f"  {each.events}")
        print(f"  {each.calls}")
        print(f"  missed: {each.missed or 'nothing'}")
        print(f"  objects kept: {each.objects_by_day}, tenants: {each.tenants_by_day}")


def show_configs(found: Iterable[configs.Held]) -> None:
    for h in found:
        print(f"{h.configs} ProviderConfigs of one account, {h.name}, a tenant for each")
        print(f"  {h.rest_mib:.0f} MiB at rest, {h.per_config_kib:.0f} KiB per config and tenant")
        print(f"  {h.connections} connections; writes to Kubernetes at rest: {h.writes}")
        print(f"  until Ready: CPU {h.cpu_seconds:.0f} s, {h.opening}")
        print(f"  ten minutes at rest: CPU {h.rest_cpu_seconds:.1f} s, {h.rest}")


def show_records(found: Iterable[records.Recorded]) -> None:
    for r in found:
        print(f"{r.name}: {r.domains} domains in {r.zones} zones")
        print(f"  accepted after {r.written_seconds} s, of which Route 53's limit takes {r.least_seconds} s")
        print(f"  on all name servers after {r.seconds} s")
        print(f"  requests {r.requests}, of which {r.throttled} were throttled")


def show_comparisons(found: Iterable[Comparison]) -> None:
    for c in found:
        print(f"{c.name}: {c.operation}")
        print(f"  ours {c.ours_per_second}/s, {c.rival} {c.rival_per_second}/s")
        print(
            f"  ratio {c.ratio_median} ({c.ratio_min} to {c.ratio_max}"
            f" in {c.pairs} pairs of {c.operations_per_run})"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
