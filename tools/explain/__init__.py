"""luminal-explain: what a compiled model consists of, where its time goes, and why."""
