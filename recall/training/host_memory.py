"""Memory of this machine that a process can still get, with the limit of its control group."""

import os
from pathlib import Path


def available_host() -> int:
    """Return the bytes of host memory that this process can still get, with its group's limit."""
    path = Path("/proc/meminfo")
    if not path.exists():
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = dict(line.split(":") for line in path.read_text().splitlines())
    free = sum(1024 * int(lines[name].split()[0]) for name in ("MemAvailable", "SwapFree"))
    return min(free, _left_in_group())


def _left_in_group() -> int:
    """Return what the limit of this process's control group, such as a container, leaves."""
    new, old = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory")
    return max(
        0,
        min(
            left_in(new, "memory.max", "memory.current", ""),
            left_in(old, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
        ),
    )


def left_in(group: Path, limit: str, used: str, prefix: str) -> int:
    """Return what the limit in a control group's folder leaves, or a huge number without a limit.

    Cached files count as used there, although they give way, so they are added again.
    """
    try:
        numbers = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        cached = sum(int(numbers[prefix + name]) for name in ("inactive_file", "active_file"))
        return int((group / limit).read_text()) - int((group / used).read_text()) + cached
    except (OSError, ValueError, KeyError):  # no such group, or "max"
        return 2**63
