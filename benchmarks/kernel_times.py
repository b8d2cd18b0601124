"""Time by kernel, from a trace of JAX's profiler, read with JAX alone."""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import jax
from jax.profiler import ProfileData


class Kernel(NamedTuple):
    """One kernel of a program: its name, and per call of the program the launches and microseconds."""

    name: str
    launches: float
    us: float


def traced(run: Callable[[], Any], calls: int = 1) -> tuple[list[Kernel], float]:
    """The kernels of a program that is compiled already, the longest first, and the share of time that one ran.

    Args:
        run: calls the program and waits for it.
        calls: of the program.
    """
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            for _ in range(calls):
                run()
        (file,) = Path(folder).rglob("*.xplane.pb")
        profile = ProfileData.from_file(str(file))  # held while its lines are read, which point into it
        lines = [list(_spans(line)) for line in _lines(profile)]
    totals: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for line in lines:
        for name, ns in _own_times(line):
            totals[name][0] += 1
            totals[name][1] += ns
    kernels = [Kernel(name, n / calls, ns / 1e3 / calls) for name, (n, ns) in totals.items()]
    return sorted(kernels, key=lambda k: -k.us), _busy([(start, end) for line in lines for _, start, end in line])


def _lines(profile: ProfileData) -> Iterable[Any]:
    """What ran on a device: the streams of a GPU, which other lines only sum up; or the threads of a CPU."""
    planes = list(profile.planes)
    gpus = [plane for plane in planes if plane.name.startswith("/device:GPU")]
    if gpus:
        return [line for plane in gpus for line in plane.lines if "Stream" in line.name]
    return [line for plane in planes for line in plane.lines if plane.name == "/host:CPU"]


def _spans(line: Any) -> Iterable[tuple[str, float, float]]:
    """(name, start, end) in nanoseconds; of a CPU's thread those of operations only."""
    on_gpu = "Stream" in line.name
    for event in line.events:
        if on_gpu or any(key == "hlo_op" for key, _ in event.stats):
            yield event.name, event.start_ns, event.start_ns + event.duration_ns


def _own_times(spans: list[tuple[str, float, float]]) -> list[tuple[str, float]]:
    """Nanoseconds of each span without those inside it: a loop is not counted again in what it runs."""
    own: list[tuple[str, float]] = []
    open_spans: list[tuple[int, float]] = []  # place in `own`, and end
    for name, start, end in sorted(spans, key=lambda s: (s[1], -s[2])):
        while open_spans and open_spans[-1][1] <= start:
            open_spans.pop()
        if open_spans:
            outer = open_spans[-1][0]
            own[outer] = (own[outer][0], own[outer][1] - (end - start))
        open_spans.append((len(own), end))
        own.append((name, end - start))
    return own


def _busy(spans: list[tuple[float, float]]) -> float:
    """The share of the time from the first start to the last end in which something ran."""
    if not spans:
        return 0.0
    spans.sort()
    total, reached = 0.0, spans[0][0]
    for start, end in spans:
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total / (reached - spans[0][0]) if reached > spans[0][0] else 0.0
