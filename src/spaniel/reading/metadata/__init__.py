"""What a page says about itself and about its products."""
