"""The rules by which candidates are judged: the drawn inputs, the comparison of outputs, and the contract."""
