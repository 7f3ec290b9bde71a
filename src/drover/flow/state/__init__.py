"""The saved state of units, with which any node can continue after any crash.

```text
root/lock                               the process that uses it              lock.py
root/state/000000000042-3-a7.arrow      rows that changed in batch 42         segments.py, named by layout.py
root/commits/000000000042.json          what version 42 changed, and notes    commits.py, encoded by documents.py
root/commits/000000000042.full.json     all of version 42, now and then       commits.py, encoded by documents.py
```

Batch b reads version b-1 (`versions.py`) and writes files that nothing refers to yet. Its commit is the one file that
turns them into version b. `retention.py` deletes files that no recent version needs. `scatter.py` finds parts that keep
too many files alive, so that they are rewritten. All bytes pass through `storage.py`.
"""
