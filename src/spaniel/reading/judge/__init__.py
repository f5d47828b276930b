"""Which blocks of a page are content: features, a learnt model, and the same model compiled."""
