"""`luminal-run embed`: sentence embeddings, and how alike the texts are."""

import argparse
import sys
import time

from .measure import StageClock, best_seconds, measured_block, print_table
from .models.minilm import load_minilm


def embed(arguments: argparse.Namespace) -> int:
    """Print the texts' embeddings and similarities; 1 if one is more than 1e-5 from torch eager's."""
    import torch

    import luminal

    from .models.compiled import compile_embedding

    print("loading all-MiniLM-L6-v2 ...", file=sys.stderr, flush=True)
    module, tokenizer = load_minilm()
    batch = tokenizer(arguments.text, padding=True, truncation=True, max_length=512, return_tensors="pt")
    inputs = (batch["input_ids"], batch["attention_mask"])
    clock = StageClock("luminal")
    started = time.perf_counter()
    compiled = compile_embedding(module, luminal.CompileOptions(threads=arguments.threads, progress=clock))
    seconds = time.perf_counter() - started
    clock.done()
    with torch.no_grad(), measured_block() as peak:
        vectors = compiled(*inputs)
        ours = best_seconds(lambda: compiled(*inputs), 0.5)
    for text, vector in zip(arguments.text, vectors, strict=True):
        shown = " ".join(f"{value:+.4f}" for value in vector[:6].tolist())
        print(f"{text!r}: [{shown} ...] ({len(vector)} values)")
    print("\nsimilarity")
    for row in (vectors @ vectors.T).tolist():
        print("  " + " ".join(f"{value:6.3f}" for value in row))
    header, rows = (
        ["", "luminal"],
        [["compile", f"{seconds:.2f} s"], ["time per call", f"{ours * 1e3:.2f} ms"]],
    )
    rows.append(["peak memory", f"{peak.bytes / 1e9:.2f} GB"])
    error = 0.0
    if not arguments.no_eager:
        module.model.set_attn_implementation("sdpa")
        with torch.no_grad(), measured_block() as eager_peak:
            error = float((module(*inputs) - vectors).abs().max())
            theirs = best_seconds(lambda: module(*inputs), 0.5)
        header.append("torch eager")
        for cells, value in zip(
            rows, ("-", f"{theirs * 1e3:.2f} ms", f"{eager_peak.bytes / 1e9:.2f} GB"), strict=True
        ):
            cells.append(value)
    print()
    print_table(tuple(header), [tuple(cells) for cells in rows])
    if not arguments.no_eager:
        print(f"largest difference from torch eager: {error:.1e}")
    if error > 1e-5:
        print("luminal-run: error: an embedding is more than 1e-5 from torch eager's", file=sys.stderr)
        return 1
    return 0
