"""Planning and identification on the public API: `import jaxsim.optimize`."""

from jaxsim.optimize.cost import Cost
from jaxsim.optimize.identification import Identified, identify
from jaxsim.optimize.ilqr import Plan, Settings, ilqr
from jaxsim.optimize.mpc import mpc
from jaxsim.optimize.parameters import Parameters, linear, log, log_cholesky, parameters
from jaxsim.optimize.sampling import Sampled, cem, mppi
from jaxsim.optimize.shooting import Shot, shoot
from jaxsim.optimize.trajectory import Linearisation, difference, displaced, linearise_trajectory
from jaxsim.optimize.windows import Windows, windows

__all__ = [
    "Cost",
    "Identified",
    "Linearisation",
    "Parameters",
    "Plan",
    "Sampled",
    "Settings",
    "Shot",
    "Windows",
    "cem",
    "difference",
    "displaced",
    "identify",
    "ilqr",
    "linear",
    "linearise_trajectory",
    "log",
    "log_cholesky",
    "mpc",
    "mppi",
    "parameters",
    "shoot",
    "windows",
]
