"""Contact laws: on a line, slope and curvature are those of the force and the Hessian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.constraint.contact import ContactRows
from jaxsim.constraint.laws.soft import law_of
from jaxsim.core.enums import Cone

N = 400


def _contacts(rng, cone: Cone, dim: int) -> ContactRows:
    """Contacts of all condims up to a dim, in the proportions that MuJoCo gives their rows."""
    condim = rng.choice([x for x in (0, 1, 3, 4, 6) if x <= dim], N)
    friction = rng.uniform(0.2, 1, (N, dim - 1))
    impratio = rng.choice([1, 10.0], N)
    mu = friction[:, 0] / np.sqrt(impratio) if dim > 1 else rng.uniform(0.5, 1, N)
    D = rng.uniform(1, 10, (N, 1))
    if cone == Cone.ELLIPTIC:
        D = np.concatenate([D, D * np.square(friction / mu[:, None])], axis=1)
    live = np.arange(dim) < condim[:, None]
    D = jnp.asarray(np.where(live, np.broadcast_to(D, (N, dim)), 0))
    none = jnp.zeros(N)
    return ContactRows(
        None, None, D, none, jnp.asarray(friction), jnp.asarray(mu), jnp.asarray(condim, jnp.int32), none, none, None
    )


@pytest.mark.parametrize("cone", [Cone.PYRAMIDAL, Cone.ELLIPTIC])
@pytest.mark.parametrize("dim", [1, 3, 4, 6])
def test_on_a_line(cone, dim, rng):
    law, c = law_of(cone), _contacts(rng, cone, dim)
    w, dw = jnp.asarray(rng.normal(size=(2, N, dim)))
    for alpha in (0.0, 0.3, 2.0):
        there = w + alpha * dw
        one = lambda i: (jax.tree.map(lambda x: x[i : i + 1], c), w[i : i + 1], dw[i : i + 1])  # noqa: E731
        slope, curvature = np.array([law.along(*one(i))(jnp.asarray(alpha)) for i in range(40)]).T
        force, hessian = law.force(c, there), law.hessian(c, there)
        np.testing.assert_allclose(slope, -jnp.sum(force * dw, axis=1)[:40], rtol=1e-11, atol=1e-11)
        turned = jnp.sum(dw[:, :, None] * hessian * dw[:, None], axis=(1, 2))
        np.testing.assert_allclose(curvature, turned[:40], rtol=1e-11, atol=1e-11)
        whole = law.along(c, w, dw)(jnp.asarray(alpha))
        np.testing.assert_allclose(whole, [-jnp.sum(force * dw), jnp.sum(turned)], rtol=1e-11)
        by_cost = jax.grad(lambda a: law.cost(c, w + a * dw))(alpha)
        np.testing.assert_allclose(whole[0], by_cost, rtol=1e-11)
