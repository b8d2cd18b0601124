"""Constraint rows, one file per family (equality, friction, limits, contact), in the order of `row_table`."""
