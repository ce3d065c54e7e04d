"""Serve the report's page on this machine while fleets train; the page refreshes by itself.

The server listens on the loopback address only. A report is made when there are new evaluations,
or when a fleet has started or ended, in the background, so a request never waits for it. The page
asks for the number of the report that it shows and loads itself again when there is a newer one.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from recall.errors import BadValueError, RecallError
from recall.files.fleet_layout import DESCRIPTION, OUTCOME, STUDY

ADDRESS = "127.0.0.1"
PLACE_OF_NUMBER = "NUMBER_OF_THIS_REPORT"
"""Stands in page.html for the number of the report that the page shows."""
SECONDS = 5.0
"""Seconds between two looks at the records."""
# Without training.jsonl: it grows every few seconds, and a report takes seconds to make. What it
# holds is shown along with the next evaluation.
_WATCHED = (DESCRIPTION, "evaluations.jsonl*", OUTCOME, "progress.tsv", STUDY)
_WAITING = (
    "<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>recall: report</title>"
    "<p id='waiting'>{why}</p><script>setTimeout(() => location.reload(), 2000)</script></html>"
)


class LivePage:
    """The newest page of a report, made again whenever the watched records have changed."""

    def __init__(self, folders: Iterable[Path], make: Callable[[], Path]):
        """`make` makes the report and returns the path of its page."""
        self._folders = list(folders)
        self._make = make
        self._seen: object = None
        self.number = 0
        """Counts the reports."""
        self.html = _WAITING.format(why="The report is being made.")

    def refresh(self) -> bool:
        """Make the report if the records have changed; return True if there is a new page.

        If it cannot be made, the next call tries again, whether or not the records have changed.
        """
        state = records_state(self._folders)
        if state == self._seen:
            return False
        try:
            html = self._make().read_text("utf-8")
        except (RecallError, OSError) as error:  # no runs yet, or a file that was being replaced
            if not self.number:
                why = f"There is nothing to report yet: {escape(str(error))}"
                self.html = _WAITING.format(why=why)
            return False
        self._seen = state
        self.number += 1
        self.html = html.replace(PLACE_OF_NUMBER, str(self.number))
        return True


def records_state(folders: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return the size and time of every watched file of records below some folders."""
    found = []
    for path in (path for folder in folders for name in _WATCHED for path in folder.rglob(name)):
        with contextlib.suppress(OSError):  # removed since it was listed
            status = path.stat()
            found.append((str(path), status.st_size, status.st_mtime_ns))
    return sorted(found)


@contextlib.contextmanager
def served(page: LivePage, port: int = 0) -> Iterator[str]:
    """Serve a page at a port, 0 for a free one, as long as the context lasts; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        """Answers with the page, or with its number."""

        def do_GET(self) -> None:
            """Answer a request."""
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            answers = {"/": (page.html, "text/html"), "/number": (str(page.number), "text/plain")}
            if host not in (ADDRESS, "localhost"):  # another site's name that leads here
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path not in answers:
                self.send_error(HTTPStatus.NOT_FOUND)
            else:
                text, kind = answers[self.path]
                content = text.encode()
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # the reader has left
                    self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

    try:
        server = ThreadingHTTPServer((ADDRESS, port), Handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadValueError(
            f"port {port} cannot be used ({reason}): choose another --port, 0 takes a free one"
        ) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{ADDRESS}:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
