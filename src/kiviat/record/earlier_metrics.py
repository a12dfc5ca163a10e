"""Names of metrics in records of `kiviat.record/1` and `/2`; their new names end in `_min` or `_max`."""

from __future__ import annotations

from collections.abc import Mapping

from kiviat.record.schema import RENAMED_RECORD_SCHEMAS

_OF_PHASES = {"slowest_phase": "bandwidth_min", "quickest_phase": "bandwidth_max"}

# Earlier and current name, by benchmark.
RENAMED: Mapping[str, Mapping[str, str]] = {
    "all_pairs": {
        "latency_best": "latency_min",
        "latency_worst": "latency_max",
        "bandwidth_worst": "bandwidth_min",
        "bandwidth_best": "bandwidth_max",
    },
    "bisection": {"worst_half": "random_bandwidth_min", "best_half": "random_bandwidth_max"},
    "dense_cumulative": _OF_PHASES,
    "dense_pairwise": _OF_PHASES,
    "dense_random": _OF_PHASES,
    "dense_total_exchange": _OF_PHASES,
    "dgemm": {"rate_least": "rate_min"},
    "noise": {"noise_worst": "noise_max", "detour_worst": "detour_max"},
    "sick_links": {"worst_factor": "slowdown_max"},
    "streaming": {"slowest_pair": "pair_bandwidth_min", "quickest_pair": "pair_bandwidth_max"},
}


def current_name(schema: str, benchmark: str, metric: str) -> str:
    """Return the current name of `metric` in a record of `schema`."""
    return RENAMED.get(benchmark, {}).get(metric, metric) if schema in RENAMED_RECORD_SCHEMAS else metric


def current_name_sql(metric: str) -> str:
    """Return an SQL expression for the current name, of the column `metric` next to the record's columns."""
    cases = " ".join(
        f"WHEN '{benchmark}/{earlier}' THEN '{now}'"
        for benchmark, names in RENAMED.items()
        for earlier, now in names.items()
    )
    older = ", ".join(f"'{name}'" for name in RENAMED_RECORD_SCHEMAS)
    renamed = f"CASE concat(benchmark, '/', {metric}) {cases} ELSE {metric} END"
    return f'CASE WHEN "schema" IN ({older}) THEN {renamed} ELSE {metric} END'
