"""The equivalence fuzzer: every program that the search may choose must compute what the model says."""
