# More ranks call one host at once than may be there unproven.
# hosts: 4
# limit: 180
limit=120 job --host h1:1,h2:60,h3:60,h4:60 "$bin/many_to_one"
ended_with 0
says "0 of 180 messages wrong"
