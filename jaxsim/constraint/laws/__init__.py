"""Contact laws: what a row costs as a function of how far its acceleration is from the reference."""
