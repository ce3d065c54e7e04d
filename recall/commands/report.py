"""`recall report`, `board` and `compare`: the command-line interface of recall.report."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

from tyro.conf import Positional, arg

from recall.commands.options import values_by_name
from recall.commands.show import Flag
from recall.errors import BadValueError, RecallError

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.server import ThreadingHTTPServer

    from recall.analysis.metrics import Measure
    from recall.report.build import Report


Folders = Annotated[
    Positional[tuple[Path, ...]],
    arg(
        metavar="FOLDERS",
        help="Folders of runs, or folders that contain them; logs of other code are read too.",
    ),
]
Reference = Annotated[
    tuple[Path, ...],
    arg(
        help="Folders of single-task runs to compare with, which are not reported themselves. "
        "Where there are none, runs shipped with the package are used if they fit."
    ),
]
Out = Annotated[Path, arg(help="Folder to write tables, figures and the page to.")]
Window = Annotated[
    int, arg(help="Evaluations to average at the end of a task, if they are at most a fifth of it.")
]
Mode = Annotated[
    Literal["stochastic", "deterministic"],
    arg(help="How the policy acted in the evaluations that are reported."),
]
Success = Annotated[
    Literal["any", "last"],
    arg(help="Count success at any step of an episode, or only at its last step."),
]
Figures = Annotated[bool, arg(help="Whether to draw figures.")]
Names = Annotated[
    tuple[str, ...],
    arg(
        help="Other names, each as LABEL=NAME. The label of a method, such as RECALL, is renamed "
        "in the labels of all its variants; that of a variant, there alone."
    ),
]


def _measure_of(window: int, mode: Any, success: str) -> "Measure":
    """Return what the options say of success."""
    from recall.analysis.metrics import Measure

    return Measure(window, mode, "success" if success == "any" else "last_success")


def _write(out: Path, make: "Callable[..., Report]") -> None:
    """Make a report; print how many runs, tables, figures and problems there are."""
    from rich.console import Console

    from recall.files.atomic import writing_to
    from recall.runs.wording import counted

    console = Console()
    with writing_to(out):
        made = make(console=console)
    found = len(made.problems)
    problems = counted(found, "problem was found", "problems were found")
    console.print(
        f"{counted(len(made.collection.runs), 'run')}, {counted(len(made.tables), 'table')} and "
        f"{counted(len(made.figures), 'figure')} in {made.folder}"
        + (f"; {problems}" if found else ""),
        soft_wrap=True,
    )


def report(
    folders: Folders,
    out: Out = Path("report"),
    reference: Reference = (),
    window: Window = 5,
    mode: Mode = "stochastic",
    success: Success = "any",
    figures: Figures = True,
    detailed: Annotated[
        int | None,
        arg(help="Number of sequences per family that get figures of their own. None: all."),
    ] = 2,
    methods: Annotated[
        tuple[str, ...],
        arg(help="Methods or labels to show, in this order; all if none are given."),
    ] = (),
    names: Names = (),
    style: Annotated[
        Literal["page", "paper"],
        arg(help="Style of the figures: for a page, or for a paper, with a serif font."),
    ] = "page",
    serve: Annotated[
        Flag, arg(help="Show the page in a browser on this machine, and keep it up to date.")
    ] = False,
    port: Annotated[int, arg(help="With --serve: the port; 0 takes a free one.")] = 0,
) -> None:
    """Make tables, figures and a page from all runs in the given folders."""
    from recall.report.build import make_report

    make = partial(
        make_report,
        folders,
        out,
        reference,
        _measure_of(window, mode, success),
        figures,
        detailed=detailed,
        methods=methods,
        names=values_by_name("--names", names),
        style=style,
    )
    if serve:
        _serve(folders, out, port, partial(make, live=True))
    _write(out, make)


def board(
    folders: Folders,
    out: Out = Path("board"),
    reference: Reference = (),
    window: Window = 5,
    mode: Mode = "stochastic",
    success: Success = "any",
) -> None:
    """Make one page of all methods, with a table for every protocol that they were run by."""
    from recall.report.build import make_board

    _write(out, partial(make_board, folders, out, reference, _measure_of(window, mode, success)))


def compare(
    first: Annotated[Positional[Path], arg(metavar="FIRST", help="Folder of the first runs.")],
    second: Annotated[Positional[Path], arg(metavar="SECOND", help="Folder of the second runs.")],
    out: Out = Path("comparison"),
    reference: Reference = (),
    window: Window = 5,
    mode: Mode = "stochastic",
    success: Success = "any",
    figures: Figures = True,
) -> None:
    """Compare two folders: settings that differ, metrics with intervals, and overlaid curves."""
    from recall.report.compare import compare as make_comparison

    measure = _measure_of(window, mode, success)
    _write(out, partial(make_comparison, first, second, out, reference, measure, figures))


def _serve(
    folders: tuple[Path, ...], out: Path, port: int, make: "Callable[[], Report]"
) -> NoReturn:
    """Serve the folder of a report, on this machine only, until the user stops it.

    The report is made again when there are new evaluations, or a fleet has started or ended.
    """
    import time
    from threading import Thread

    from recall.files.fleet_layout import DESCRIPTION, OUTCOME
    from recall.report.page import SECONDS

    server = _server(out, port)
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    watched = (DESCRIPTION, "evaluations.jsonl*", OUTCOME)
    shown: dict[Path, int] | None = None
    printed = line = ""
    while True:
        try:
            found = [path for each in folders for name in watched for path in each.rglob(name)]
            times = {path: path.stat().st_mtime_ns for path in found if path.exists()}
            if times != shown:
                make()
                if shown is None:  # now there is a page
                    Thread(target=server.serve_forever, daemon=True).start()
                shown = times
                line = f"The report is at {url} and refreshes by itself; Ctrl-C stops it."
        except (RecallError, OSError) as error:  # no runs yet, or a file that is being replaced
            line = f"The report could not be made: {error}"
        if line != printed:
            print(line, flush=True)
            printed = line
        time.sleep(SECONDS)


def _server(out: Path, port: int) -> "ThreadingHTTPServer":
    """Return a server of the report in `out`, for this machine only, which prints nothing."""
    from http import HTTPStatus
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Handler(SimpleHTTPRequestHandler):
        def send_head(self) -> Any:
            host = self.headers.get("Host", "").partition(":")[0]
            if host in ("127.0.0.1", "localhost"):  # not another site's name that leads here
                return super().send_head()
            self.send_error(HTTPStatus.FORBIDDEN)
            return None

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, directory=out))
    except (OSError, OverflowError) as error:
        raise BadValueError(
            f"port {port} cannot be used ({error}): choose another --port, 0 takes a free one"
        ) from error
