"""The section about a tenant's flood: what `noisy_neighbor.py` measured."""

from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table

title: Final = "One tenant's flood, another one's latency"

_METHOD: Final = """\
`python -m benchmarks.performance.noisy_neighbor` runs the service as {processes} processes with
`REQUESTS_PER_MINUTE={setting}`, and as {processes} with 0, which count nothing, on one table. A calm tenant has
{keys} API keys, each of which reads a record every {pace:g} s. Beside it another tenant's key reads one over
{connections} connections, {offered:.0f} times a second if it is answered as fast. The turns follow one another,
{rounds} times. Latency is from when a request was due, in milliseconds:
"""

_INTERPRETATION: Final = """\
The flood got {off_a_second:,} answers a second where nobody counted. Where it was counted it got {on_a_second:,}, all
but {served:,} of them 429: its {setting} of a minute passed within {passing_seconds:.1f} s, and for the rest of the
minute it was refused. What is refused asks nothing of AWS, and takes a process for no longer than a credential needs.

**What it shows, and what not.** A minute's requests pass as fast as they come: in those seconds, {share:.0f} of a
hundred, the calm tenant is beside a flood all the same. Two processes stand here for the API's 300 runs on AWS, and an
emulator of one process for a table that takes thousands of requests a second; so there {setting} requests at once take
less from others, and a flood has to be larger to be felt. Both tenants, service and emulator share a machine
({machine}), on which a refused flood still costs the time of its own client. Measured on {day}.
"""


def written(results: Mapping[str, Any]) -> str:
    """Return the section."""
    calm, flood = results["calm"], results["flood"]
    passing = results["setting"] / flood["on"]["servedASecond"]
    known = {
        **results,
        **results["of"],
        "offered": results["connections"] / results["floodPace"],
        "off_a_second": flood["off"]["aSecond"],
        "on_a_second": flood["on"]["aSecond"],
        "served": flood["on"]["served"],
        "passing_seconds": passing,
        "share": passing / 60 * 100,
    }
    turns = {
        "alone": "alone",
        "off": "beside the flood, not counted",
        "refused": "beside the flood, counted: while it is refused",
        "passing": f"beside the flood, counted: while its {results['setting']} pass",
    }
    rows = [[words, *_row(calm[name], calm["alone"])] for name, words in turns.items()]
    heads = ("the calm tenant", "requests", "p50", "p99", "p50 to alone", "p99 to alone")
    return "\n".join((_METHOD.format_map(known), f"{table(heads, rows)}\n", _INTERPRETATION.format_map(known)))


def _row(percentiles: Mapping[str, float], alone: Mapping[str, float]) -> list[str]:
    ratios = [f"{percentiles[name] / alone[name]:.1f}" for name in ("p50", "p99")]
    return [f"{percentiles['requests']:,}", *(f"{percentiles[name]:,.1f}" for name in ("p50", "p99")), *ratios]
