"""What imports what in jaxsim, read from the source without running it."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import jaxsim

ROOT = Path(jaxsim.__file__).parent


def module_of(path: Path) -> str:
    """jaxsim.core.data, or jaxsim.core for its __init__."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("jaxsim", *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def name(path: Path) -> str:
    """Path from the package on, for messages."""
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> set[str]:
    """Modules that a file imports, wherever in it: `from package import module` counts as the module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    return found


def inner_imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of every import inside of a function."""
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from ((node.lineno, alias.name) for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield node.lineno, node.module


def graph(modules: Iterable[str]) -> dict[str, set[str]]:
    """The modules of jaxsim that each of `modules` imports."""
    return {m: {i for i in imports(MODULES[m]) if i in MODULES and i != m} for m in modules}


def long_files(root: Path, most: int = 400) -> set[str]:
    """Files of more than `most` lines, from `root` on."""
    return {p.relative_to(root).as_posix() for p in root.rglob("*.py") if len(p.read_text().splitlines()) > most}
