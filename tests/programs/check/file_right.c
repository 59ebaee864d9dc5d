// ranks: 1 2 4
// launch: --check=error
// Files that are used as all ranks must, and buffers that are left alone.
#include "file.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int i = 0; i < COUNT(TOGETHER); i++) together(TOGETHER[i], 0);
    for (int i = 0; i < COUNT(BUFFERS); i++) pending(BUFFERS[i], 0);
    overlap(0);
    differ(0);
    return finish();
}
