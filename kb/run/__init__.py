"""The normalised run record: one measured attempt of any loop, its metrics with units, and what the loop said of it."""
