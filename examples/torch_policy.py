"""A policy of PyTorch's learns to balance a pole: jaxsim's worlds as a Gymnasium environment, without copied arrays.

python examples/torch_policy.py [--worlds 128] [--rounds 70] [--out torch_policy.svg]

PPO in short: windows of 64 steps of all worlds, advantages over what the critic expects, a few steps of Adam for each
window. Observations and rewards are tensors that lie where JAX has them, on the CPU or a GPU,
and so are actions where the simulation takes them. The mean action must hold the poles up for all of 10 s.
Needs `torch` and `gymnasium`.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from picture import Curve, draw
from torch import nn

from jaxsim import envs
from jaxsim.envs.gymnasium import VectorEnv

WINDOW, PASSES, CLIP, DISCOUNT, TRACE, RATE = 64, 8, 0.2, 0.99, 0.95, 1e-2
LENGTH = 500  # steps of an episode, each worth up to 1


class ActorCritic(nn.Module):
    """A linear policy with normal actions, and what is still to be gained."""

    def __init__(self, observations: int, actions: int):
        super().__init__()
        self.mean = nn.Linear(observations, actions)
        self.value = nn.Sequential(nn.Linear(observations, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.full((actions,), -0.7))

    def policy(self, obs: torch.Tensor) -> torch.distributions.Normal:
        """The distribution of actions for observations [..., n]."""
        return torch.distributions.Normal(self.mean(obs), self.log_std.exp())


def window(env: VectorEnv, net: ActorCritic, obs: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The observations [B, n] after a window, and what was seen, done and gained in it, each [WINDOW, B, ...]."""
    seen = []
    for _ in range(WINDOW):
        with torch.no_grad():
            action = net.policy(obs).sample()
        following, reward, terminated, truncated, info = env.step(action)
        ended = terminated | truncated
        last = torch.where(info["_final_obs"][:, None], info["final_obs"], following) if ended.any() else following
        seen.append((obs, action, reward, terminated, ended, last))
        obs = following
    return obs, [torch.stack(parts) for parts in zip(*seen)]


def learn(net: ActorCritic, optimiser: torch.optim.Optimizer, steps: list[torch.Tensor]) -> None:
    """Steps of Adam by what a window says about the policy and its critic."""
    obs, action, reward, terminated, ended, last = steps
    with torch.no_grad():
        value, later = net.value(obs)[..., 0], net.value(last)[..., 0] * ~terminated
        error, advantage = reward + DISCOUNT * later - value, torch.zeros_like(reward)
        ahead = torch.zeros_like(reward[0])
        for t in reversed(range(WINDOW)):
            ahead = error[t] + DISCOUNT * TRACE * ~ended[t] * ahead
            advantage[t] = ahead
        target, before = value + advantage, net.policy(obs).log_prob(action).sum(-1)
        scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    for _ in range(PASSES):
        ratio = (net.policy(obs).log_prob(action).sum(-1) - before).exp()
        gain = torch.minimum(ratio * scaled, ratio.clamp(1 - CLIP, 1 + CLIP) * scaled)
        loss = (net.value(obs)[..., 0] - target).square().mean() / 2 - gain.mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def returns(env: VectorEnv, net: ActorCritic) -> np.ndarray:
    """What the mean action gains in each world until its first episode ends, [B]."""
    obs, _ = env.reset(seed=1)
    total, alive = torch.zeros(env.num_envs), torch.ones(env.num_envs)
    for _ in range(LENGTH):
        with torch.no_grad():
            obs, reward, terminated, truncated, _ = env.step(net.mean(obs))
        total += alive * reward.cpu()
        alive *= ~(terminated | truncated).cpu()
    return total.numpy()


def main() -> None:
    """Train, and check what was learnt."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=70, help=f"windows of {WINDOW} steps")
    parser.add_argument("--out", default="torch_policy.svg", help="where the curve is drawn")
    args = parser.parse_args()
    torch.manual_seed(0)
    env = VectorEnv(envs.make("cart_pole_balance"), args.worlds, LENGTH, arrays="torch")
    obs, _ = env.reset(seed=0)
    net = ActorCritic(obs.shape[1], env.single_action_space.shape[0]).to(obs.device)
    optimiser, falls = torch.optim.Adam(net.parameters(), RATE), []
    for number in range(args.rounds):
        obs, steps = window(env, net, obs)
        learn(net, optimiser, steps)
        falls.append(float(steps[3].sum()) / args.worlds * LENGTH / WINDOW)
        if number % 10 == 9:
            print(
                f"{(number + 1) * WINDOW * args.worlds:10,} steps  {np.mean(falls[-10:]):5.1f} falls in 10 s",
                flush=True,
            )
    found = returns(env, net)
    print(f"return of {args.worlds} episodes, mean action: {found.mean():.1f} of {LENGTH}, least {found.min():.1f}")
    steps = WINDOW * args.worlds * np.arange(1, args.rounds + 1)
    draw(Path(args.out), "falls in 10 s while learning", "steps", {"policy with noise": Curve(steps, np.array(falls))})
    assert found.min() > 0.9 * LENGTH


if __name__ == "__main__":
    main()
