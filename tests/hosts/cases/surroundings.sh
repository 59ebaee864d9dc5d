# Working directory, environment and labels are those of one machine.
# sample
# hosts: 2
mkdir -p "$lab/a folder"
GREETING="it's me" job --host h1,h2 -wdir "$lab/a folder" -genv COLOUR red -l sh -c 'echo "$COLOUR $GREETING $PWD $OXMPI_RANK/$OXMPI_SIZE"'
ended_with 0
says "[0] red it's me $lab/a folder 0/2" "[1] red it's me $lab/a folder 1/2"
job --host h1,h2 --label-host sh -c 'echo line; echo error >&2'
ended_with 0
says "[0 h1] line" "[1 h2] line" "[1 h2] error"
job --host h1,h2 -wdir /nonexistent sh -c true
failed
says "/nonexistent" "h1"
# Input goes to rank 0, wherever it is.
echo "a line of text" >$lab/text
on 1 "$stage/bin/mpirun" --launcher-exec "$rsh" --host h2,h1 sh -c 'cat; echo "end of $OXMPI_RANK"' <$lab/text >"$out" 2>&1
says "a line of text" "end of 0" "end of 1"
lines 1 "a line of text"
