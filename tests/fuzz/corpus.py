"""Valid inputs to begin with: the examples, the files of tests, and the blocks of the documentation.

Rule 1: an example that is added anywhere in these places is fuzzed from then on, without a change here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.docs.markdown import blocks, pages
from tests.fuzz.mutate import LARGE_ONE_IN, Vocabulary, large, mutate_text, mutate_tree

ROOT: Final = Path(__file__).parents[2]
LONGEST: Final = 2_500  # characters of a seed; a longer one takes time that several short ones use better
BIG_ONES: Final = ("many_faults", "mistakes", "ten_faults", "faults.run")  # full of faults already


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts of one kind, the same as JSON, and what they are made of, which makes the best damages."""

    texts: tuple[str, ...]
    plain: tuple[str, ...]
    known: Vocabulary

    def draw(self, chance: random.Random) -> str:
        """Return one of the texts, damaged in its notation or in its values; rarely as it is, or very large."""
        if chance.randrange(LARGE_ONE_IN) == 0:
            return large(chance, self.texts)
        if chance.random() < 0.02:
            return chance.choice(self.texts)
        if chance.random() < 0.3:
            return mutate_text(chance.choice(self.texts), chance, self.known.words)
        return mutate_tree(chance.choice(self.plain), chance, self.known)


@cache
def yaml_texts() -> tuple[str, ...]:
    """Return every YAML text of the examples, the golden files and the documentation."""
    folders = (ROOT / "examples", ROOT / "tests" / "golden", ROOT / "src" / "drover" / "cli" / "demo_data")
    files = [path for folder in folders for path in sorted(folder.glob("*.yaml")) if not _is_big(path)]
    found = [path.read_text(encoding="utf-8") for path in files]
    shown = [block for page in pages() for block in blocks(page.read_text(encoding="utf-8"))]
    found += [block.text for block in shown if block.language in {"yaml", "json"}]
    return tuple(dict.fromkeys(text for text in found if len(text) <= LONGEST))


def _is_big(path: Path) -> bool:
    return any(path.name.startswith(name) for name in BIG_ONES)


def corpus_with(mark: str, extra: Sequence[str] = ()) -> Corpus:
    """Return the texts that have a key `mark` at the top, and `extra`."""
    return corpus_of([*(text for text in yaml_texts() if _has(text, mark)), *extra])


def corpus_of(texts: Sequence[str]) -> Corpus:
    """Return a corpus of YAML texts."""
    # Scalars stay text, as drover reads them: safe_load would make a date or a number of some.
    trees = [_with_truths(tree) for text in texts for tree in yaml.load_all(text, Loader=yaml.BaseLoader)]
    words: dict[str, None] = {}
    values: dict[str, dict[str, None]] = {}
    for tree in trees:
        _gather(tree, words, values)
    known = Vocabulary(tuple(words), {key: tuple(found) for key, found in values.items()})
    return Corpus(tuple(texts), tuple(json.dumps(tree) for tree in trees), known)


def _with_truths(tree: Any) -> Any:  # Any: as YAML gives it
    """Return a tree whose `true` and `false` are truth values: in JSON, drover tells them from texts."""
    if isinstance(tree, dict):
        return {key: _with_truths(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_with_truths(value) for value in tree]
    return {"true": True, "false": False}.get(tree, tree)


def _has(text: str, mark: str) -> bool:
    try:
        found = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return False
    return isinstance(found, dict) and mark in found


def _gather(tree: Any, words: dict[str, None], values: dict[str, dict[str, None]]) -> None:  # Any: as YAML gives it
    """Collect the words of a tree, and the values of each key."""
    if isinstance(tree, dict):
        words |= dict.fromkeys(tree)
        for key, value in tree.items():
            values.setdefault(key, {})[json.dumps(value)] = None
            _gather(value, words, values)
    elif isinstance(tree, list):
        for value in tree:
            _gather(value, words, values)
    elif isinstance(tree, str):
        words[tree] = None
