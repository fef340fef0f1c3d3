"""The models that the tools run: real weights from packages, and the modules around them that make them
compilable.
"""
