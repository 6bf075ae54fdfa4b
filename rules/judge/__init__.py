"""The rules by which candidates are judged: what is drawn, what is compared, and what the contract asks for."""
