# --stage-in copies the program, and the installation if asked, to hosts that lack them; in folders with odd names.
# hosts: 2
# needs: tar
odd="$lab/it's here"
mkdir -p "$odd" $lab/empty2
cp "$bin/hello" "$odd/my program"
on 2 mount --bind $lab/empty2 "$odd"
job --host h1,h2 "$odd/my program"
ended_with 127
job --stage-in program --host h1,h2 "$odd/my program"
ended_with 0
says "rank 1 of 2 on h2"
[ -x "$lab/empty2/my program" ] || fail "no copy was made"
# What is there is not copied again.
echo '#!/bin/sh' >"$lab/empty2/my program"
job --stage-in program --host h2 "$odd/my program"
[ "$(cat "$lab/empty2/my program")" = '#!/bin/sh' ] || fail "a file of the host was overwritten"
# The installation.
rm "$lab/empty2/my program"
mkdir -p $lab/empty3
on 2 mount --bind $lab/empty3 "$stage"
job --stage-in program --host h1,h2 "$odd/my program"
failed
job --stage-in all --host h1,h2 "$odd/my program"
ended_with 0
says "rank 1 of 2 on h2"
job --stage-in everything --host h1,h2 "$bin/hello"
ended_with 2
says "everything" "program, all"
# A host that cannot be reached, and one whose folder cannot be written.
job --stage-in program --host h1,h9 "$bin/hello"
failed
says "cannot copy" "h9"
