"""Files in YAML: the tree of a text, codecs, fields, faults by line, and network files built on them.

Nothing is imported here: operators declare their fields with `codecs` and `field`, and `network_file` needs operators.
"""
