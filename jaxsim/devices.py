"""Batches shared between devices: the cores of a CPU, or several GPUs; and programs kept from one run to the next."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

WORLDS = "worlds"  # the axis of the mesh
GRAPHS = "--xla_gpu_enable_command_buffer"  # what XLA makes CUDA graphs of
LOOPS_IN_GRAPHS = f"{GRAPHS}=+WHILE,+CONDITIONAL"


def use_cores(count: int | None = None) -> int:
    """Make each core of the CPU a device of JAX.

    One XLA program uses little more than one core of a CPU, whatever the size of its batch. This must come
    before JAX's first computation; afterwards, or where `jax_num_cpu_devices` is set, nothing changes.

    Args:
        count: cores to use; by default all that this process may run on.

    Returns:
        The number of devices that JAX has now.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jax.config.jax_num_cpu_devices < 0:  # type: ignore[attr-defined]
        with contextlib.suppress(RuntimeError):  # raised once JAX is in use
            jax.config.update("jax_num_cpu_devices", count or cores)
    return jax.device_count()


def use_graphs() -> None:
    """Let NVIDIA GPUs run the loops of a program by themselves.

    A solver's loop goes on until its last world is done. By default the host asks after each round whether that is
    so, and the GPU waits meanwhile; in a CUDA graph the GPU decides. This must come before JAX's first computation.
    It sets a flag of XLA, unless the environment variable XLA_FLAGS says something about these graphs already; on
    other platforms the flag does nothing.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if GRAPHS not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {LOOPS_IN_GRAPHS}".strip()


def keep_programs(folder: Path | str | None = None) -> Path | None:
    """Keep compiled programs in a folder, so that the next run of the same finds them.

    It is JAX's persistent compilation cache. What takes less than a second to compile is not kept. Where JAX has a
    folder already, by `JAX_COMPILATION_CACHE_DIR` or `jax_compilation_cache_dir`, nothing changes. The folder can be
    deleted at any time; other versions of JAX, other processors and other flags of XLA have programs of their own.

    Args:
        folder: by default `jaxsim` in the user's cache, $XDG_CACHE_HOME or ~/.cache.

    Returns:
        Where they are kept; None, and nothing is kept, if the user's cache cannot be written to.

    Raises:
        OSError: a folder that is given cannot be made.
    """
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        try:
            place = Path(folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxsim")
            place.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # or there is no home
            if folder:
                raise
            return None
        jax.config.update("jax_compilation_cache_dir", str(place))
    return Path(jax.config.jax_compilation_cache_dir)  # type: ignore[attr-defined]


def vmap(fun: Callable, in_axes: tuple[int | None, ...], count: int | None = None) -> Callable:
    """`jax.vmap` whose worlds are shared equally between devices.

    Each device runs its own program and waits for none of the others. A world's numbers do not depend on how
    many devices there are.

    Args:
        fun: a function of one world, such as `step`.
        in_axes: for each argument 0 if it is batched and None if it is the same for all worlds.
        count: devices to use, by default all; the number of worlds must be a multiple of it.

    Returns:
        The batched function, for use under `jax.jit`.
    """
    if any(axis not in (0, None) for axis in in_axes):
        raise ValueError(f"in_axes is {in_axes}: worlds are shared along axis 0")
    split = PartitionSpec(WORLDS)
    specs = tuple(PartitionSpec() if axis is None else split for axis in in_axes)
    # check_vma: our loops start from values that are the same on all devices
    return jax.shard_map(jax.vmap(fun, in_axes), mesh=_mesh(count), in_specs=specs, out_specs=split, check_vma=False)


def shared(count: int) -> NamedSharding:
    """The placement of a batch on devices: [worlds, ...] in equal parts."""
    return NamedSharding(_mesh(count), PartitionSpec(WORLDS))


def whole(count: int) -> NamedSharding:
    """The placement of what every device holds."""
    return NamedSharding(_mesh(count), PartitionSpec())


def _mesh(count: int | None) -> Mesh:
    devices = jax.devices()[:count]
    if count and len(devices) < count:
        raise ValueError(f"{count} devices are asked for, JAX has {len(devices)}")
    return Mesh(np.asarray(devices), (WORLDS,))
