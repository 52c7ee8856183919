"""The proof: the runner itself runs test contracts and gates on the proposed code."""
