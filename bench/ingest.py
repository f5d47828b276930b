"""Ingestion: what it costs to ask again, and to read PDFs."""

from __future__ import annotations

from bench import pdf, revalidation


def run() -> None:
    revalidation.run()
    pdf.run()
