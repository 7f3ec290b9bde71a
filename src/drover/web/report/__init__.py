"""`drover report`: one HTML page about a run, made from its checkpoint.

```text
checkpoint --read.py--> RunFiles --model.py--> ReportModel --page.py and templates/--> HTML
```

Only `read.py` opens files; the rest computes values from values, and templates make them text. The page needs no
network, no script and no other file. To add a section, write a template in `templates/report/` and name it in
`page.SECTIONS`.
"""

from __future__ import annotations

from drover.web.report.model import ReportModel, build_report
from drover.web.report.page import render_page
from drover.web.report.read import RunFiles, read_run
from drover.web.report.summary import summary_data, summary_sentences

__all__ = ["ReportModel", "RunFiles", "build_report", "read_run", "render_page", "summary_data", "summary_sentences"]
