"""Where the time of a run went: a table for people, and build/times.json."""

import collections
import json

from runner.plugin import CLUSTER_FOLDERS

SLOWEST = 10


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def percent(share):
    return "-" if share is None else f"{100 * share:.0f} %"


def seconds_by_file(results):
    total = collections.Counter()
    for result in results:
        total[result.name.split("::")[0]] += result.seconds
    return total


def summary(steps, results, start, end, cores):
    """What build/times.json holds. `steps`: dicts of name, lane, start and end (seconds since 1970), wall, cpu."""
    on_clusters = [result for result in results if result.name.startswith(CLUSTER_FOLDERS) and result.start]
    busy = {"run": cores.busy(start, end)}
    if on_clusters:
        first, last = min(r.start for r in on_clusters), max(r.stop for r in on_clusters)
        busy["cluster tests"] = cores.busy(first, last)
    return {
        "wall": round(end - start, 1),
        "steps": steps,
        "busy": busy,
        "files": dict(seconds_by_file(results).most_common()),
        "tests": {result.name: round(result.seconds, 2) for result in sorted(results, key=lambda r: -r.seconds)},
    }


def table(about):
    """The table as lines."""
    lines = [f"{'step':16} {'wall':>7} {'CPU':>7}  busy cores"]
    for step in about["steps"]:
        wall, cpu = clock(step["wall"]), clock(step["cpu"])
        lines.append(f"{step['name']:16} {wall:>7} {cpu:>7}  {percent(step['busy']):>5}")
    lines.append(f"{'the run':16} {clock(about['wall']):>7} {'':>7}  {percent(about['busy']['run']):>5}")
    if "cluster tests" in about["busy"]:
        lines.append(f"cores busy during the tests on clusters: {percent(about['busy']['cluster tests'])}")
    slowest = list(about["files"].items())[:SLOWEST]
    if slowest:
        lines.append("slowest files (seconds of tests):")
        lines += [f"  {seconds:6.0f}  {name}" for name, seconds in slowest]
    return lines


def write(path, about):
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
