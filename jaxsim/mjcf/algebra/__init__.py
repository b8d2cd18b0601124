"""Frames and principal axes as MuJoCo's compiler chooses them: geometry that knows nothing of models.

May import: nothing of the compiler.
"""
