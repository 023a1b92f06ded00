"""`make bench`: runs the benchmarks, prints the results, and writes `.cache/bench/report.json`.

Arguments select benchmarks: `python -m tests.bench emulator function cold-start`. Without arguments, all run.

Report: {"benchmarks": [the fields of pairs.Comparison], "compositions": [of composition.Row], "rotations":
[of rotation.Turn], "cold_starts": [of cold_start.ColdStart], "crowds": [of crowd.Crowd], "sweeps":
[of sweep.Sweep], "lives": [of lives.Lives], "onboardings": [of lives.Onboarding], "soaks": [of
soak.Soak], "configs": [of configs.Held], "providers": [of whole_provider.WholeProvider], "throttled": [of
throttling.Throttled], "throttled_fleets": [of throttling.ThrottledFleet], "scales": [of scale.Scale],
"records": [of records.Recorded], "tables": [of
tables.Followed]}.

`million` measures nothing: it prints the tables of a million tenants from the figures in million.py.
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
    million,
    records,
    rotation,
    scale,
    soak,
    sweep,
    tables,
    throttling,
    whole_provider,
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
PROVIDER, THROTTLING, SCALE, MILLION = "provider", "throttling", "scale", "million"
RECORDS, TABLES = "records", "tables"
OTHERS = (COMPOSITION, ROTATION, COLD_START, CROWD, SWEEP, LIVES, SOAK, CONFIGS, RECORDS, TABLES)
ALL = (*COMPARISONS, *OTHERS, PROVIDER, THROTTLING, SCALE, MILLION)


def main(names: Sequence[str]) -> None:
    unknown = set(names) - {*ALL}
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(sorted(unknown))}; benchmarks: {', '.join(ALL)}")
    chosen = set(names) or {*ALL}
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
    read = tables.followed() if TABLES in chosen else []
    ran = whole_provider.whole_providers() if PROVIDER in chosen else []
    throttled = throttling.throttled() if THROTTLING in chosen else []
    throttled_fleets = throttling.fleets() if THROTTLING in chosen else []
    scaled = scale.scales() if SCALE in chosen else []
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
        "tables": [asdict(each) for each in read],
        "providers": [asdict(each) for each in ran],
        "throttled": [asdict(each) for each in throttled],
        "throttled_fleets": [asdict(each) for each in throttled_fleets],
        "scales": [asdict(each) for each in scaled],
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
    show_tables(read)
    show_providers(ran)
    show_throttled(throttled, throttled_fleets)
    show_scales(scaled)
    if MILLION in chosen:
        print(million.table())
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


def show_tables(found: Iterable[tables.Followed]) -> None:
    for each in found:
        print(f"a table of {each.rows} rows in PostgreSQL, followed by a TenantSource")
        for sync in each.syncs:
            print(
                f"  {sync.name}: {sync.seconds} s (CPU {sync.cpu_seconds} s), {sync.writes} writes, peak"
                f" {sync.peak_mib} MiB"
            )


def show_providers(found: Iterable[whole_provider.WholeProvider]) -> None:
    for each in found:
        print(f"the provider's process with {each.tenants} tenants; {each.empty_mib:.0f} MiB without tenants")
        for stage in each.stages:
            print(
                f"  {stage.name}: {stage.memory_mib:.0f} MiB, CPU {stage.cpu_seconds:.1f} s in"
                f" {stage.seconds:.0f} s, {stage.cpu_per_hour:.0f} s in an hour of AWS's clock"
            )
            print(f"    reads {stage.reads}, writes {stage.writes}, calls to AWS {stage.aws}")
        print(
            f"  standby: {each.standby_empty_mib:.0f} MiB without tenants, {each.standby_mib:.0f} with them"
        )
        ready, cpu = each.standby_ready_seconds, each.standby_cpu_seconds
        print(f"  it has read all after {ready:.1f} s, CPU {cpu:.1f} s")
        print(
            f"  bytes for each tenant: object {each.object_bytes:.0f}, usage {each.usage_bytes:.0f},"
            f" records {each.record_bytes:.0f}, in etcd {each.etcd_bytes:.0f}"
        )


def show_throttled(
    found: Iterable[throttling.Throttled], fleets: Iterable[throttling.ThrottledFleet]
) -> None:
    for each in found:
        part = f"{each.used:.0%} used, {each.refused:.1%} refused"
        print(f"{each.rate:g} a second, {each.aws}, {each.name}: {part}")
        print(f"  calls of a namespace: {each.least_served} to {each.most_served}")
    for fleet in fleets:
        print(
            f"{fleet.rate:g} a second, the whole provider: {fleet.used:.0%} used, {fleet.refused:.1%} refused"
        )


def show_scales(found: Iterable[scale.Scale]) -> None:
    for each in found:
        print(
            f"{each.tenants} tenants in {each.accounts} accounts: at rest {each.seconds:.0f} s after a start"
        )
        print(f"  each was reconciled after {each.seen_seconds:.0f} s; {each.calls}")
        print(f"  {each.changed} had changed in Kubernetes, and as many in AWS")
        print(f"  at rest: {each.rest}; writes to Kubernetes: {each.rest_writes}")
        print(f"  writes to what had not changed: {each.unchanged_writes}; CPU {each.cpu_seconds:.0f} s")


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
