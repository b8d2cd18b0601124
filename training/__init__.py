"""Algorithms that train policies on `jaxsim.envs`, and their command line; run from a clone, not installed."""
