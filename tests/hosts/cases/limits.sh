# Few open files: more links than the limit allows, and a program that uses select.
# hosts: 2
for files in 64 256; do
    (ulimit -n $files && job --host h1:2,h2:2 "$bin/traffic" 1 && exit $status) || fail "with $files open files"
    says "0 bytes wrong"
done
