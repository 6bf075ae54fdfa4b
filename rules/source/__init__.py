"""Python source text: its canonical form, and reading and editing the source of a kernel."""
