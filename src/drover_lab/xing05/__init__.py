"""Text B: correlation-based distribution [Xing05], and chapter 6.2 of [Xing06], which repeats it."""
