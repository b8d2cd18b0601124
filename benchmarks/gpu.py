"""Steps, gradients and Jacobians per second on a GPU, beside MJX and MuJoCo Warp on the same card.

python benchmarks/gpu.py                                  (on a machine with a GPU; ends within ten minutes)
python benchmarks/gpu.py --platform cpu --worlds 64       (a smoke run)

Each row (engine, model, what is measured) runs in a process of its own. All rows compile side by side, and are then
measured one by one, while nothing compiles. A row that needs more than its time is ended: the cells that it did not
reach say so, as do those that do not fit in memory. What is measured is written to --out after each row; a cell
that stands there with a number is not measured again, so that a second call goes on where the first ended.

Per second: `step` counts steps of a world in one program of many steps, `call` those of a program of one step that
Python calls again and again, `gradient` steps of a rollout that is differentiated by its controls
(values and gradients), `jacobians` the linearised steps (A, B, C, D) of a world. All engines start from the same
states in contact, with the same controls, Newton with 10 iterations, 20 line-search steps and tolerance 1e-6.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxsim import devices, models
from jaxsim.commands import throughput

HERE = Path(__file__).resolve().parent
ENGINES = {
    "jaxsim": "jaxsim",
    "jaxsim-graphs": "jaxsim, loops in CUDA graphs",
    "jaxsim-cublas": "jaxsim, graphs, products by cuBLAS",
    "jaxsim-library": "jaxsim, graphs, systems by cuSolver",
    "jaxsim-hard": "jaxsim, graphs, hard contact",
    "mjx": "MJX",
    "mjx-warp": "MJX, Warp",
    "warp": "MuJoCo Warp",
}
DEFAULT = "jaxsim,mjx,mjx-warp,warp"
FLAGS = {  # of XLA
    "jaxsim-graphs": devices.LOOPS_IN_GRAPHS,
    "jaxsim-cublas": f"{devices.LOOPS_IN_GRAPHS} --xla_gpu_enable_triton_gemm=false",
    "jaxsim-library": devices.LOOPS_IN_GRAPHS,
    "jaxsim-hard": devices.LOOPS_IN_GRAPHS,
}
ROWS = (  # what is measured of which engine, the most telling first; Warp has no derivatives
    *(("step", engine) for engine in ENGINES),
    ("call", "jaxsim"),
    ("call", "jaxsim-graphs"),
    ("gradient", "jaxsim"),
    ("gradient", "jaxsim-graphs"),
    ("jacobians", "jaxsim"),
    ("gradient", "mjx"),
)
PROBE = (
    "import jax, json; d = jax.devices()[0];"
    "print(json.dumps({'platform': d.platform, 'device': d.device_kind, 'count': jax.device_count(),"
    "'memory': (d.memory_stats() or {}).get('bytes_limit'), 'jax': jax.__version__}))"
)


TOLD = 15  # kernels of each profile; --out has more
PATIENCE = 180  # s that JAX has to start


def _environment(platform: str, engine: str = "") -> dict[str, str]:
    """Of the processes that measure: memory is taken as needed, so that what is in use can be told."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS.get(engine, '')}".strip()
    env = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} | ({"XLA_FLAGS": flags} if flags else {})
    return env | {"JAX_PLATFORMS": "cpu"} if platform == "cpu" else env


def _probe(platform: str) -> dict[str, Any]:
    """What JAX runs on; asked of another process, so that this one takes nothing of the card."""
    command = [sys.executable, "-c", PROBE]
    try:
        done = subprocess.run(command, env=_environment(platform), capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        sys.exit(f"JAX did not start within {PATIENCE} s: its driver or the card hangs.")
    if done.returncode:
        sys.exit(f"JAX does not start: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout.splitlines()[-1])
    if platform == "gpu" and found["platform"] not in ("gpu", "cuda", "rocm"):
        sys.exit(
            f"There is no GPU here: JAX {found['jax']} has {found['device']} ({found['platform']}). On a machine that "
            "has one, install jax[cuda12]; for a smoke run here, add --platform cpu --worlds 64."
        )
    return found


@dataclass
class Row:
    """An engine, a model and what is measured, in a process of its own that waits when it has compiled.

    Attributes:
        model: its name or path.
        measure: step, call, gradient or jacobians.
        engine: of ENGINES.
        worlds: what is missing of the row.
        cells: what is there of it, by number of worlds.
        out: the file that the process writes to; what it says of failures is beside it.
        process: None where nothing is missing.
    """

    model: str
    measure: str
    engine: str
    worlds: list[int]
    cells: dict[str, dict[str, Any]]
    out: Path
    process: subprocess.Popen | None = None

    def begin(self, args: argparse.Namespace, start: Path) -> None:
        """Let it compile."""
        task = {
            "path": str(_path(self.model)), "start": str(start), "engine": self.engine, "measure": self.measure,
            "worlds": self.worlds, "steps": args.steps, "repeats": args.repeats,
            "profile": args.profile if args.profile in self.worlds else None,
        }  # fmt: skip
        file = self.out.with_suffix(".task")
        file.write_text(json.dumps(task))
        with self.out.open("w") as out, self.out.with_suffix(".err").open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "gpu_cells.py"), str(file)],
                env=_environment(args.platform, self.engine), stdin=subprocess.PIPE, stdout=out, stderr=err, text=True,
            )  # fmt: skip

    def waits(self) -> bool:
        """Whether it has compiled, or ended."""
        return self.process is None or self.process.poll() is not None or '{"ready"' in self.out.read_text()

    def measured(self, seconds: float) -> None:
        """Let it measure for so long at most, and take its cells."""
        if self.process is None:
            return
        why = f"over {seconds:.0f} s" if seconds >= 1 else "no time was left"
        try:
            if seconds >= 1:
                self.process.communicate("go\n", timeout=seconds)
                words = self.out.with_suffix(".err").read_text().strip().splitlines() or ["no word"]
                why = f"ended: {words[-1][:200]}"
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.end()
        lines = [json.loads(line) for line in self.out.read_text().splitlines() if line.startswith('{"worlds"')]
        found = {str(line.pop("worlds")): line for line in lines}
        self.cells |= {str(w): found.get(str(w), {"error": why}) for w in self.worlds}

    def end(self) -> None:
        """End its process, whatever it does."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def _path(model: str) -> Path:
    return Path(model) if model.endswith(".xml") else models.path(model)


def _save_start(steps: int, worlds: int, file: Path, model: str) -> None:
    """The start of the largest batch, of which smaller ones take the first worlds."""
    settings = throughput.Settings(worlds=worlds, steps=steps)
    start = throughput.prepare(throughput.load_for(_path(model), settings), settings)
    np.savez(file, **{k: np.float32(v) for k, v in vars(start).items()})


def _rows(args: argparse.Namespace, folder: Path, known: dict[tuple[str, str, str], dict[str, Any]]) -> list[Row]:
    """All that are asked for, with what is known of them."""
    rows: list[Row] = []
    for measure, engine, model, worlds in args.rows or _product(args):
        cells = known.get((Path(model).stem, measure, engine), {})
        cells = {w: c for w, c in cells.items() if "error" not in c}
        missing = [w for w in worlds if str(w) not in cells]
        rows.append(Row(model, measure, engine, missing, cells, folder / f"{len(rows)}.out"))
    return rows


def _product(args: argparse.Namespace) -> list[tuple[str, str, str, list[int]]]:
    measures, engines = args.measures.split(","), args.engines.split(",")
    asked = [row for row in ROWS if row[0] in measures and row[1] in engines]
    return [(measure, engine, model, args.worlds) for measure, engine in asked for model in args.models.split(",")]


def _cell(cell: dict[str, Any] | None, notes: list[str]) -> str:
    if cell is None:
        return "-"
    if "error" not in cell:
        return f"{cell['per_s']:,.0f}" + ("" if cell["finite"] else " (not finite)")
    if cell["error"] not in notes:
        notes.append(cell["error"])
    return f"[{notes.index(cell['error']) + 1}]"


def table(record: dict[str, Any]) -> str:
    """All results as Markdown: rates, then compilation and memory, then the longest kernels."""
    where, notes = record["where"], []
    worlds = sorted({int(w) for row in record["rows"] for w in row["cells"]})
    memory = f", {where['memory'] / 1e9:.0f} GB" if where["memory"] else ""
    lines = [f"{where['device']}{memory}, JAX {where['jax']}, float32, {record['steps']} steps; per second\n"]
    lines.append("| model | measured | engine | " + " | ".join(f"{w:,} worlds" for w in worlds) + " |")
    lines.append("|---" * (3 + len(worlds)) + "|")
    for row in record["rows"]:
        cells = [_cell(row["cells"].get(str(w)), notes) for w in worlds]
        lines.append(f"| {row['model']} | {row['measure']} | {ENGINES[row['engine']]} | " + " | ".join(cells) + " |")
    lines += [f"\n[{i}] {note}" for i, note in enumerate(notes, 1)]
    lines.append(
        "\nTrace + compile [s] (the numbers of worlds side by side); temporary KB per world; most memory in use:\n"
    )
    lines.append(
        "| model | measured | engine | worlds | trace + compile | temporary | most |\n|---|---|---|---|---|---|---|"
    )
    for row in record["rows"]:
        for count, cell in row["cells"].items():
            if "error" not in cell:
                lines.append(_costs(row, int(count), cell))
    for row in record["rows"]:
        for count, cell in row["cells"].items():
            if "kernels" in cell:
                lines += _kernels(row, int(count), cell)
    return "\n".join(lines)


def _costs(row: dict[str, Any], count: int, cell: dict[str, Any]) -> str:
    temporary = f"{cell['temp_bytes'] / 1024:.1f}" if "temp_bytes" in cell else "-"
    most = f"{cell['peak_bytes'] / 1e9:.2f} GB" if cell.get("peak_bytes") else "-"
    times = f"{cell.get('trace_s', 0):.1f} + {cell['compile_s']:.1f}"
    return (
        f"| {row['model']} | {row['measure']} | {ENGINES[row['engine']]} | {count:,} | {times} | {temporary} | {most} |"
    )


def _kernels(row: dict[str, Any], count: int, cell: dict[str, Any]) -> list[str]:
    total, wall = cell["device_us"], 1e6 * count / cell["per_s"]
    title = f"{row['model']}, {row['measure']}, {ENGINES[row['engine']]}, {count:,} worlds"
    return [
        f"\n{title}: {wall:,.0f} us a step; in the trace {total:,.0f} us in {cell['launches']:,.0f} kernels, "
        f"of which one or more ran {cell['busy']:.0%} of the time\n",
        "| kernel | launches | us | share | from |\n|---|---|---|---|---|",
        *(
            f"| {k['name'][:60]} | {k['launches']:.1f} | {k['us']:.1f} | {k['us'] / total:.0%} | {k['from'] or '-'} |"
            for k in cell["kernels"][:TOLD]
        ),
    ]


def _arguments() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return sorted(int(w) for w in text.split(","))

    def row(text: str) -> tuple[str, str, str, list[int]]:
        measure, engine, model, *worlds = text.split(":")
        if engine not in ENGINES:
            raise argparse.ArgumentTypeError(f"{engine} is none of {', '.join(ENGINES)}")
        return measure, engine, model, numbers(worlds[0].replace("+", ",")) if worlds else [8192]

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--models", default="humanoid,hopper", help="bundled ones or paths (%(default)s)")
    add("--worlds", type=numbers, default=[1024, 8192, 65536], help="as 1024,8192,65536")
    add("--engines", default=DEFAULT, help=f"of {', '.join(ENGINES)} (%(default)s)")
    add("--measures", default="step,gradient,jacobians", help="%(default)s")
    add("--rows", type=row, nargs="*", help="in place of those three: step:jaxsim:humanoid:1024+8192 and more such")
    add("--steps", type=int, default=20, help="of each rollout (%(default)s)")
    add("--repeats", type=int, default=5, help="of which the median counts (%(default)s)")
    add("--profile", type=int, default=8192, help="worlds of which kernels are timed, 0 for none (%(default)s)")
    add("--minutes", type=float, default=9.5, help="for all rows (%(default)s)")
    add("--compile-minutes", type=float, default=5.0, help="of these, until measuring begins (%(default)s)")
    add("--cell-seconds", type=float, default=20.0, help="for each cell; a row has as many times that (%(default)s)")
    add("--platform", choices=("gpu", "cpu"), default="gpu")
    add("--out", type=Path, default=Path("gpu_benchmark.json"), help="%(default)s")
    args = parser.parse_args()
    unknown = set(args.engines.split(",")) - set(ENGINES)
    if unknown:
        parser.error(f"--engines: {', '.join(sorted(unknown))} is none of {', '.join(ENGINES)}")
    return args


def _measure_all(args: argparse.Namespace, folder: Path, rows: list[Row], record: dict[str, Any]) -> None:
    """Compile all rows side by side, then measure one after the other and write each down."""
    begin = time.monotonic()
    try:
        for row in rows:
            if row.worlds:
                row.begin(args, folder / f"{Path(row.model).stem}.npz")
        for model in dict.fromkeys(row.model for row in rows if row.worlds):
            worlds = max(w for row in rows for w in row.worlds if row.model == model)
            _save_start(args.steps, worlds, folder / f"{Path(model).stem}.npz", model)
        while not all(row.waits() for row in rows) and time.monotonic() - begin < 60 * args.compile_minutes:
            time.sleep(0.2)
        late = [row for row in rows if not row.waits()]
        for row in late:  # would disturb those that are measured
            row.end()
        print(f"{time.monotonic() - begin:4.0f} s  compiled, {len(late)} rows not in time", file=sys.stderr)
        for row in rows:
            left = 60 * args.minutes - (time.monotonic() - begin)
            if row in late:
                row.cells |= {
                    str(w): {"error": f"over {args.compile_minutes:g} minutes to compile"} for w in row.worlds
                }
            else:
                row.measured(min(left, args.cell_seconds * len(row.worlds)))
            told = {"model": Path(row.model).stem, "measure": row.measure, "engine": row.engine, "cells": row.cells}
            record["rows"].append(told)
            args.out.write_text(json.dumps(record, indent=1))
            rates = [f"{w}: {_cell(c, []) if 'error' not in c else c['error']}" for w, c in row.cells.items()]
            print(
                f"{time.monotonic() - begin:4.0f} s  {told['model']} {row.measure} {row.engine}  {'; '.join(rates)}",
                file=sys.stderr,
            )
    finally:
        for row in rows:
            row.end()


def main() -> None:
    """Measure all rows that are asked for, and print the tables."""
    args = _arguments()
    where = _probe(args.platform)
    jax.config.update("jax_platforms", "cpu")  # of this process, which only prepares
    throughput.give_mjx_threads(args.engines.split(","))
    old = json.loads(args.out.read_text()) if args.out.exists() else {}
    same = old.get("where") == where and old.get("steps") == args.steps
    known = {(r["model"], r["measure"], r["engine"]): r["cells"] for r in old["rows"]} if same else {}
    record: dict[str, Any] = {"where": where, "steps": args.steps, "rows": []}
    with tempfile.TemporaryDirectory() as name:
        _measure_all(args, Path(name), _rows(args, Path(name), known), record)
    print(table(record))


if __name__ == "__main__":
    main()
