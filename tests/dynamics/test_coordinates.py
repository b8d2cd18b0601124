"""Where the coordinates of joints lie, against addresses counted by hand."""

import numpy as np

import jaxsim as js
from jaxsim.core.enums import JointType
from jaxsim.dynamics.coordinates import (
    SCALAR,
    TURNING,
    joints_of,
    positions_of,
    quats_of,
    read,
    spins_of,
    straight_coordinates,
)

# qpos: hinge 0, ball 1-4, slide 5, free 6-12; qvel: hinge 0, ball 1-3, slide 4, free 5-10
MIXED = """
<mujoco><worldbody>
  <body><joint type="hinge"/><geom size=".1"/>
    <body><joint type="ball"/><geom size=".1"/>
      <body><joint type="slide"/><geom size=".1"/></body>
    </body>
  </body>
  <body pos="1 0 0"><freejoint/><geom size=".1"/></body>
</worldbody></mujoco>
"""


def test_addresses():
    m = js.load(MIXED)
    turning, free = joints_of(m, *TURNING), joints_of(m, JointType.FREE)
    assert turning.tolist() == [1, 3] and free.tolist() == [3] and joints_of(m, *SCALAR).tolist() == [0, 2]
    assert positions_of(m, free).tolist() == [[6, 7, 8]]
    assert quats_of(m, turning).tolist() == [[1, 2, 3, 4], [9, 10, 11, 12]]
    assert spins_of(m, turning).tolist() == [[1, 2, 3], [8, 9, 10]]
    straight_q, straight_v = straight_coordinates(m)
    assert straight_q.tolist() == [0, 5, 6, 7, 8] and straight_v.tolist() == [0, 4, 5, 6, 7]
    np.testing.assert_array_equal(read(m.qpos0, quats_of(m, turning)), [[1, 0, 0, 0], [1, 0, 0, 0]])
