# Turn after turn of a side, the machine is busier by the next percentage that stands in the file `weather` beside the repository.
n=$(cat "$KB_OUT/turn" 2>/dev/null || echo 0)
echo $((n + 1)) > "$KB_OUT/turn"
set -- $(grep "^$KB_SIDE" "$KB_REPOSITORY/../weather" 2>/dev/null || echo "side 0")
shift $((1 + n % ($# - 1)))
BUSY=$1 ./bench
