"""Simulate a model in many worlds; optionally write a player (HTML) and the trajectories (npz).

The player shows the first few worlds. The npz file holds, for the same worlds and frames, time, qpos,
qvel, ctrl, xpos, xquat, sensordata and more, each [frames, worlds, ...], and final_qpos, final_qvel of all
worlds. Poses and sensor values belong to the time of their frame; qpos and qvel are those one step later.
"""

import argparse
import sys
import time
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from jaxsim.checks.room import budgets, shortages
from jaxsim.commands.output import count, number, print_json, stderr
from jaxsim.commands.recording import FIELDS, Plan, Runner
from jaxsim.commands.source import InputError, not_negative, positive, resolve, writable
from jaxsim.core.data import Data, make_data, report, warnings_of
from jaxsim.core.enums import EnableBit
from jaxsim.core.model import Model
from jaxsim.devices import use_cores
from jaxsim.envs.policy import Policy, load_policy
from jaxsim.load import load
from jaxsim.viewer import Contacts, Trajectory, write_player

COMPILE = 7e-4  # s that XLA takes for each operation of a program on a core: measured from 15,000 to 32,000 operations


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("--worlds", type=positive, default=1, help="number of worlds (1)")
    add("--steps", type=positive, default=1000, help="steps of each world (1000)")
    add(
        "--policy",
        metavar="random|zero|FILE",
        default="random",
        help="controls: smooth noise in range (random), none (zero), or a policy.zip of training/, in its task",
    )
    add("--task", metavar="NAME", help="of the policy, where it is a class of your own: FILE.py:CLASS or MODULE:CLASS")
    add("--keyframe", metavar="NAME", help="start from this keyframe, by name or number, instead of qpos0")
    add("--perturb", type=not_negative, default=0.0, metavar="SIGMA", help="noise on the initial velocity (0)")
    add("--seed", type=int, default=0, help="seed of controls and noise (0)")
    add(
        "--max-contacts",
        type=positive,
        metavar="N",
        help="contact slots per world (by default from the geoms)",
    )
    add("--devices", type=positive, metavar="N", help="devices that share the worlds (the cores of a CPU; one GPU)")
    add("--show-worlds", type=positive, metavar="K", help="worlds to record for --out and --save (at most 8)")
    add("--fps", type=positive, default=50, help="recorded frames per second of simulated time (50)")
    add("--out", type=writable, metavar="FILE.html", help="write a self-contained player")
    add("--forces", action="store_true", help="show contact forces in the player, not only where contacts are")
    add("--save", type=writable, metavar="FILE.npz", help="write the recorded trajectories")
    add("--json", action="store_true", help="print a summary as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    path = resolve(args.model)
    written = [file.resolve() for file in (args.out, args.save) if file]
    if len({path.resolve(), *written}) <= len(written):
        raise InputError("--out, --save and the model must be three different files")
    devices = sharing(args.worlds, args.devices)
    start = time.perf_counter()
    model = load(path, max_contacts=args.max_contacts)
    policy = trained(args, model)
    model = policy.env.configured(model) if policy else model
    loaded = time.perf_counter() - start
    data = initial(model, args.keyframe)
    shown = min(args.worlds, args.show_worlds or 8)
    if args.out:  # the plots show the energy
        model = model.replace(opt=model.opt.replace(enableflags=model.opt.enableflags | EnableBit.ENERGY))
    stride = max(1, round(1 / (args.fps * float(model.opt.timestep))))
    touching = bool(args.out and model.nconmax)
    plan = Plan(
        args.worlds,
        args.steps,
        stride,
        shown,
        args.policy == "random",
        devices,
        touching,
        touching and args.forces,
        policy,
    )
    record = {"model": str(path), "name": path.stem, "load_s": loaded, **_headline(model, args, devices)}
    _remark(args, record["summary"])
    try:
        runner = Runner(model, data, plan, args.seed)
        perturb(runner, args.perturb, args.seed)
        record |= _execute(runner, args, record)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise InputError(f"not enough memory for {count(args.worlds, 'world')}; try fewer") from None
    record |= _write(runner, args, record)
    _finish(runner.model, runner.state.data, args, record)
    return 0


def trained(args: argparse.Namespace, model: Model) -> Policy | None:
    """The policy in the file that --policy names, if it names one; its task is to fit the model."""
    if args.policy in ("zero", "random"):
        if args.task:
            raise InputError("--task: it is that of a policy from a file, --policy FILE")
        return None
    if args.keyframe:
        raise InputError("--keyframe and --policy FILE: the policy's task says how worlds start")
    try:
        policy = load_policy(args.policy, args.task)
    except FileNotFoundError:
        raise InputError(f"--policy {args.policy}: neither random nor zero nor a file") from None
    except KeyError as error:
        raise InputError(f"--task {args.task}: {error.args[0]}") from None
    except ValueError as error:
        raise InputError(f"--policy: {error}") from None
    ours, theirs = ((m.nq, m.nv, m.nu) for m in (model, policy.env.model))
    if ours != theirs:
        task = type(policy.env).__name__
        raise InputError(
            f"--policy {args.policy} acts on the model of {task} with nq, nv, nu {theirs}; this one has {ours}"
        )
    return policy


def sharing(worlds: int, asked: int | None) -> int:
    """How many devices share the worlds equally: those asked for, or as many cores of a CPU as can, or one GPU."""
    present = use_cores(asked)
    if asked and asked > present:
        raise InputError(f"--devices {asked}: JAX has {count(present, 'device')}")
    if asked and worlds % asked:
        raise InputError(f"--devices {asked}: {count(worlds, 'world')} cannot be shared equally")
    most = present if jax.default_backend() == "cpu" else 1
    return asked or max(n for n in range(1, most + 1) if worlds % n == 0)


def initial(model: Model, keyframe: str | None) -> Data:
    """The Data of one world at the keyframe, or at qpos0."""
    names = model.topology.names.get("key", [])
    try:
        chosen = int(keyframe) if keyframe and keyframe not in names and keyframe.isdigit() else keyframe
        return make_data(model, chosen)
    except KeyError as error:
        raise InputError(str(error.args[0])) from None


def perturb(runner: Runner, sigma: float, seed: int) -> None:
    """Add normal noise to the initial velocities, different in every world."""
    if sigma:
        data = runner.state.data
        noise = jax.random.normal(jax.random.key(seed + 1), data.qvel.shape, data.qvel.dtype)
        runner.state = runner.state._replace(data=data.replace(qvel=data.qvel + sigma * noise))


def _headline(model: Model, args: argparse.Namespace, devices: int) -> dict[str, Any]:
    device = jax.devices()[0]
    dt = float(model.opt.timestep)
    summary = (
        f"{count(model.nv, 'dof')}, {count(model.nu, 'control')}, {count(model.nconmax, 'contact slot')}; "
        f"{count(args.worlds, 'world')}, {count(args.steps, 'step')} of {dt * 1e3:.3g} ms "
        f"on {devices} x {device.device_kind} in {model.qpos0.dtype}"
    )
    return {
        "worlds": args.worlds,
        "steps": args.steps,
        "timestep": dt,
        "device": str(device),
        "devices": devices,
        "summary": summary,
    }


def _execute(runner: Runner, args: argparse.Namespace, record: dict[str, Any]) -> dict[str, Any]:
    worlds = count(args.worlds, "world")
    with stderr().status(f"tracing a step of {worlds}"):
        traced, operations = runner.trace()
    # before the longest silence, also where no terminal shows a status
    _remark(
        args, f"compiling a step of {worlds}: {operations:,} operations, about {operations * COMPILE:.0f} s on a CPU"
    )
    with stderr().status("compiling"):
        compiled = runner.compile()
    _remark(args, f"loaded in {record['load_s']:.2f} s, traced in {traced:.2f} s, compiled in {compiled:.2f} s")
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} steps"),
    )
    start = time.perf_counter()
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=stderr(), transient=True) as bar:
        task = bar.add_task("", total=args.steps)
        for done in runner.run():
            bar.update(task, completed=done)
    elapsed = time.perf_counter() - start
    rate = args.worlds * args.steps / elapsed
    speed = rate * record["timestep"]
    total = args.worlds * args.steps
    _remark(args, f"{total:,} steps in {elapsed:.2f} s: {number(rate)} steps/s, {number(speed)} times real time")
    return {
        "trace_s": traced,
        "compile_s": compiled,
        "run_s": elapsed,
        "steps_per_s": rate,
        "real_time_factor": speed,
    }


def _write(runner: Runner, args: argparse.Namespace, record: dict[str, Any]) -> dict[str, Any]:
    if not (args.out or args.save):
        return {}
    frames = runner.frames()
    if args.save:
        final = {f"final_{k}": np.asarray(getattr(runner.state.data, k)) for k in ("time", "qpos", "qvel", "warning")}
        with args.save.open("wb") as stream:
            np.savez_compressed(stream, **{name: frames[name] for name in FIELDS}, **final)  # type: ignore[arg-type]
        _remark(args, f"wrote {args.save}")
    if args.out:
        subtitle = f"{record['summary']}; controls: {args.policy}"
        names = runner.model.topology.names.get("body", [])
        clip = trajectory(frames, float(runner.model.opt.timestep) * runner.plan.stride)
        write_player(args.out, runner.model, clip, title=record["name"], subtitle=subtitle, body_names=names)
        _remark(args, f"wrote {args.out} ({args.out.stat().st_size / 1e6:.1f} MB)")
    return {"out": args.out and str(args.out), "save": args.save and str(args.save)}


def trajectory(frames: dict[str, np.ndarray], period: float) -> Trajectory:
    """The player's input from recorded frames `period` seconds apart."""
    start = float(frames["time"][0].min()) if np.isfinite(frames["time"][0]).all() else 0.0
    channels = {
        "energy [J]": frames["energy"].sum(-1),
        "contacts": frames["ncon"],
        "solver iterations": frames["solver_niter"],
    }
    # a world that was reset starts its own clock anew, so count frames
    instants = start + period * np.arange(len(frames["xpos"]))
    used = {name: values for name, values in channels.items() if np.any(values)}
    return Trajectory(instants, frames["xpos"], frames["xquat"], used, contacts=contacts(frames))


def contacts(frames: dict[str, np.ndarray]) -> Contacts | None:
    """The player's contacts from recorded frames, if they were recorded."""
    if "contact_pos" not in frames:
        return None
    pos = frames["contact_pos"]
    count = np.minimum(frames["ncon"], pos.shape[2])
    if frames["ncon"].max() > pos.shape[2]:
        most = int(frames["ncon"].max())
        print(
            f"jaxsim: warning: a world has {most} contacts; the player shows the first {pos.shape[2]}", file=sys.stderr
        )
    return Contacts(count, pos, frames["contact_normal"], frames.get("contact_force"))


def _finish(model: Model, data: Data, args: argparse.Namespace, record: dict[str, Any]) -> None:
    finite = float(jnp.isfinite(data.qpos).all(-1).mean())
    room = budgets(model, data)
    record |= {"warnings": warnings_of(data), "finite_worlds": finite}
    record["budgets"] = {name: {"size": used.size, "peak": used.peak} for name, used in room.items()}
    if args.json:
        print_json(record)
        return
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        report(data)
    peaks = ", ".join(f"{used.peak} of {used.size} {name}" for name, used in room.items() if used.size)
    _remark(args, f"at most {peaks}" if peaks else "nothing can collide")
    for warning in raised:
        print(f"jaxsim: warning: {warning.message}", file=sys.stderr)
    for text in shortages(model, data):
        print(f"jaxsim: warning: budget of {text}", file=sys.stderr)


def _remark(args: argparse.Namespace, text: str) -> None:
    if not args.json:
        print(text, flush=True)
