"""Linear systems of the dynamics."""
