"""Every stage of the forward dynamics against MuJoCo, at three states of each model."""

import mujoco
import numpy as np
import oracle

import jaxsim as js

KINEMATICS = (
    "xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat",
    "subtree_com", "cinert", "cdof", "ten_length", "actuator_length",
)  # fmt: skip
VELOCITIES = ("cvel", "ten_velocity", "actuator_velocity", "qfrc_bias", "qfrc_passive")
FORCES = ("actuator_force", "act_dot", "qfrc_actuator", "qfrc_smooth", "qacc_smooth")
SOLUTION = ("qacc", "qfrc_constraint", "sensordata", "energy", "nefc", "ncon")


def test_stages(models, rng):
    mj, model = models
    for d in oracle.states(mj, rng):
        data = js.forward(model, oracle.put(model, d))
        oracle.assert_equal(data, d, (*KINEMATICS, *VELOCITIES, *FORCES))
        inertia = np.zeros((mj.nv, mj.nv))
        mujoco.mj_fullM(mj, d, inertia)
        assert oracle.error(data.qM, inertia) < 1e-9
        oracle.assert_equal(data, d, SOLUTION)


def test_contacts(models, rng):
    """The same contacts, each with the same frame, distance and parameters."""
    mj, model = models
    for d in oracle.states(mj, rng):
        data = js.forward(model, oracle.put(model, d))
        ours, theirs = _contacts(data.contact, int(data.ncon)), _contacts(d.contact, d.ncon)
        assert not js.warnings_of(data)
        assert [c[0] for c in ours] == [c[0] for c in theirs]
        for (_, mine), (_, other) in zip(ours, theirs):
            assert oracle.error(mine, other) < 1e-9


def _contacts(contact, n: int) -> list[tuple[tuple[int, int], np.ndarray]]:
    """Geoms and numbers of each contact, sorted by geoms and position."""
    found = []
    for i in range(n):
        numbers = [contact.dist[i], contact.includemargin[i]]
        vectors = [
            contact.pos[i],
            contact.frame[i],
            contact.friction[i],
            contact.solref[i],
            contact.solimp[i],
        ]
        values = np.concatenate([np.asarray(numbers, float), *(np.asarray(v, float).ravel() for v in vectors)])
        found.append((tuple(int(g) for g in np.asarray(contact.geom[i])), values))
    return sorted(found, key=lambda c: (c[0], tuple(np.round(c[1][2:5], 6))))
