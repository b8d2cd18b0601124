"""Complementarity between variables in cones, relaxed by kappa: an interior-point solver."""
