"""Pages with late content, and applications made with real frameworks, whose content must be complete."""
