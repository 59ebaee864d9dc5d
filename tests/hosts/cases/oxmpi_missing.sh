# A host does not have OxMPI where this one has it; it has it elsewhere.
# sample
# hosts: 2
cp -r "$stage" "$lab/other place"
on 2 sh -c "mkdir -p $lab/empty; mount --bind $lab/empty '$stage'"
job --host h1,h2 "$bin/hello"
failed
says "h2" "$stage/bin/mpirun" "--prefix"
# The program finds its library through the environment.
LD_LIBRARY_PATH="$lab/other place/lib" job --prefix "$lab/other place" --host h1,h2 "$bin/hello"
ended_with 0
