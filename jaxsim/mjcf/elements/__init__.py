"""What MJCF elements mean, a file for each kind: poses, sizes, limits and references of the items of a Spec.

May import: algebra, language.
"""
