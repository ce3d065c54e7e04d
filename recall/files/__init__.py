"""Files on disk: names, atomic writes, append-only logs with checksums, and careful reading.

Everything that recall writes for keeps and everything that it reads from a folder goes through
this package. No other module renames temporary files, appends to records, makes names safe or
spells out the names in a fleet's folder. Output of processes, TensorBoard's events and copies that
are removed at exit are written where they arise.
"""
