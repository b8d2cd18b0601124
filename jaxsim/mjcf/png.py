"""Decode PNG images (all colour types, bit depths and filters) with the standard library and numpy alone.

Only what height fields need: one intensity for each pixel. See the PNG specification, sections 5 to 12.
"""

import struct
import zlib

import numpy as np

Array = np.ndarray
SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by colour type: grey, RGB, palette, grey and alpha, RGBA
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
MAX_PIXELS = 1 << 26
# Adam7: first row, first column, row step, column step of each pass
PASSES = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


def read_grey(data: bytes) -> Array:
    """8-bit intensities [height, width]; of a colour image the red channel, as MuJoCo has it.

    Raises:
        ValueError: not a PNG image, or a damaged one.
    """
    if not data.startswith(SIGNATURE):
        raise ValueError("the file is not a PNG image")
    width, height, depth, colour, interlaced, palette, compressed = _chunks(data)
    channels = CHANNELS[colour]
    passes = PASSES if interlaced else ((0, 0, 1, 1),)
    shapes = [(-(-(height - r) // dr), -(-(width - c) // dc)) for r, c, dr, dc in passes]
    sizes = [h * (1 + (w * channels * depth + 7) // 8) if h > 0 and w > 0 else 0 for h, w in shapes]
    try:
        stream = zlib.decompressobj().decompress(compressed, sum(sizes) + 1)
    except zlib.error as error:
        raise ValueError(f"the PNG image is damaged: {error}") from None
    if len(stream) < sum(sizes):
        raise ValueError(f"the PNG image has {len(stream)} bytes of pixels; expected {sum(sizes)}")
    image = np.zeros((height, width), np.uint8)
    begin = 0
    for (r, c, dr, dc), (h, w), size in zip(passes, shapes, sizes):
        if size:
            rows = _unfiltered(stream[begin : begin + size], h, max(1, channels * depth // 8))
            image[r::dr, c::dc] = _intensity(rows, w, depth, colour, palette)
        begin += size
    return image


def _chunks(data: bytes) -> tuple[int, int, int, int, int, Array, bytes]:
    """Header, palette and compressed pixels."""
    header, palette, pixels = b"", np.zeros(0, np.uint8), []
    at = len(SIGNATURE)
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + 8 + length]
        check = data[at + 8 + length : at + 12 + length]
        if len(check) < 4 or zlib.crc32(kind + content) != int.from_bytes(check):
            raise ValueError("the PNG image is damaged or ends too early")
        if kind == b"IHDR":
            header = content
        elif kind == b"PLTE":
            palette = np.frombuffer(content[: length - length % 3], np.uint8).reshape(-1, 3)[:, 0]
        elif kind == b"IDAT":
            pixels.append(content)
        elif kind == b"IEND":
            break
        at += 12 + length
    if len(header) != 13 or not pixels:
        raise ValueError("the PNG image has no header or no pixels")
    width, height, depth, colour, compression, filtering, interlaced = struct.unpack(">IIBBBBB", header)
    if not 0 < width * height <= MAX_PIXELS:
        raise ValueError(f"the PNG image is {width} by {height} pixels; expected at least 1 and at most {MAX_PIXELS}")
    if depth not in DEPTHS.get(colour, ()) or compression or filtering or interlaced > 1:
        raise ValueError(f"the PNG image has unknown colour type {colour}, bit depth {depth} or coding")
    return width, height, depth, colour, interlaced, palette, b"".join(pixels)


def _unfiltered(stream: bytes, height: int, bpp: int) -> Array:
    """Bytes [height, n] of the rows after undoing their filters; bpp bytes lie between a byte and its left one."""
    lines = np.frombuffer(stream, np.uint8).reshape(height, -1)
    rows = lines[:, 1:].copy()
    above = np.zeros_like(rows[0])
    for row, kind in zip(rows, lines[:, 0]):
        if kind == 1:  # left
            for k in range(min(bpp, len(row))):
                row[k::bpp] = np.cumsum(row[k::bpp], dtype=np.uint8)
        elif kind == 2:  # above
            row += above
        elif kind == 3:
            row[:] = _average(row.tolist(), above.tolist(), bpp)
        elif kind == 4:
            row[:] = _paeth(row.tolist(), above.tolist(), bpp)
        elif kind:
            raise ValueError(f"the PNG image has a row with unknown filter {kind}")
        above = row
    return rows


def _average(row: list[int], above: list[int], bpp: int) -> list[int]:
    out = [0] * bpp + row
    for i, up in enumerate(above):
        out[i + bpp] = (out[i + bpp] + ((out[i] + up) >> 1)) & 255
    return out[bpp:]


def _paeth(row: list[int], above: list[int], bpp: int) -> list[int]:
    """Predict from whichever of left, above, above left is closest to left + above - above left."""
    out, corners = [0] * bpp + row, [0] * bpp + above
    for i, up in enumerate(above):
        left, corner = out[i], corners[i]
        to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
        if to_left <= to_up and to_left <= to_corner:
            nearest = left
        else:
            nearest = up if to_up <= to_corner else corner
        out[i + bpp] = (out[i + bpp] + nearest) & 255
    return out[bpp:]


def _intensity(rows: Array, width: int, depth: int, colour: int, palette: Array) -> Array:
    """8-bit first channel [height, width] of rows of bytes."""
    channels = CHANNELS[colour]
    if depth == 16:
        return rows[:, :: 2 * channels]
    if depth == 8:
        value = rows[:, ::channels]
    else:
        bits = np.unpackbits(rows, axis=1)[:, : width * depth].reshape(len(rows), width, depth)
        value = bits @ (1 << np.arange(depth - 1, -1, -1))
        if colour == 0:
            value = value * (255 // ((1 << depth) - 1))
    if colour == 3:
        if value.max(initial=0) >= len(palette):
            raise ValueError("the PNG image has a pixel that is not in its palette")
        value = palette[value]
    return value.astype(np.uint8)
