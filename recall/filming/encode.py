"""Write images as an MP4, a GIF or a contact sheet."""

import shutil
import subprocess
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
from PIL import Image

from recall.errors import BadValueError, RecallError
from recall.files.atomic import NotWritableError, replacement, writing_to
from recall.filming.compose import FAILURE, SUCCESS

FILMS = (".mp4", ".gif")
SHEET = ".png"
_FASTEST_GIF = 50  # browsers slow down a GIF with more images per second
_SEEN_FOR_COLOURS = 40  # first images, from which a GIF's colours are chosen


def writable(path: Path) -> Path:
    """Return the path that a film will be written to: a GIF if ffmpeg is not installed."""
    suffix = path.suffix.lower()
    if suffix not in (*FILMS, SHEET):
        raise BadValueError(
            f"{path}: a film ends in {' or '.join(FILMS)}, and a contact sheet in {SHEET}"
        )
    if path.is_dir():
        raise NotWritableError(f"{path} is a folder: give the name of a file")
    return path.with_suffix(".gif") if suffix == ".mp4" and not shutil.which("ffmpeg") else path


def write(pictures: Iterable[Image.Image], path: Path, fps: int) -> None:
    """Write all images as a film, or the last one as a contact sheet, depending on the suffix."""
    temporary = path.with_name(f".{path.stem}-unfinished{path.suffix}")
    writers = {".mp4": _write_mp4, ".gif": _write_gif, SHEET: _write_sheet}
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacement(path, temporary):
            writers[path.suffix.lower()](pictures, temporary, fps)


def _write_sheet(pictures: Iterable[Image.Image], path: Path, fps: int) -> None:
    (last,) = deque(pictures, maxlen=1)
    last.save(path, optimize=True)


def _write_gif(pictures: Iterable[Image.Image], path: Path, fps: int) -> None:
    """Write a GIF; its colours are chosen once, so that nothing flickers."""
    slower = islice(pictures, 0, None, -(-fps // _FASTEST_GIF))
    beginning = list(islice(slower, _SEEN_FOR_COLOURS))
    palette = _palette(beginning)
    first, *others = (
        picture.quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in chain(beginning, slower)
    )
    pause = round(1000 / min(fps, _FASTEST_GIF))
    first.save(path, save_all=True, append_images=others, duration=pause, loop=0)


def _palette(beginning: Sequence[Image.Image]) -> Image.Image:
    """Return 255 colours, from the first images and the colours of later captions."""
    seen = [beginning[0], beginning[len(beginning) // 2], beginning[-1]]
    width, height = seen[0].size
    seen += [Image.new("RGB", (width, height // 8), colour) for colour in (SUCCESS, FAILURE)]
    sample = np.concatenate([np.asarray(picture) for picture in seen])
    return Image.fromarray(sample).quantize(255, dither=Image.Dither.NONE)


def _write_mp4(pictures: Iterable[Image.Image], path: Path, fps: int) -> None:
    """Write H.264 that every browser plays: even sides, one chroma sample per four pixels."""
    frames = iter(pictures)
    first = next(frames)
    command = ["ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{first.width}x{first.height}", "-r", str(fps), "-i", "-", "-an"]
    command += ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-c:v", "libx264", "-crf", "23"]
    command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            for picture in chain([first], frames):
                process.stdin.write(picture.tobytes())
            process.stdin.close()
        except BrokenPipeError:  # ffmpeg has printed why
            pass
        reason = process.stderr.read().decode(errors="replace").strip().splitlines()
    if process.returncode:
        why = reason[-1] if reason else f"exit status {process.returncode}"
        raise RecallError(f"ffmpeg made no film: {why}. A name in .gif needs no ffmpeg")
