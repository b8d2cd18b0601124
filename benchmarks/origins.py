"""Which line of a simulator an operation of a compiled program comes from, by XLA's own tables of source lines."""

import re
from collections import defaultdict

TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
SIMULATORS = ("/jaxsim/", "/mujoco/mjx/_src/")
CARRIERS = ("layout/", "algebra/", "checks/", "math.py")  # what serves many stages: the stage is what one asks for


def origins(text: str) -> dict[str, str]:
    """For each operation, by its name as a CUDA kernel has it, "solvers/newton.py:98 newton".

    Args:
        text: of the compiled program. Operations of other packages, and those that XLA made, are left out.
    """
    tables = _tables(text)
    found: dict[str, str] = {}
    for name, frame in re.findall(r"%?([\w.\-]+) = .*stack_frame_id=(\d+)", text):
        where = _innermost(tables, int(frame))
        if where:
            found[kernel_name(name)] = where
    return found


def kernel_name(name: str) -> str:
    """An operation's name without what a CUDA kernel's may not contain."""
    return re.sub(r"[.\-]", "_", name)


def _tables(text: str) -> dict[str, dict[int, str]]:
    """The numbered tables at the head of a program's text."""
    tables: dict[str, dict[int, str]] = defaultdict(dict)
    current = None
    for line in text.splitlines():
        row = re.match(r"(\d+) (.*)", line)
        if line in TABLES:
            current = line
        elif row and current:
            tables[current][int(row[1])] = row[2].strip('"')
        elif line.startswith(("%", "ENTRY")):
            break
    return tables


def _innermost(tables: dict[str, dict[int, str]], frame: int) -> str | None:
    """The innermost line of a simulator that is not a carrier's."""
    while frame in tables["StackFrames"]:
        of_frame = _fields(tables["StackFrames"][frame])
        place = _fields(tables["FileLocations"][of_frame["file_location_id"]])
        name = tables["FileNames"][place["file_name_id"]]
        file = next((name.rpartition(s)[2] for s in SIMULATORS if s in name), None)
        if file and not file.startswith(CARRIERS):
            return f"{file}:{place['line']} {tables['FunctionNames'][place['function_name_id']]}"
        frame = of_frame["parent_frame_id"] - 1  # counted from 1, and 1 stands for none
    return None


def _fields(text: str) -> dict[str, int]:
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text)}
