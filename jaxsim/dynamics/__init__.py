"""The smooth dynamics, one file per stage of MuJoCo: kinematics, com, tendon, transmission, passive, actuation.

What the constants of a model need of it, and what they are (`reference`), runs on arrays of JAX and of numpy alike.
"""
