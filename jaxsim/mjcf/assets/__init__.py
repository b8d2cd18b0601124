"""Meshes and height fields: files, generated shapes and signed distances to vertices, hulls, inertia and elevations.

May import: algebra, language.
"""
