"""What users ask of a state beside a step: Jacobians, motion, forces and rows, rays, derivatives."""
