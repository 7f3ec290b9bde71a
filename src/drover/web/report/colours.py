"""The look of the page: colours, and the style sheet that uses them.

Rule 1: text stands out from its ground by 4.5 to 1 and lines by 3 to 1 (WCAG 2.1, AA), in light and in dark.
Rule 2: colour is never alone: a node has a number that is written beside everything in its colour, and a dash pattern.
The hues of lines are near those of Okabe and Ito (2008), made darker on light ground. Their yellow, darkened, cannot be
told from vermilion by who lacks the long cones, so it is a brown there; a test works out what the colour-blind see.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

# name: light, dark
COLOURS: Final = {
    "paper": ("#ffffff", "#12171d"),
    "panel": ("#f4f6f8", "#1c232b"),
    "ink": ("#1b242e", "#e6e9ed"),
    "soft": ("#4d5b69", "#b4bec9"),
    "rule": ("#c9d1d9", "#3b4652"),
    "link": ("#0b5394", "#7cc0f5"),
    "alarm": ("#a3260f", "#ff9c85"),
    "line0": ("#0072b2", "#56b4e9"),
    "line1": ("#c24b00", "#ff8a3d"),
    "line2": ("#00795a", "#1fc79a"),
    "line3": ("#a3417f", "#ea9ccb"),
    "line4": ("#5c3d00", "#f0e442"),
    "line5": ("#3f4852", "#d5dbe1"),
}
LINES: Final = tuple(name for name in COLOURS if name.startswith("line"))
DASHES: Final = (
    "",
    "7 3",
    "2 3",
    "10 3 2 3",
    "4 2 1 2 1 2",
)  # 5 of them and 6 colours: 30 nodes before one is like another

RULES: Final = """
*{box-sizing:border-box}
html{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;color:var(--ink);
background:var(--paper);-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:70rem;padding:0 1rem 3rem;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25;margin:1.5rem 0 .25rem}
h2{font-size:1.25rem;line-height:1.3;margin:2.5rem 0 .5rem;padding-top:.5rem;border-top:1px solid var(--rule)}
p{margin:.5rem 0;max-width:50rem}
a{color:var(--link)}
.skip{position:absolute;left:-99rem}
.skip:focus{position:static}
.soft,caption,figcaption,summary{color:var(--soft)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;margin:.75rem 0;list-style:none}
nav a{display:inline-block;padding:.25rem 0}
.notice{border-left:4px solid var(--alarm);background:var(--panel);padding:.5rem 1rem;margin:1rem 0}
.notice h3{margin:0;font-size:1rem;color:var(--alarm)}
.lead li{margin:.3rem 0}
figure{margin:1rem 0}
figcaption{margin-top:.5rem;max-width:50rem}
.scroll{overflow-x:auto}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.chart{display:block;width:100%;min-width:38rem;height:auto}
.network{display:block;height:auto}
table{border-collapse:collapse;font-size:.9rem;margin:.5rem 0}
caption{text-align:left;padding:.25rem 0}
th,td{padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td,th{overflow-wrap:normal}
th[scope=row]:not(.words){white-space:nowrap}
td.words,th.words{min-width:14rem;max-width:30rem;overflow-wrap:break-word}
td ul{margin:0;padding-left:1.1rem}
details{margin:.5rem 0}
summary{cursor:pointer;padding:.25rem 0}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
svg .tick,svg .note,svg .kind{fill:var(--soft);font-size:11px}
svg .kind,svg .right{text-anchor:end}
svg .middle{text-anchor:middle}
svg .name{font-weight:600}
svg .node{font-weight:600;font-size:11.5px}
.network text{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
.grid{stroke:var(--rule);stroke-width:1}
.limit{stroke:var(--alarm);stroke-width:1.5;stroke-dasharray:8 4}
svg .limit-word{fill:var(--alarm)}
.mark{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 2}
.flag{fill:var(--panel);stroke:var(--soft)}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.band{stroke:none;fill-opacity:.18}
.faint{stroke:none;fill-opacity:.05}
.hover{fill:transparent}
.hover:hover{fill:var(--soft);fill-opacity:.15}
.wire{fill:none;stroke:var(--soft);stroke-width:1.2}
.cut{stroke-width:2.6;stroke-dasharray:none}
.dashed{stroke-dasharray:5 4}
.tip{fill:var(--soft)}
.outline{fill:var(--panel);stroke:var(--soft);stroke-width:1.2}
.edge{fill:none;stroke:var(--soft);stroke-width:1.2}
.bar{stroke:none}
@media print{
html{font-size:11pt}
nav,.skip,.hover{display:none}
.scroll{overflow:visible}
.chart,.network{min-width:0;max-width:100%}
figure,tr{break-inside:avoid}
h2{break-after:avoid}
}
"""


def _variables(side: int) -> str:
    return "".join(f"--{name}:{pair[side]};" for name, pair in COLOURS.items())


def _line_rules() -> str:
    return "".join(
        f".{name}{{stroke:var(--{name})}}.fill-{name},svg .fill-{name}{{fill:var(--{name})}}\n" for name in LINES
    )


STYLE: Final = (
    f":root{{color-scheme:light dark;{_variables(0)}}}\n"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(1)}}}}}\n"
    f"@media print{{:root{{color-scheme:light;{_variables(0)}}}}}{RULES}{_line_rules()}"
)


def policy() -> str:
    """Return the Content-Security-Policy of the page: its own style sheet, and nothing else at all."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def line_of(node: int) -> str:
    """Return the class of a node's line; never the only sign of the node."""
    return LINES[node % len(LINES)]


def dash_of(node: int) -> str | None:
    """Return the dash pattern of a node's line, None for a solid one."""
    return DASHES[node % len(DASHES)] or None
