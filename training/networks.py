"""Networks: a perceptron, policies of independent normal actions squashed or clipped to [-1, 1], and critics."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from training.config import about, setting

Array = jax.Array
Activation = Literal["tanh", "elu", "silu", "relu"]
Squash = Literal["tanh", "clip"]

LOG_STD = -5.0, 2.0  # of actions whose deviation varies
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
    norm: bool = False  # whether what a layer gives has mean 0 and deviation 1 before it is activated

    @nn.compact
    def __call__(self, x: Array) -> Array:
        # what is normalised has no scale, and orthogonal matrices of several networks at once come by a batched QR, in
        # which two devices of a CPU wait for each other for ever (jaxlib 0.10.2)
        orthogonal, plain = nn.initializers.orthogonal, nn.initializers.lecun_normal()
        for width in self.widths:
            x = nn.Dense(width, kernel_init=plain if self.norm else orthogonal(2**0.5))(x)
            x = nn.LayerNorm()(x) if self.norm else x
            x = ACTIVATIONS[self.activation](x)
        return nn.Dense(self.size, kernel_init=plain if self.norm else orthogonal(self.scale))(x)


class Policy(nn.Module):
    """Mean [..., n] and logarithm of the standard deviation [..., n] of actions before they are squashed.

    All observations have the same deviation.
    """

    network: Network
    size: int

    @nn.compact
    def __call__(self, obs: Array) -> tuple[Array, Array]:
        start = nn.initializers.constant(jnp.log(self.network.deviation))
        mean = Perceptron(self.network.hidden, self.size, self.network.activation, 0.01)(obs)
        log_std = self.param("log_std", start, (self.size,), mean.dtype)
        return mean, jnp.broadcast_to(log_std, mean.shape)


class VaryingPolicy(nn.Module):
    """As Policy, where each observation has a deviation of its own, within LOG_STD."""

    network: Network
    size: int

    @nn.compact
    def __call__(self, obs: Array) -> tuple[Array, Array]:
        mean, spread = jnp.split(
            Perceptron(self.network.hidden, 2 * self.size, self.network.activation, 0.01)(obs), 2, -1
        )
        middle, half = (LOG_STD[1] + LOG_STD[0]) / 2, (LOG_STD[1] - LOG_STD[0]) / 2
        start = np.arctanh((np.log(self.network.deviation) - middle) / half)
        return mean, middle + half * jnp.tanh(start.astype(mean.dtype) + spread)


class Critic(nn.Module):
    """The value [] of an observation."""

    network: Network

    @nn.compact
    def __call__(self, obs: Array) -> Array:
        return Perceptron(self.network.critic, 1, self.network.activation, 1.0)(obs)[..., 0]


class ActionCritics(nn.Module):
    """Several values [critics, ...] of observations [..., n] and actions [critics, ..., nu], one of each critic."""

    network: Network

    @nn.compact
    def __call__(self, obs: Array, actions: Array) -> Array:
        rows = jnp.concatenate([jnp.broadcast_to(obs, (len(actions), *obs.shape)), actions], -1)
        each = nn.vmap(Perceptron, {"params": 0}, {"params": True}, axis_size=len(actions))
        return each(self.network.critic, 1, self.network.activation, 1.0, norm=True)(rows)[..., 0]


def apply(module: nn.Module, params: Any, *inputs: Array) -> Any:
    """What a network gives for observations [..., n], and actions where it reads them."""
    return module.apply(params, *inputs)


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
    normal = jnp.broadcast_to(log_std, mean.shape) + 0.5 * jnp.log(2 * jnp.pi * jnp.e)
    if how == "tanh":  # log(1 - tanh(x)^2), in a form that does not overflow; at a sample that moves with the policy
        moving = mean + jnp.exp(log_std) * jax.lax.stop_gradient((raw - mean) * jnp.exp(-log_std))
        normal = normal + 2 * (jnp.log(2.0) - moving - jax.nn.softplus(-2 * moving))
    return normal.sum(-1)
