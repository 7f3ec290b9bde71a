from __future__ import annotations

from drover.errors import one_line


def test_text_on_one_line_has_no_control_characters() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert "\x1b" not in one_line("red \x1b[31m")
