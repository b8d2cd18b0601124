"""Algebra of frames and trees: vectors, quaternions, spatial vectors, ancestor matrices, taking and putting rows.

For arrays of JAX, and those of numpy that the compiler has (see `arrays`).
"""
