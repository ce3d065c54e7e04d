"""A cluster that recall starts itself, in processes of its own."""

import json
import os
import subprocess
import sys
from ipaddress import ip_address

import psutil
import pytest

START = """
import json, sys
from recall.studies.launch import ray_launcher
ray_launcher.connect(None)
import ray
assert ray.get(ray.remote(num_cpus=1)(lambda: 7).remote()) == 7
print(json.dumps(ray.get_runtime_context().gcs_address), flush=True)
sys.stdin.readline()
ray_launcher.disconnect()
"""


def listening(pid: int) -> set[str]:
    """The addresses on which a process, and all that it and these started, listen."""
    own = psutil.Process(pid)
    sockets = [each for process in (own, *own.children(True)) for each in process.net_connections()]
    return {each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN}


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
    first, second = (json.loads(process.stdout.readline()) for process in processes)
    addresses = [ip_address(address) for process in processes for address in listening(process.pid)]
    for process in processes:
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
    assert first != second
    assert addresses
    for address in addresses:
        assert (getattr(address, "ipv4_mapped", None) or address).is_loopback
