# A host does not have the program.
# sample
# hosts: 2
mkdir -p $lab/programs $lab/empty
cp "$bin/hello" $lab/programs/program
on 2 mount --bind $lab/empty $lab/programs
job --host h1,h2 $lab/programs/program
ended_with 127
says "on host h2: cannot find the program" "$lab/programs/program"
