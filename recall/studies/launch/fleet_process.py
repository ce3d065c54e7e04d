"""The process of one fleet, which recall.studies.launch.local starts.

The job is the first line on standard input; events are written to standard output. Standard input
stays open as long as the parent lives. When it closes, the fleet saves and exits, so no fleet
outlives a launcher that was killed.
"""

import json
import os
import signal
import sys
import threading
import traceback

from recall.errors import RecallError
from recall.studies.launch.jobs import Event, Job, Tell


def main() -> None:
    """Run the job and exit with a status that says how it ended."""
    job = Job(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # other output goes to the log

    def tell(event: Event) -> None:
        channel.write(event.to_line() + "\n")

    sys.exit(_work(job, tell))


def _work(job: Job, tell: Tell) -> int:
    from recall.api import Stopped
    from recall.studies.launch.job_runner import work

    try:
        work(job, tell)
    except Stopped as stopped:
        tell(Event(job.name, "stopped", text=str(stopped)))
        return stopped.exit_status
    except RecallError as error:
        print(f"recall: {error}", file=sys.stderr)
        tell(Event(job.name, "failed", text=str(error)))
        return 2
    except Exception as error:
        traceback.print_exc()
        tell(Event(job.name, "failed", text=f"{type(error).__name__}: {error}"))
        return 1
    tell(Event(job.name, "finished"))
    return 0


def _leave_with_parent() -> None:
    while sys.stdin.readline():
        pass
    os.kill(os.getpid(), signal.SIGTERM)
