"""luminal: PyTorch models compiled by equality saturation (the public facade)."""
