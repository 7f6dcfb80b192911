"""Other loops' records, in and out: `registry` tells the format by its readers, `summary` counts, `filing` files, `export` gives back."""
