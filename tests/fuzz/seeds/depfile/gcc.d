out: a.h \
  dir/./b.h with\ space c$$d
out two: a.h e
