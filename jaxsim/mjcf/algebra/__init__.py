"""Quaternions, frames and principal axes in numpy: geometry that knows nothing of models.

May import: nothing of the compiler.
"""
