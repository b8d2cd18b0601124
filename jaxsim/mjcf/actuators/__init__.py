"""Actuators: shortcuts and their defaults lowered to the general actuator, and that one resolved.

May import: algebra, language, elements.
"""
