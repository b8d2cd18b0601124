"""Train on the point mass, as a process of its own: folder, algorithm, and `name=value` settings.

With `host=I/N@ADDRESS:PORT` it is one of several that train together, each with one device.
"""

import sys
from pathlib import Path

from jaxsim import devices
from training import hosts, loop, run

HOST = next((word.removeprefix("host=") for word in sys.argv if word.startswith("host=")), None)

# before the model of the point mass is made; in the tests it is so already
if HOST:
    hosts.join(*run.host(HOST))
devices.use_cores(1 if HOST else 2)

from point_mass import PointMass  # noqa: E402

from training.experiment import Task  # noqa: E402

SETTINGS = {
    "ppo": {"unroll": 10, "minibatches": 4, "learning_rate": 3e-3, "discount": 0.95},
    "shac": {"unroll": 10, "actor_rate": 1e-2, "critic_epochs": 4, "discount": 0.95},
    "mage": {"unroll": 10, "updates": 32, "batch": 128, "kept": 6400, "warm_up": 640, "rate": 3e-3, "discount": 0.95},
    "ars": {"rate": 0.1, "noise": 0.1},
    "ags": {"rate": 0.05},
    "cem": {"best": 8},
}


def learner(algorithm: str, fault: float = 1e9, **changes):
    """A learner of the point mass, and its settings."""
    kind = run._module(algorithm)[1]
    common = {"worlds": 64, "steps": 64 * 20 * 50, "checkpoint_seconds": 0.2, "tensorboard": False}
    config = kind(algorithm=algorithm, env=Task("point_mass"), **{**common, **SETTINGS[algorithm], **changes})
    return run.make(config, PointMass(fault)), config


if __name__ == "__main__":
    import compilation

    compilation.compile_in_little_time()  # as the tests compile: the same program
    changes = (word.split("=") for word in sys.argv[3:] if not word.startswith("host="))
    made, config = learner(sys.argv[2], **{k: int(v) for k, v in changes})
    loop.train(made, config, Path(sys.argv[1]))
