# The output of all ranks is complete and in whole lines.
# sample
# hosts: 3
job --host h1:2,h2:2,h3:2 "$bin/lines" 20000
ended_with 0
[ "$(wc -l <"$out")" -eq 120000 ] || fail "$(wc -l <"$out") lines"
! grep -nvE '^<[0-5] [0-9]+ [a-z]*>$' "$out" | head -n 3 | grep . || fail "broken lines"
for rank in 0 1 2 3 4 5; do
    grep "^<$rank " "$out" | awk -v n=0 '{ if ($2 != n++) { print "rank '$rank', line " n ": " $0; exit 1 } }' || fail "not in order"
done
: >"$out"
