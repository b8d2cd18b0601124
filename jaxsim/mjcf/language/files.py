"""Where the files that a model names come from."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from jaxsim.mjcf.language.errors import Fault, nearest

PACKAGE = "package://"


class Files:
    """Where a model's files come from: a dictionary of assets first, then the disk.

    directory: that of the model, which names are relative to. packages: folders of what is named package://.
    included: paths of the files that the model includes. models: those of the model files read so far, by the model
    and by those that it names.
    """

    def __init__(
        self,
        directory: Path | None,
        assets: dict[str, bytes] | None = None,
        packages: Mapping[str, str | os.PathLike] | None = None,
    ):
        self.directory = directory
        self.packages = {name: os.path.abspath(folder) for name, folder in (packages or {}).items()}
        contents = {n: data.encode() if isinstance(data, str) else data for n, data in (assets or {}).items()}
        self.assets = {_normal(name): data for name, data in contents.items()}
        self.included: set[str] = set()
        self.models: list[str] = []

    def beside(self, file: str, name: str) -> list[str]:
        """A name in the directory of an included file; nothing if the file is the model itself."""
        if file not in self.included:
            return []
        folder = os.path.dirname(file)
        if self.directory is not None:
            folder = os.path.relpath(folder or ".", self.directory)
        return [os.path.normpath(os.path.join(folder, name))]

    def packaged(self, name: str) -> list[str]:
        """Paths that package://NAME/FILE may stand for, the likeliest first.

        Without a folder given for the package it is the nearest one of its name among those that the model is in
        and those beside them.
        """
        package, _, file = name.removeprefix(PACKAGE).partition("/")
        if package in self.packages:
            return [name, os.path.join(self.packages[package], file)]
        here = self.directory.absolute() if self.directory is not None else None
        above = [here, *here.parents] if here else []
        folders = [f for up in above for f in ((up,) if up.name == package else (up / package,)) if f.is_dir()]
        if not folders and not self.exists(name):
            known = nearest(package, self.packages)
            raise Fault(
                f"file {name!r}: no folder {package!r} is found above the model; "
                f"pass packages={{{package!r}: its folder}}{known}"
            )
        return [name, *(str(folder / file) for folder in folders)]

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
        path = (self.directory or Path()) / _normal(candidate)
        try:
            return path if path.is_file() else None
        except (OSError, ValueError) as error:
            raise Fault(f"file {str(candidate)!r} cannot be read: {error}") from None


def _normal(name: str | os.PathLike) -> str:
    return os.path.normpath(os.fspath(name).replace("\\", "/")).replace("\\", "/")
