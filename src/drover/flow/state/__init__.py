"""What units remember from batch to batch, saved so that any node can go on with it after any crash.

```text
root/lock                               who works on this checkpoint          lock.py
root/state/000000000042-3-a7.arrow      rows that changed in batch 42         segments.py, named by layout.py
root/commits/000000000042.json          what version 42 changed, and notes    commits.py, encoded by documents.py
root/commits/000000000042.full.json     all of version 42, now and then       commits.py, encoded by documents.py
```

A batch reads version b-1 (`versions.py`), writes files that nobody knows of, and then commits: the one file that
makes them version b. What no recent version needs is swept (`retention.py`), and
what pins too many files is written anew (`scatter.py`). All bytes pass through `storage.py`.
"""
