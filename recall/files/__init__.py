"""Files on disk: names, atomic writes, append-only logs with checksums, and careful reading."""
