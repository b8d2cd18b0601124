"""Train on the point mass, as a process that can be killed: folder, algorithm, and `name=value` settings."""

import sys
from pathlib import Path

from jaxsim import devices

devices.use_cores(2)  # before the model of the point mass is made; in the tests it is so already

from point_mass import PointMass  # noqa: E402

from training import loop, run  # noqa: E402
from training.experiment import Task  # noqa: E402

SETTINGS = {
    "ppo": {"unroll": 10, "minibatches": 4, "learning_rate": 3e-3, "discount": 0.95},
    "shac": {"unroll": 10, "actor_rate": 1e-2, "critic_epochs": 4, "discount": 0.95},
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

    compilation.in_little_time()  # as the tests compile: the same program
    made, config = learner(sys.argv[2], **{k: int(v) for k, v in (word.split("=") for word in sys.argv[3:])})
    loop.train(made, config, Path(sys.argv[1]))
