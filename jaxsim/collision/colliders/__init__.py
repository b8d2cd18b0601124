"""Pure geometry: a function from two shapes to their contacts, for each line of `collision.table`."""
