def deinterleave(x, scale):
    return x[:, 0::2] * scale, x[:, 1::2]
