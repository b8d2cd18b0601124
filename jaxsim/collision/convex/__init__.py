"""Convex shapes in general: where two of them touch, and the contacts of flat faces there."""
