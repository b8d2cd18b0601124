"""Which kinematic trees may sleep."""

import numpy as np

from jaxsim.core.enums import SleepPolicy, TrnType
from jaxsim.mjcf.assembly.compiled import CompiledModel
from jaxsim.mjcf.derived.tree import tendon_trees


def sleep_policy(m: CompiledModel) -> None:
    """Trees that may not sleep on their own: actuated ones, and those joined by active tendons."""
    policy, along = m.tree_sleep_policy, tendon_trees(m)

    def stay_awake(tree: int) -> None:
        if tree >= 0 and policy[tree] == SleepPolicy.AUTO:
            policy[tree] = SleepPolicy.AUTO_NEVER

    for kind, (first, second) in zip(m.actuator_trntype, m.actuator_trnid):
        if kind == TrnType.TENDON:
            for tree in along[first]:
                stay_awake(tree)
        elif kind in (TrnType.JOINT, TrnType.JOINTINPARENT) or (kind == TrnType.SO3 and second < 0):
            stay_awake(m.body_treeid[m.jnt_bodyid[first]])
        elif kind in (TrnType.SITE, TrnType.SLIDERCRANK, TrnType.SO3):
            for site in {first, second} - {-1}:
                stay_awake(m.body_treeid[m.site_bodyid[site]])
        elif kind == TrnType.BODY:
            stay_awake(m.body_treeid[first])
    for tendon, trees in enumerate(along):
        springy = [m.tendon_stiffness, m.tendon_stiffnesspoly, m.tendon_damping, m.tendon_dampingpoly]
        active = any(np.any(f[tendon]) for f in springy) or m.tendon_actuatorid[tendon] != -1
        if len(trees) > 2 or (len(trees) == 2 and active):
            for tree in trees:
                stay_awake(tree)
    policy[policy == SleepPolicy.AUTO] = SleepPolicy.AUTO_ALLOWED
