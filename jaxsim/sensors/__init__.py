"""Sensors, one file per family; `table` has one line for each type."""
