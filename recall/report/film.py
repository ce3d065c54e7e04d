"""Films: tiles of frames side by side, with captions, into an MP4, a GIF or a contact sheet."""

import shutil
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from recall.collect.filmed import Frame
from recall.errors import BadValueError, RecallError

FOLDER = "films"  # in a fleet's folder, where films go that are given no other place
FILMS = (".mp4", ".gif")
SHEET = ".png"
_FASTEST_GIF = 50  # browsers slow down a GIF that asks for more pictures a second
_SEEN_FOR_COLOURS = 40  # pictures at the beginning that choose a GIF's colours
_COLUMNS = 5  # of tasks, before a new row begins
_GAP = 6
_PAPER, _INK, _FAINT = (255, 255, 255), (28, 32, 38), (105, 112, 122)
_SUCCESS, _FAILURE = (26, 127, 55), (176, 90, 10)
_SMALLEST_FONT = 8


@dataclass(frozen=True)
class Tile:
    """What one corner of a film shows: a name, what is told of it, and its frames."""

    title: str
    subtitle: str
    frames: Iterable[Frame]


def animate(
    rows: Sequence[Sequence[Tile]], size: tuple[int, int], hold: int
) -> Iterator[Image.Image]:
    """All tiles in step, row by row; one that ends waits for the others, and all wait `hold`."""
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
    """The tiles of every task, arranged: one task's side by side, several tasks' in columns."""
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
    width, height = size
    bar = caption_height(width)
    columns = max(map(len, rows))
    sheet = Image.new(
        "RGB",
        (
            columns * width + (columns + 1) * _GAP,
            len(rows) * (height + bar) + (len(rows) + 1) * _GAP,
        ),
        _PAPER,
    )
    for row, (tiles, frames) in enumerate(zip(rows, shown, strict=True)):
        for column, (tile, frame) in enumerate(zip(tiles, frames, strict=True)):
            at = (_GAP + column * (width + _GAP), _GAP + row * (height + bar + _GAP))
            sheet.paste(_captioned(tile, frame, size, over), at)
    return sheet


def caption_height(width: int) -> int:
    """Room for two lines under a picture of this width."""
    return 3 * _font_size(width)


def _font_size(width: int) -> int:
    return max(_SMALLEST_FONT + 2, min(18, width // 16))


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _captioned(tile: Tile, frame: Frame, size: tuple[int, int], over: bool) -> Image.Image:
    width, height = size
    # A world with pictures of its own size keeps its proportions.
    picture = ImageOps.pad(Image.fromarray(frame.picture), size, color=_PAPER)
    image = Image.new("RGB", (width, height + caption_height(width)), _PAPER)
    image.paste(picture, (0, 0))
    draw = ImageDraw.Draw(image)
    line = _font_size(width)
    state, colour = _state_of(frame, over)
    _write(draw, tile.title, (0, height + line // 4), width, line, _INK)
    _write(draw, state, (width, height + line * 6 // 4), width, line, colour, right=True)
    room = width - draw.textlength(state, _font(line)) - line
    _write(draw, tile.subtitle, (0, height + line * 6 // 4), room, line, _FAINT)
    return image


def _state_of(frame: Frame, over: bool) -> tuple[str, tuple[int, int, int]]:
    if frame.success:
        return "success", _SUCCESS
    return ("no success", _FAILURE) if over else (f"step {frame.step}", _FAINT)


def _write(
    draw: ImageDraw.ImageDraw,
    text: str,
    at: tuple[int, int],
    room: float,
    size: int,
    colour: tuple[int, int, int],
    right: bool = False,
) -> None:
    """One line, in letters small enough for the room there is."""
    while size > _SMALLEST_FONT and draw.textlength(text, _font(size)) > room:
        size -= 1
    draw.text(at, text, colour, _font(size), anchor="ra" if right else "la")


def writable(path: Path) -> Path:
    """Where a film that is to be called `path` will be: a GIF where there is no ffmpeg."""
    suffix = path.suffix.lower()
    if suffix not in (*FILMS, SHEET):
        raise BadValueError(
            f"{path}: a film ends in {' or '.join(FILMS)}, and a contact sheet in {SHEET}"
        )
    return path.with_suffix(".gif") if suffix == ".mp4" and not shutil.which("ffmpeg") else path


def write(pictures: Iterable[Image.Image], path: Path, fps: int) -> None:
    """Write all pictures as a film, or the last one as a contact sheet, as the ending asks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}-unfinished{path.suffix}")
    writers = {".mp4": _write_mp4, ".gif": _write_gif, SHEET: _write_sheet}
    try:
        writers[path.suffix.lower()](pictures, temporary, fps)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write_sheet(pictures: Iterable[Image.Image], path: Path, fps: int) -> None:
    (last,) = deque(pictures, maxlen=1)
    last.save(path, optimize=True)


def _write_gif(pictures: Iterable[Image.Image], path: Path, fps: int) -> None:
    """Colours are chosen once, so that nothing flickers."""
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
    """255 colours of the first moments, and of the captions that come later."""
    width, height = beginning[0].size
    seen = [beginning[0], beginning[len(beginning) // 2], beginning[-1]]
    swatch = height // 8
    sample = Image.new("RGB", (width, 3 * height + 2 * swatch))
    for number, picture in enumerate(seen):
        sample.paste(picture, (0, number * height))
    for number, colour in enumerate((_SUCCESS, _FAILURE)):
        top = 3 * height + number * swatch
        sample.paste(colour, (0, top, width, top + swatch))
    return sample.quantize(255, dither=Image.Dither.NONE)


def _write_mp4(pictures: Iterable[Image.Image], path: Path, fps: int) -> None:
    """H.264 as every browser plays it: even sides, one chroma sample for four pixels."""
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
        except BrokenPipeError:  # it has said why
            pass
        reason = process.stderr.read().decode(errors="replace").strip().splitlines()
    if process.returncode:
        why = reason[-1] if reason else f"exit status {process.returncode}"
        raise RecallError(f"ffmpeg made no film: {why}. A name in .gif needs no ffmpeg")
