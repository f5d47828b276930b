"""Pages whose content comes late, and applications made with real frameworks: is what they show brought whole?"""
