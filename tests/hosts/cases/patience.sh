# A receiver that computes while others send to it: nothing is lost, nobody is declared dead, and memory is bounded.
# hosts: 2
for mode in first fill tags leave; do
    job --host h1,h2 "$bin/patience" $mode
    [ $status -eq 0 ] || fail "$mode: status $status"
    says "all well"
done
# The receiver is stopped for 5 s.
start --host h1,h2 "$bin/patience" fill
sleep 1
on 2 pkill -STOP -f "^$bin/patience"
sleep 5
on 2 pkill -CONT -f "^$bin/patience"
finish
ended_with 0
says "all well"
