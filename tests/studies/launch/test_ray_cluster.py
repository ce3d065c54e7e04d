"""A cluster that recall starts itself, in processes of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LISTENING = "0A"
START = """
import json, os, sys
from recall.studies.launch import ray_launcher
from tests.studies.launch.test_ray_cluster import family, listening
ray_launcher.connect(None)
import ray
assert ray.get(ray.remote(num_cpus=1)(lambda: 7).remote()) == 7
address = ray.get_runtime_context().gcs_address
print(json.dumps([address, sorted(listening(family(os.getpid())))]), flush=True)
sys.stdin.readline()
ray_launcher.disconnect()
"""


def family(pid):
    """A process and all that it started, and that these started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def listening(pids):
    """The addresses, in the kernel's hexadecimal form, on which some processes listen."""
    sockets = set()
    for pid in pids:
        try:
            links = [path.readlink() for path in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        sockets |= {str(link)[8:-1] for link in links if str(link).startswith("socket:[")}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in sockets:
                yield fields[1].partition(":")[0]


@pytest.mark.slow
def test_all_its_ports_are_on_loopback_and_it_is_not_joined_unless_named():
    """Two processes that name no cluster, at the same time, start one each."""
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", START], stdout=subprocess.PIPE, text=True, env=environment,
            stdin=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    lines = [json.loads(process.stdout.readline()) for process in processes]
    for process in processes:
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
    (first, addresses), (second, _) = lines
    assert first != second
    # 127.0.0.1, and the same in IPv6's clothes; the kernel writes them in reverse.
    assert addresses
    assert set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}
