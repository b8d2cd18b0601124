"""Products with M and J, whose derivatives follow the tree and the contacts instead of the matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxsim as js
from jaxsim.algebra.structured import product, product_t
from jaxsim.constraint.contact import ContactMotion, as_matrix, contact_jacobian, contact_velocity
from jaxsim.dynamics.com import crb
from jaxsim.solvers.objective import structure_of
from jaxsim.stages.forward import position_velocity

SCENE = """
<mujoco>
  <worldbody>
    <body pos="0 0 .15"><freejoint/><geom size=".1"/>
      <body pos="0 0 .3"><joint name="a" axis="0 1 0" armature=".1"/><geom size=".1" pos="0 0 .2"/>
        <body pos="0 0 .3"><joint name="b" axis="1 0 0"/><geom size=".1" pos="0 0 .2"/></body></body></body>
    <body pos=".4 0 .15"><freejoint/><geom size=".1"/></body>
  </worldbody>
  <tendon><fixed name="t" armature=".3"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed></tendon>
</mujoco>
"""


@pytest.fixture(scope="module")
def products():
    """Functions of (parts of M, parts of J, x) -> M x, J x, J^T (J x), by structure and by plain matrices; arguments."""
    model = js.load(SCENE)
    data, rng = js.make_data(model), np.random.default_rng(0)
    _, mid = jax.jit(position_velocity)(model, data)
    sides = [jnp.asarray(np.sign(rng.normal(size=(4, model.nv)))) for _ in range(2)]
    motion = ContactMotion(mid.inertia.cdof, tuple(jnp.asarray(rng.normal(size=(2, 4, 3, 6)))), tuple(sides))
    inertia_product = structure_of(model).inertia_product

    def matrices(inertia, motion):
        M = crb(model, data.replace(cdof=inertia.cdof, cinert=inertia.cinert)).qM + inertia.tendons
        return M, as_matrix(contact_jacobian(motion))

    def structured(inertia, motion, x):
        M, J = matrices(inertia, motion)
        jx = product(contact_velocity, J, motion, x)
        return product(inertia_product, M, inertia, x), jx, product_t(contact_velocity, J, motion, jx)

    def plain(inertia, motion, x):
        M, J = matrices(inertia, motion)
        return lax.dot(M, x), lax.dot(J, x), lax.dot(lax.dot(J, x), J)

    parts = mid.inertia._replace(armature=lax.stop_gradient(mid.inertia.armature))
    assert float(jnp.max(jnp.abs(parts.tendons))) > 0
    return structured, plain, (parts, motion, jnp.asarray(rng.normal(size=model.nv)))


def test_values_and_derivatives_of_both_modes_and_of_second_order(products):
    structured, plain, args = products
    inertia, motion, x = args
    rng = np.random.default_rng(1)
    along = jax.tree.map(lambda y: jnp.asarray(rng.normal(size=y.shape)), (inertia.cdof, inertia.cinert, motion, x))

    def everything(f):
        def of(cdof, cinert, motion, x):
            return f(inertia._replace(cdof=cdof, cinert=cinert), motion, x)

        start = (inertia.cdof, inertia.cinert, motion, x)

        def slope(*args):
            return jax.grad(lambda *a: sum(jnp.sum(y * y) for y in of(*a)), (0, 1, 2, 3))(*args)

        return of(*start), jax.jvp(of, start, along)[1], slope(*start), jax.jvp(slope, start, along)[1]

    found, expected = (jax.tree.leaves(jax.jit(lambda f=f: everything(f))()) for f in (structured, plain))
    for a, b in zip(found, expected, strict=True):
        assert float(jnp.max(jnp.abs(b))) > 0
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11 * float(jnp.max(jnp.abs(b))))
