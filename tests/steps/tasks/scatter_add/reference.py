def embed_grad(grad, ids, table):
    return table.at[ids].add(grad)
