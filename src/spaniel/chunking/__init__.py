"""Chunks of Markdown with exact token counts, and answers that fit a byte budget. Pure: text in, values out."""

from spaniel.chunking.chunks import Boundaries, Chunk, boundaries, chunk, rebuild
from spaniel.chunking.fit import fit, serialize
from spaniel.chunking.tokens import TokenCounter

__all__ = ["Boundaries", "Chunk", "TokenCounter", "boundaries", "chunk", "fit", "rebuild", "serialize"]
