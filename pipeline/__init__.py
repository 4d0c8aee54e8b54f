"""The job: options, command line, the graph of a depth, the driver loop, state and commit."""
