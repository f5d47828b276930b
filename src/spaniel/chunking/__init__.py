"""Splits Markdown into chunks with exact token counts and fits answers to a byte budget. No input or output."""

from spaniel.chunking.chunks import Boundaries, Chunk, boundaries, chunk, rebuild
from spaniel.chunking.fit import fit, serialize
from spaniel.chunking.tokens import TokenCounter

__all__ = ["Boundaries", "Chunk", "TokenCounter", "boundaries", "chunk", "fit", "rebuild", "serialize"]
