"""PNG images as height fields see them: one intensity for each pixel, of all that the format knows."""

import io
import struct
import warnings
import zlib

import numpy as np
from PIL import Image, PngImagePlugin

from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
SIGNATURE = b"\x89PNG\r\n\x1a\n"
END = b"\0\0\0\0IEND\xaeB`\x82"  # the last chunk, which Pillow does not verify
MAX_PIXELS = 1 << 26
# what a damaged file makes Pillow raise
_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error)


def read_grey(data: bytes) -> Array:
    """8-bit intensities [height, width]; of a colour image the red channel, as MuJoCo has it.

    Raises:
        Fault: not a PNG image, or a damaged one.
    """
    if not data.startswith(SIGNATURE):
        raise Fault("the file is not a PNG image")
    if END not in data:
        raise Fault("the PNG image is damaged or ends too early")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # remarks on animation and size; the size is checked here, before decoding
            width, height = _verified(data)
            if width * height > MAX_PIXELS:
                raise Fault(f"{width} by {height} pixels; expected at most {MAX_PIXELS}")
            image = PngImagePlugin.PngImageFile(io.BytesIO(data))
            image.load()
    except _DAMAGED as error:
        raise Fault(f"the PNG image is damaged or too large: {error}") from None
    return _first_channel(image)


def _verified(data: bytes) -> tuple[int, int]:
    """Width and height of an image whose chunks are whole, which Pillow does not ask for when it decodes."""
    image = PngImagePlugin.PngImageFile(io.BytesIO(data))
    image.verify()
    return image.size


def _first_channel(image: Image.Image) -> Array:
    """Grey or red in 8 bits [height, width]; of 16 bits the upper ones, as in MuJoCo's decoder."""
    pixels = np.asarray(image)
    match image.mode:
        case "1":  # truth values
            return pixels.astype(np.uint8) * np.uint8(255)
        case "I;16":
            return (pixels >> 8).astype(np.uint8)
        case "P":
            red = np.zeros(256, np.uint8)  # what a palette lacks is black
            written = np.array(image.getpalette(), np.uint8)[::3]
            red[: len(written)] = written
            return red[pixels]
    return pixels if pixels.ndim == 2 else pixels[..., 0]
