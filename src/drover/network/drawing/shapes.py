"""The look of a drawing: outlines, colours and the legend."""

from __future__ import annotations

from typing import Final

from drover.network.drawing.ordering import Box, Pixels

PADDING: Final[Pixels] = 12

# shape, meaning, width in the legend
LEGEND: Final = (
    ("source", "source", 110.0),
    ("operator", "operator", 124.0),
    ("state", "operator with state", 204.0),
    ("table", "table", 104.0),
    ("output", "output", 104.0),
)

STYLE: Final = """<style>
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
.heading { font-size: 16px; font-weight: bold; }
.name { font-weight: bold; }
.kind, .note { fill: #52606d; }
.kind { font-size: 11px; text-anchor: end; }
.note { font-size: 11.5px; }
.paper { fill: #ffffff; }
.wire { fill: none; stroke: #7b8794; stroke-width: 1.4; }
.dashed { stroke-dasharray: 5 4; }
.tip { fill: #7b8794; }
.outline { fill: #f5f7fa; stroke: #616e7c; stroke-width: 1.3; }
.edge { fill: none; stroke: #616e7c; stroke-width: 1.3; }
.source .outline { fill: #e6f1fb; stroke: #2a6fb0; }
.output .outline { fill: #e5f5ea; stroke: #2c7a4b; }
.table .outline, .table .edge { fill: #fcf3df; stroke: #a8690c; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; }
  .kind, .note { fill: #b3bcc6; }
  .paper { fill: #161b22; }
  .outline { fill: #222b36; stroke: #9aa5b1; }
  .edge { stroke: #9aa5b1; }
  .source .outline { fill: #16304a; stroke: #6fb1ee; }
  .output .outline { fill: #14351f; stroke: #6ccb8f; }
  .table .outline, .table .edge { fill: #3a2c10; stroke: #dba94a; }
}
</style>
<defs><marker id="drover-tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path class="tip" d="M0 0.8L8 4L0 7.2z"/></marker></defs>"""


def outline(shape: str, box: Box) -> str:
    """Return the outline of a shape: a stadium, a flag, a cylinder or a rectangle, with a double edge for state."""
    w = box.width
    h = box.height
    if shape == "source":
        return f'<rect class="outline" width="{w}" height="{h}" rx="{min(h / 2, 18)}"/>'
    if shape == "output":
        tip = min(12, h / 2)
        return f'<path class="outline" d="M0 0H{w - tip}L{w} {h / 2}L{w - tip} {h}H0z"/>'
    if shape == "table":
        cap = 4
        side = f"M0 {cap}A{w / 2} {cap} 0 0 1 {w} {cap}V{h - cap}A{w / 2} {cap} 0 0 1 0 {h - cap}z"
        return f'<path class="outline" d="{side}"/><path class="edge" d="M0 {cap}A{w / 2} {cap} 0 0 0 {w} {cap}"/>'
    rectangle = f'<rect class="outline" width="{w}" height="{h}" rx="3"/>'
    return rectangle + (f'<path class="edge" d="M5 0V{h}"/>' if shape == "state" else "")
