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


def imports(path: Path, typing: bool = True) -> set[str]:
    """Modules that a file imports, wherever in it: `from package import module` counts as the module.

    Args:
        path: a file of the package.
        typing: count also what only type checkers see.
    """
    found = set()
    for node in _walk(ast.parse(path.read_text()), typing):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    return found


def _walk(node: ast.AST, typing: bool) -> Iterator[ast.AST]:
    """Nodes of a file; those under `if TYPE_CHECKING` only if asked for."""
    for child in ast.iter_child_nodes(node):
        hidden = isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"
        if typing or not hidden:
            yield child
            yield from _walk(child, typing)


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


def loaded_with(module: str) -> set[str]:
    """Everything that importing a module imports, but for what jaxsim's own __init__ does."""
    found, left = set(), [module]
    while left:
        module = left.pop()
        if module in found or module == "jaxsim":
            continue
        found.add(module)
        if module in MODULES:
            packages = [module.rsplit(".", n)[0] for n in range(1, module.count(".") + 1)]
            left += [*packages, *imports(MODULES[module], typing=False)]
    return found


def long_files(root: Path, most: int = 400) -> set[str]:
    """Files of more than `most` lines, from `root` on."""
    return {p.relative_to(root).as_posix() for p in root.rglob("*.py") if len(p.read_text().splitlines()) > most}
