"""Variants on a Dask cluster: its workers need tuplan installed, nothing else; lost workers' variants are run again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from planner.sweep import Place

CONNECT_SECONDS = "15s"
AHEAD = 2
"""Variants handed to the cluster per thread of it, so that no thread waits for the next one."""


class ClusterError(OSError):
    """The cluster cannot be used; the message is one sentence for the user."""


@contextmanager
def cluster(address: str) -> Iterator[Place]:
    """A running Dask cluster by its scheduler's address, `tcp://host:8786`.

    Raises:
        ClusterError: the extra is not installed, nobody answers, or there is no worker.

    """
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("--cluster needs Dask: pip install 'tuplan[cluster]'") from None
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ClusterError(f"no cluster answers at {address}: {' '.join(str(error).split())[:200]}") from None
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise ClusterError(f"the cluster at {address} has no worker")
        yield Place(lambda: client.get_executor(pure=False, retries=2), threads * AHEAD)
