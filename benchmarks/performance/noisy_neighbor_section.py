"""The section about the effect of one tenant's flood on another tenant: the results of `noisy_neighbor.py`."""

from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table

title: Final = "Noisy neighbor"

_METHOD: Final = """\
`python -m benchmarks.performance.noisy_neighbor` runs the service as {processes} processes with a rate limit
(`REQUESTS_PER_MINUTE={setting}`) and as {processes} processes without one (0). All use the same table. The *baseline
tenant* has {keys} API keys. Each of them reads a record every {pace:g} s. A key of the *noisy tenant* reads a record
over {connections} connections, up to {offered:.0f} times a second. The scenarios run one after the other,
{rounds} times. Latency is measured from the time at which a request was due, in milliseconds:
"""

_INTERPRETATION: Final = """\
Without the limit, the noisy tenant received {off_a_second:,} responses a second. With the limit it received
{on_a_second:,}, all but {served:,} of them 429. Its {setting} requests of a minute were admitted within
{passing_seconds:.1f} s, and the others of that minute were rejected. A rejected request makes no AWS call, and
occupies a process only for the time that the verification of its credential takes.

**How to interpret the results.** The limit admits the requests of a minute as fast as they arrive. During these
seconds, {share:.0f}% of the time, the baseline tenant is not protected. Here two processes take the place of the API's
300 runs on AWS, and an emulator with one process takes the place of a table that serves thousands of requests a
second. On AWS {setting} simultaneous requests therefore take less capacity from others, and only a larger flood is
noticeable. Both tenants, the service and the emulator share a machine ({machine}), so the noisy tenant's client uses
processor time even when its requests are rejected. Measured on {day}.
"""


def render(results: Mapping[str, Any]) -> str:
    """Return the section."""
    baseline, noisy = results["calm"], results["flood"]
    admission_seconds = results["setting"] / noisy["on"]["servedASecond"]
    values = {
        **results,
        **results["of"],
        "offered": results["connections"] / results["floodPace"],
        "off_a_second": noisy["off"]["aSecond"],
        "on_a_second": noisy["on"]["aSecond"],
        "served": noisy["on"]["served"],
        "passing_seconds": admission_seconds,
        "share": admission_seconds / 60 * 100,
    }
    scenarios = {
        "alone": "alone",
        "off": "with the noisy tenant, no rate limit",
        "refused": "with the noisy tenant, rate limit: while it is rejected",
        "passing": f"with the noisy tenant, rate limit: while its {results['setting']} are admitted",
    }
    rows = [[description, *_row(baseline[name], baseline["alone"])] for name, description in scenarios.items()]
    headings = ("baseline tenant", "requests", "p50", "p99", "p50, ratio to alone", "p99, ratio to alone")
    return "\n".join((_METHOD.format_map(values), f"{table(headings, rows)}\n", _INTERPRETATION.format_map(values)))


def _row(percentiles: Mapping[str, float], alone: Mapping[str, float]) -> list[str]:
    ratios = [f"{percentiles[name] / alone[name]:.1f}" for name in ("p50", "p99")]
    return [f"{percentiles['requests']:,}", *(f"{percentiles[name]:,.1f}" for name in ("p50", "p99")), *ratios]
