# 64 hosts with one rank each.
# hosts: 64
# limit: 240
job --host 'h[1-64]' "$bin/hello"
ended_with 0
lines 64 "of 64 on h"
