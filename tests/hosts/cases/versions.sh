# A host has another version of OxMPI: that of this one, with another number in its program.
# sample
# hosts: 2
version=$("$stage/bin/mpirun" --version | awk '{ print $NF }')
other=${version%?}$(((${version: -1} + 1) % 10))
mkdir -p $lab/old/bin
LC_ALL=C sed "s/${version//./\\.}/$other/g" "$stage/bin/mpirun" >$lab/old/bin/mpirun
chmod +x $lab/old/bin/mpirun
[ "$("$lab/old/bin/mpirun" --version | awk '{ print $NF }')" = "$other" ] || fail "the other version is none"
on 2 mount --bind $lab/old/bin "$stage/bin"
job --host h1,h2 "$bin/hello"
failed
says "host h2" "OxMPI $other is installed there, and $version here"
nothing_left
