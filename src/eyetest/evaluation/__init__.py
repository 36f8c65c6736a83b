"""From a plan to numbers: what is asked, asking it, and what the answers add up to."""
