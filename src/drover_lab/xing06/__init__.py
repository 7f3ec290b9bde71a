"""Text R: resilient operator distribution [Xing06], chapters 4 and 6.1."""
