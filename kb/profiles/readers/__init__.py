"""One file a profiler (or its kind of output); each names its formats in `FORMATS`."""
