"""Collision detection: candidate pairs, the colliders of `table`, and the slots that contacts go into."""
