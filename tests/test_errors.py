from __future__ import annotations

from drover.errors import one_line


def test_text_on_one_line_is_harmless_to_a_terminal() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert "\x1b" not in one_line("red \x1b[31m")
