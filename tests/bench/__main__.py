"""`make bench`: every comparison, printed for people and written to `.cache/bench/report.json`.

Report: {"benchmarks": [{"name", "rival", "operation", "ours_per_second", "rival_per_second",
"ratio_median", "ratio_min", "ratio_max", "pairs", "operations_per_run"}]}.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path

from tests.bench import emulator, function
from tests.bench.pairs import Comparison


def main() -> None:
    found: list[Comparison] = [*emulator.comparisons(), *function.comparisons()]
    report = Path(os.environ.get("EDGETENANTS_CACHE", ".cache")) / "bench" / "report.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps({"benchmarks": [asdict(c) for c in found]}, indent=2) + "\n")
    for c in found:
        print(f"{c.name}: {c.operation}")
        print(f"  ours {c.ours_per_second}/s, {c.rival} {c.rival_per_second}/s")
        print(
            f"  ratio {c.ratio_median} (from {c.ratio_min} to {c.ratio_max}"
            f" in {c.pairs} pairs of {c.operations_per_run})"
        )
    print(f"report: {report}")


if __name__ == "__main__":
    main()
