"""Files on disk: safe names, atomic writes, append-only logs with checksums, and careful reading.

Everything that recall writes for keeps and everything that it reads from a folder goes through
this package. No other module renames temporary files, appends to logs or makes names safe.
"""
