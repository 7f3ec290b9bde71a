"""`drover report`: one HTML page about a run, made from its checkpoint.

```text
checkpoint --read.py--> Material --story.py--> Story --page.py--> HTML
```

`read.py` alone opens files; everything behind it is a function from frozen values to text. The page needs no network,
no script and no other file.
"""

from __future__ import annotations

from drover.web.report.page import page
from drover.web.report.read import Material, read
from drover.web.report.story import Story, story_of
from drover.web.report.summary import as_data, sentences

__all__ = ["Material", "Story", "as_data", "page", "read", "sentences", "story_of"]
