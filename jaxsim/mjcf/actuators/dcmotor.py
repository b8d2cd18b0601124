"""DC motors: electrical, thermal and friction parameters as MuJoCo's parameter arrays.

gainprm: R, K, alpha, T0, kp, ki, kd, v_max. dynprm: te, (di/dt)_max, R_th, C_th, T_ambient, LuGre sigma0,
sigma1, slewmax, imax. biasprm: cogging amplitude, periodicity, phase; LuGre Coulomb, static, Stribeck.
"""

import math
from typing import Any

import numpy as np

from jaxsim.core.enums import BiasType, DynType, GainType
from jaxsim.mjcf.actuators.inputs import INPUT_NONE
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Fault

Values = dict[str, Any]


def dcmotor(actuator: Values, given: Values, inherited: Values | None, ctrlspec: int) -> Values:
    """Parameters of a DC motor element.

    Args:
        actuator: mechanical attributes so far.
        given: attributes of the element.
        inherited: parameters of a dcmotor default, or None.
        ctrlspec: control signature.

    Raises:
        Fault: the constants do not determine a motor.
    """
    old = inherited or {"gainprm": np.zeros(10), "dynprm": np.zeros(10), "biasprm": np.zeros(10)}
    gain, dyn, bias = old["gainprm"].copy(), old["dynprm"].copy(), old["biasprm"].copy()
    gain[0], gain[1] = _constants(actuator, given, gain, ctrlspec)
    _controller(given, gain, dyn)
    limits = _saturation(given, gain, dyn)
    bias[:3] = _merged(given, "cogging", bias[:3])
    dyn[0] = _electrical_time(given, gain, dyn)
    slots = int(dyn[0] > 0) + int(dyn[7] > 0) + int(gain[5] > 0)
    slots += _thermal(given, gain, dyn) + _lugre(given, dyn, bias)
    return limits | {
        "dyntype": DynType.DCMOTOR,
        "gaintype": GainType.DCMOTOR,
        "biastype": BiasType.DCMOTOR,
        "gainprm": gain,
        "dynprm": dyn,
        "biasprm": bias,
        "ctrlspec": ctrlspec,
        "actdim": slots,
        "unlimited": True,
        "actearly": True,
        "inheritrange": 0.0,
    }


def _merged(given: Values, name: str, base: np.ndarray) -> np.ndarray:
    """A vector attribute written over inherited values."""
    merged = np.array(base, float)
    written = given.get(name, ())
    merged[: len(written)] = written
    return merged


def _constants(actuator: Values, given: Values, gain: np.ndarray, ctrlspec: int) -> tuple[float, float]:
    """Resistance R and motor constant K, written or derived from the nominal operating point."""
    torque_constant, emf_constant = _merged(given, "motorconst", np.array([gain[1], 0.0]))
    resistance = float(given.get("resistance", gain[0]))
    voltage, stall, speed = _merged(given, "nominal", np.zeros(3))
    if torque_constant < 0 or emf_constant < 0:
        raise Fault("motorconst is negative")
    if voltage > 0 and emf_constant <= 0 and speed > 0:
        emf_constant = _no_load_constant(float(actuator["damping"][0]), resistance, voltage, stall, speed)
    if torque_constant > 0 and emf_constant > 0:
        constant = math.sqrt(torque_constant * emf_constant)
    else:
        constant = torque_constant if torque_constant > 0 else emf_constant
    if resistance == 0 and voltage > 0 and stall > 0 and constant > 0:
        resistance = constant * voltage / stall
    if constant <= 0 and not (ctrlspec == INPUT_NONE and constant == 0):
        raise Fault("the motor constant must be positive: give motorconst, or nominal with a no-load speed")
    if resistance <= 0:
        raise Fault("the resistance must be positive: give resistance, or nominal with a stall torque")
    return resistance, constant


def _no_load_constant(damping: float, resistance: float, voltage: float, stall: float, speed: float) -> float:
    """Back-EMF constant Ke from the no-load speed: speed = voltage Ke / (Ke^2 + R damping)."""
    simple = voltage / speed
    if damping > 0 and resistance > 0:
        discriminant = voltage**2 - 4 * resistance * damping * speed**2
        return (voltage + math.sqrt(discriminant)) / (2 * speed) if discriminant > 0 else simple
    if damping > 0 and stall > 0:
        exact = simple - voltage * damping / stall
        return exact if exact > 0 else simple
    return simple


def _controller(given: Values, gain: np.ndarray, dyn: np.ndarray) -> None:
    """kp, ki, kd, slewmax, imax, v_max."""
    values = _merged(given, "controller", np.array([*gain[4:7], dyn[7], dyn[8], gain[7]]))
    gain[4:7], dyn[7], dyn[8] = values[:3], values[3], values[4]
    if values[5] > 0:
        gain[7] = values[5]


def _saturation(given: Values, gain: np.ndarray, dyn: np.ndarray) -> Values:
    """Torque limit (or current limit times K), and the limit of the rate of current."""
    torque, current, rate = _merged(given, "saturation", np.array([0.0, 0.0, dyn[1]]))
    if "saturation" in given:
        rate = given["saturation"][2] if len(given["saturation"]) > 2 else rate
    dyn[1] = rate if rate > 0 or "saturation" in given else 0.0
    if "saturation" not in given:
        return {}
    if torque > 0 or current > 0:
        limit = torque if torque > 0 else gain[1] * current
        return {"forcerange": np.array([-limit, limit]), "forcelimited": Tristate.TRUE}
    return {"forcerange": np.zeros(2), "forcelimited": Tristate.FALSE}


def _electrical_time(given: Values, gain: np.ndarray, dyn: np.ndarray) -> float:
    inductance, time = _merged(given, "inductance", np.array([0.0, dyn[0]]))
    if inductance < 0 or time < 0:
        raise Fault("inductance is negative")
    return inductance / gain[0] if inductance > 0 else time


def _thermal(given: Values, gain: np.ndarray, dyn: np.ndarray) -> int:
    """Thermal resistance, capacitance, time constant: any two; 1 if there is a temperature state."""
    base = np.array([dyn[2], dyn[3], 0.0, gain[2], gain[3], dyn[4]])
    resistance, capacity, time, alpha, reference, ambient = _merged(given, "thermal", base)
    if not (resistance > 0 or capacity > 0 or time > 0):
        return 0
    if time > 0 and resistance > 0:
        capacity = time / resistance
    elif time > 0 and capacity > 0:
        resistance = time / capacity
    if resistance <= 0 or capacity <= 0:
        raise Fault("thermal: two of resistance, capacitance and time constant are needed")
    dyn[2:5], gain[2:4] = (resistance, capacity, ambient), (alpha, reference)
    return 1


def _lugre(given: Values, dyn: np.ndarray, bias: np.ndarray) -> int:
    """LuGre friction: stiffness, damping, Coulomb, static, Stribeck; 1 if there is a bristle state."""
    values = _merged(given, "lugre", np.array([dyn[5], dyn[6], *bias[3:6]]))
    if values[0] <= 0:
        return 0
    dyn[5:7], bias[3:6] = values[:2], values[2:]
    return 1
