"""Networks: a perceptron, and a policy of independent normal actions squashed or clipped to [-1, 1]."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp

from training.config import about, setting

Array = jax.Array
Activation = Literal["tanh", "elu", "silu", "relu"]
Squash = Literal["tanh", "clip"]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"tanh": jnp.tanh, "elu": nn.elu, "silu": nn.silu, "relu": nn.relu}


@dataclass(frozen=True)
class Network:
    """Sizes and form of a policy and its critic."""

    hidden: tuple[int, ...] = field(default=(64, 64), metadata=about("widths of the policy's hidden layers"))
    critic: tuple[int, ...] = field(default=(64, 64), metadata=about("widths of the critic's hidden layers"))
    activation: Activation = field(default="tanh", metadata=about("tanh, elu, silu or relu"))
    squash: Squash = field(default="tanh", metadata=about("how actions are kept in [-1, 1]: tanh or clip"))
    deviation: float = setting(0.6, "initial standard deviation of actions", above=0)


class Perceptron(nn.Module):
    """Dense layers; the last one is linear and small, so that a policy begins near zero."""

    widths: tuple[int, ...]
    size: int
    activation: str
    scale: float

    @nn.compact
    def __call__(self, x: Array) -> Array:
        for width in self.widths:
            x = nn.Dense(width, kernel_init=nn.initializers.orthogonal(2**0.5))(x)
            x = ACTIVATIONS[self.activation](x)
        return nn.Dense(self.size, kernel_init=nn.initializers.orthogonal(self.scale))(x)


class Policy(nn.Module):
    """Mean [n] and logarithm of the standard deviation [n] of actions before they are squashed."""

    network: Network
    size: int

    @nn.compact
    def __call__(self, obs: Array) -> tuple[Array, Array]:
        start = nn.initializers.constant(jnp.log(self.network.deviation))
        mean = Perceptron(self.network.hidden, self.size, self.network.activation, 0.01)(obs)
        return mean, self.param("log_std", start, (self.size,), mean.dtype)


class Critic(nn.Module):
    """The value [] of an observation."""

    network: Network

    @nn.compact
    def __call__(self, obs: Array) -> Array:
        return Perceptron(self.network.critic, 1, self.network.activation, 1.0)(obs)[..., 0]


def apply(module: nn.Module, params: Any, obs: Array) -> Any:
    """What a network gives for observations [..., n]."""
    return module.apply(params, obs)


def squash(how: Squash, raw: Array) -> Array:
    """Actions [..., n] in [-1, 1] from what the normal distribution gave."""
    return jnp.tanh(raw) if how == "tanh" else jnp.clip(raw, -1, 1)


def sample(key: Array, mean: Array, log_std: Array) -> Array:
    """Normal numbers [..., n] of that mean and deviation, differentiable with respect to both."""
    return mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape, mean.dtype)


def log_prob(raw: Array, mean: Array, log_std: Array) -> Array:
    """Logarithm of the density [...] of actions before they are squashed [..., n].

    That of squashed actions differs by a term that does not depend on the policy: ratios are the same.
    """
    deviation = (raw - mean) * jnp.exp(-log_std)
    return -jnp.sum(0.5 * deviation**2 + log_std + 0.5 * jnp.log(2 * jnp.pi), -1)


def entropy(how: Squash, raw: Array, mean: Array, log_std: Array) -> Array:
    """Entropy [...] of actions [..., n]; where they are squashed by tanh, an estimate from one sample."""
    normal = jnp.broadcast_to(log_std + 0.5 * jnp.log(2 * jnp.pi * jnp.e), mean.shape)
    if how == "tanh":  # log(1 - tanh(x)^2), in a form that does not overflow; at a sample that moves with the policy
        moving = mean + jnp.exp(log_std) * jax.lax.stop_gradient((raw - mean) * jnp.exp(-log_std))
        normal = normal + 2 * (jnp.log(2.0) - moving - jax.nn.softplus(-2 * moving))
    return normal.sum(-1)
