"""Where the files that a model names come from."""

import os
from pathlib import Path, PurePosixPath

from jaxsim.mjcf.language.errors import Fault, nearest


class Files:
    """Where a model's files come from: a dictionary of assets first, then the disk.

    directory: that of the model, which names are relative to. included: paths of the files that it includes.
    """

    def __init__(self, directory: Path | None, assets: dict[str, bytes] | None):
        self.directory = directory
        self.assets = {_normal(name): data for name, data in (assets or {}).items()}
        self.included: set[str] = set()

    def beside(self, file: str, name: str) -> list[str]:
        """A name in the directory of an included file; nothing if the file is the model itself."""
        if file not in self.included:
            return []
        folder = os.path.dirname(file)
        return [os.path.join(folder if self.directory is None else os.path.relpath(folder, self.directory), name)]

    def read(self, *candidates: str | os.PathLike) -> tuple[str, bytes]:
        """Name and content of the first candidate that exists; Fault names what was tried."""
        for candidate in candidates:
            found = self._find(candidate)
            try:
                if found is not None:
                    return str(found), self.assets[found] if isinstance(found, str) else found.read_bytes()
            except OSError as error:
                raise Fault(f"file {str(candidate)!r} cannot be read: {error}") from None
        tried = ", ".join(repr(str(c)) for c in dict.fromkeys(map(str, candidates)))
        known = list(self.assets)
        raise Fault(f"file not found: tried {tried}{nearest(_normal(candidates[0]), known)}")

    def exists(self, name: str | os.PathLike) -> bool:
        """Whether there is a file of this name."""
        return self._find(name) is not None

    def _find(self, candidate: str | os.PathLike) -> str | Path | None:
        """Name of an asset, or path on the disk."""
        for name in (_normal(candidate), PurePosixPath(_normal(candidate)).name):
            if name in self.assets:
                return name
        if self.directory is None and not os.path.isabs(candidate):
            return None
        path = (self.directory or Path()) / Path(os.fspath(candidate).replace("\\", "/"))
        try:
            return path if path.is_file() else None
        except (OSError, ValueError) as error:
            raise Fault(f"file {str(candidate)!r} cannot be read: {error}") from None


def _normal(name: str | os.PathLike) -> str:
    return os.path.normpath(os.fspath(name).replace("\\", "/")).replace("\\", "/")
