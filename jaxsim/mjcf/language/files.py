"""Where the files that a model names come from."""

import os
from pathlib import Path, PurePosixPath

from jaxsim.mjcf.language.errors import Fault, nearest


class Files:
    """Where a model's files come from: a dictionary of assets first, then the disk."""

    def __init__(self, directory: Path | None, assets: dict[str, bytes] | None):
        self.directory = directory
        self.assets = {_normal(name): data for name, data in (assets or {}).items()}

    def read(self, *candidates: str | os.PathLike) -> tuple[str, bytes]:
        """Name and content of the first candidate that exists; Fault names what was tried."""
        for candidate in candidates:
            for name in (_normal(candidate), PurePosixPath(_normal(candidate)).name):
                if name in self.assets:
                    return name, self.assets[name]
            if self.directory is None and not os.path.isabs(candidate):
                continue
            path = (self.directory or Path()) / Path(os.fspath(candidate).replace("\\", "/"))
            try:
                if path.is_file():
                    return str(path), path.read_bytes()
            except (OSError, ValueError) as error:
                raise Fault(f"file {str(candidate)!r} cannot be read: {error}") from None
        tried = ", ".join(repr(str(c)) for c in dict.fromkeys(map(str, candidates)))
        known = list(self.assets)
        raise Fault(f"file not found: tried {tried}{nearest(_normal(candidates[0]), known)}")


def _normal(name: str | os.PathLike) -> str:
    return os.path.normpath(os.fspath(name).replace("\\", "/")).replace("\\", "/")
