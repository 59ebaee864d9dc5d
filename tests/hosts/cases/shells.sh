# Start files of login shells print, or read stdin; shells are not all Bourne's; folders have odd names.
# sample
# hosts: 2
# needs: sshd
echo 'head -c 1000000 /dev/zero | tr "\0" x; echo; echo welcome; echo more >&2' >$lab/home2/.bashrc
job --host h1,h2 "$bin/hello"
ended_with 0
echo 'while read -t 1 line; do echo "ate $line"; done' >$lab/home2/.bashrc
job --host h1,h2 "$bin/hello"
ended_with 0
says_not "ate"
rm $lab/home2/.bashrc
odd="$lab/it's a \$folder"
mkdir "$odd"
cp -r "$stage" "$odd/oxmpi"
for shell in bash tcsh fish; do
    path=$(command -v $shell) || continue
    sed "s|/bin/bash$|$path|" $lab/passwd2 >$lab/passwd
    on 2 mount --bind $lab/passwd /etc/passwd
    job --prefix "$odd/oxmpi" --host h1,h2 "$bin/hello"
    [ $status -eq 0 ] || fail "with $shell"
done
