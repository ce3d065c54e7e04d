"""Connecting to a Ray cluster, or starting one on this machine that nobody else can reach."""

import os
import socket
from typing import Any

from recall.errors import BadValueError, RecallError, how_to_install

_ANSWER_SECONDS = 10.0
_LONGEST_REASON = 200
_OPTIONS = {"log_to_driver": False, "logging_level": "warning"}


def load_ray() -> Any:
    """Return the module `ray`, or raise an error that says how to install it."""
    try:
        import ray
    except ImportError:
        raise BadValueError(f"the Ray launcher needs Ray: {how_to_install('ray')}") from None
    return ray


def connect(address: str | None) -> None:
    """Connect to the cluster at `address`, or to the one found; start one if there is none."""
    ray = load_ray()
    if ray.is_initialized():
        return
    _check_answers(address)
    if address is not None or os.environ.get("RAY_ADDRESS"):
        _join(ray, address)
        return
    try:
        ray.init(address="auto", **_OPTIONS)
    except ConnectionError:  # there is none on this machine
        _start(ray)


def _join(ray: Any, address: str | None) -> None:
    try:
        ray.init(address=address, **_OPTIONS)
    except Exception as error:  # Ray raises errors of many types
        where = address or os.environ["RAY_ADDRESS"]
        raise RecallError(
            f"no Ray cluster answers at {where}: {_first_line(error)}. Check that it runs with "
            "`ray status` on that machine"
        ) from error


def _start(ray: Any) -> None:
    """Start a cluster whose ports are open to this machine only."""
    from ray._private import ray_constants

    # Ray listens on loopback alone where it does not expect other machines, which it decides by
    # this variable: in this process at import, and in the processes that it starts.
    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init(address="local", include_dashboard=False, **_OPTIONS)
    except Exception as error:  # Ray raises errors of many types
        ray.shutdown()
        raise RecallError(
            f"a Ray cluster on this machine did not come up: {_first_line(error)}. Try `ray stop` "
            "and the same command again, free memory and space in /tmp, or use --launcher local, "
            "which needs no Ray"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:_LONGEST_REASON].rstrip(". ")


def _check_answers(address: str | None) -> None:
    """Raise an error at once for an address that Ray would try to reach for minutes."""
    host, _, port = (address or "").rpartition("//")[2].rpartition(":")
    if not (host and port.isdigit()):
        return  # None, or a word, such as auto, that Ray itself accepts or refuses
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise RecallError(
            f"no Ray cluster answers at {address}: {error}. Start one with `ray start --head` on "
            "that machine, which prints its address"
        ) from error


def disconnect() -> None:
    """Disconnect from the cluster; a cluster that `connect` started is shut down."""
    load_ray().shutdown()
