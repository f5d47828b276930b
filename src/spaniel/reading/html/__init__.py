"""The HTML tree: parse within limits, clean, links, images, formulas, paywalls."""
