"""From rows to accelerations and forces: the objective, the search for its minimum, and the derivative there."""
