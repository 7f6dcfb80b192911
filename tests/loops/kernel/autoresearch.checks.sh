# The sum must be what it was.
test "$(./bench check)" = 36858
