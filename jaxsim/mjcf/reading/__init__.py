"""From files to a Spec: XML with includes, URDF, options, the body tree, replicate and attach.

May import: algebra, language, assets (attributes of signed distances), actuators (their defaults).
"""
