"""Compose the images of a film, tiles of frames side by side, and write an MP4, GIF or sheet."""

import shutil
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from recall.errors import BadValueError, RecallError
from recall.files.atomic import NotWritableError, replacement, writing_to
from recall.worlds.simulator import Array

_COLUMNS = 5  # tasks per row
_GAP = 6
_PAPER, _INK, _FAINT = (255, 255, 255), (28, 32, 38), (105, 112, 122)
SUCCESS, FAILURE = (26, 127, 55), (176, 90, 10)
_SMALLEST_FONT = 8


class Frame(NamedTuple):
    """The image and state after a step."""

    picture: Array  # [height, width, 3] uint8
    step: int
    success: bool  # at this step or before


@dataclass(frozen=True)
class Tile:
    """One tile of a film: a name, a detail, and its frames."""

    title: str
    subtitle: str
    frames: Iterable[Frame]


def animate(
    rows: Sequence[Sequence[Tile]], size: tuple[int, int], hold: int
) -> Iterator[Image.Image]:
    """Yield images of all tiles in step; a tile that ends waits for the rest, then all `hold`."""
    playing = [[iter(tile.frames) for tile in row] for row in rows]
    shown = [[next(frames) for frames in row] for row in playing]
    moved = True
    while moved:
        yield _arranged(rows, shown, size, over=False)
        moved = False
        for row, frames_of in enumerate(playing):
            for column, frames in enumerate(frames_of):
                following = next(frames, None)
                if following is not None:
                    shown[row][column], moved = following, True
    last = _arranged(rows, shown, size, over=True)
    yield from (last for _ in range(hold))


def in_rows(tiles: Sequence[Sequence[Tile]]) -> list[list[Tile]]:
    """Arrange the tiles of every task: one task's side by side, several tasks' in columns."""
    if len(tiles) == 1:
        return [list(tiles[0])]
    blocks = [tiles[start : start + _COLUMNS] for start in range(0, len(tiles), _COLUMNS)]
    return [
        [of_task[number] for of_task in block if number < len(of_task)]
        for block in blocks
        for number in range(max(map(len, block)))
    ]


def _arranged(
    rows: Sequence[Sequence[Tile]],
    shown: Sequence[Sequence[Frame]],
    size: tuple[int, int],
    over: bool,
) -> Image.Image:
    across, down = size[0] + _GAP, size[1] + caption_height(size[0]) + _GAP
    whole = (_GAP + max(map(len, rows)) * across, _GAP + len(rows) * down)
    sheet = Image.new("RGB", whole, _PAPER)
    for row, (tiles, frames) in enumerate(zip(rows, shown, strict=True)):
        for column, (tile, frame) in enumerate(zip(tiles, frames, strict=True)):
            at = (_GAP + column * across, _GAP + row * down)
            sheet.paste(_captioned(tile, frame, size, over), at)
    return sheet


def caption_height(width: int) -> int:
    """Return the height of two lines of text under a picture of this width."""
    return 3 * _font_size(width)


def _font_size(width: int) -> int:
    return max(_SMALLEST_FONT + 2, min(18, width // 16))


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _captioned(tile: Tile, frame: Frame, size: tuple[int, int], over: bool) -> Image.Image:
    width, height = size
    # Images in a world's own size keep their proportions.
    picture = ImageOps.pad(Image.fromarray(frame.picture), size, color=_PAPER)
    image = Image.new("RGB", (width, height + caption_height(width)), _PAPER)
    image.paste(picture, (0, 0))
    draw = ImageDraw.Draw(image)
    line = _font_size(width)
    state, colour = ("no success", FAILURE) if over else (f"step {frame.step}", _FAINT)
    if frame.success:
        state, colour = "success", SUCCESS
    _write(draw, tile.title, (0, height + line // 4), width, line, _INK)
    _write(draw, state, (width, height + line * 6 // 4), width, line, colour, right=True)
    room = width - draw.textlength(state, _font(line)) - line
    _write(draw, tile.subtitle, (0, height + line * 6 // 4), room, line, _FAINT)
    return image


def _write(
    draw: ImageDraw.ImageDraw,
    text: str,
    at: tuple[int, int],
    room: float,
    size: int,
    colour: tuple[int, int, int],
    right: bool = False,
) -> None:
    """Write one line, in letters small enough to fit."""
    while size > _SMALLEST_FONT and draw.textlength(text, _font(size)) > room:
        size -= 1
    draw.text(at, text, colour, _font(size), anchor="ra" if right else "la")


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
