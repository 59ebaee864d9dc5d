# One-sided communication: a target that computes or is stopped delays no other host, and sums are exact.
# hosts: 2
# limit: 120
# sample
job --host h1:1,h2:1 "$bin/window_no_help"
ended_with 0
job --host h1:2,h2:2 "$bin/window_one_word"
ended_with 0
