# The number of pairs is what it was; a kernel that falls over says so by how it ends.
told=$(./bench check) || exit $?
test "$(echo "$told" | head -n 1)" = 36
