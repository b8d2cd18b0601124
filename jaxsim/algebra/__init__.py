"""Algebra of frames and trees: vectors, quaternions, spatial vectors, ancestor matrices, taking and putting rows."""
