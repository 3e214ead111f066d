"""`docs/reference/performance.svg`: Atrium's ratio to each peer as bars, for light and dark pages."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.performance.peers_section import CHALICE, FASTAPI, MEASURES, Measure, ratio
from local.paths import ROOT

CHART_FILE: Final = ROOT / "docs" / "reference" / "performance.svg"

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BAR = 720, 190, 60, 56, 52, 16
_STYLE: Final = """\
text { font: 13px system-ui, sans-serif; fill: #24292f } .small { font-size: 11px; fill: #57606a }
.usual { fill: #0969da } .popular { fill: #8250df }
.parity { stroke: #8c959f } .goal { stroke: #bc4c00; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .usual { fill: #4493f8 } .popular { fill: #ab7df8 }
.goal { stroke: #f0883e } }"""


def draw(results: Mapping[str, Any]) -> None:
    """Write the chart."""
    CHART_FILE.write_text(render_svg(results))


def render_svg(results: Mapping[str, Any]) -> str:
    """Return the chart."""
    height = _TOP + _ROW * len(MEASURES) + 12
    rows = "\n".join(_render_measure(results, measure, _TOP + _ROW * n) for n, measure in enumerate(MEASURES))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="title">
<title id="title">Ratio of Atrium to the Chalice and the FastAPI stack; less is better.</title>
<style>{_STYLE}</style>
<rect class="usual" x="{_LEFT}" y="10" width="12" height="12"/><text x="{_LEFT + 18}" y="21">ratio to Chalice</text>
<rect class="popular" x="{_LEFT + 160}" y="10" width="12" height="12"/>\
<text x="{_LEFT + 178}" y="21">ratio to FastAPI</text>
<line class="goal" x1="{_LEFT + 340}" x2="{_LEFT + 340}" y1="8" y2="24"/><text x="{_LEFT + 348}" y="21">goal</text>
<line class="parity" x1="{_x_of_ratio(1)}" x2="{_x_of_ratio(1)}" y1="44" y2="{height - 8}" stroke-dasharray="3 3"/>
<text class="small" x="{_x_of_ratio(1)}" y="40" text-anchor="middle">1.0</text>
{rows}
</svg>
"""


def _render_measure(results: Mapping[str, Any], measure: Measure, top: int) -> str:
    bars = [
        _render_bar(measure, peer, ratio(results, measure, peer), top + n * _BAR)
        for n, peer in enumerate((CHALICE, FASTAPI))
    ]
    return "\n".join((f'<text x="{_LEFT - 12}" y="{top + 21}" text-anchor="end">{measure.name}</text>', *bars))


def _render_bar(measure: Measure, peer: str, ratio_to_peer: float, top: int) -> str:
    end_x = _x_of_ratio(ratio_to_peer)
    bar = f'<rect class="{peer}" x="{_LEFT}" y="{top}" width="{end_x - _LEFT}" height="{_BAR - 3}" rx="2"/>'
    goals = [_x_of_ratio(measure.goals[peer][0])] if peer in measure.goals else []
    label_x = end_x if all(goal < end_x for goal in goals) else max(goals)
    label = f'<text class="small" x="{label_x + 6}" y="{top + 11}">{ratio_to_peer:.2f}</text>'
    return (
        bar + label + "".join(f'<line class="goal" x1="{x}" x2="{x}" y1="{top - 2}" y2="{top + 15}"/>' for x in goals)
    )


def _x_of_ratio(ratio_to_peer: float) -> int:
    return round(_LEFT + min(ratio_to_peer, 1.2) * (_WIDTH - _LEFT - _RIGHT) / 1.2)
