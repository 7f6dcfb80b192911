"""Other loops' records, in and out: `detection` tells the format and reads, `summary` counts, `filing` files, `export` gives back."""
