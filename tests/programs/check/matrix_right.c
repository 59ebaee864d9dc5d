// ranks: 2 3 8
// launch: --check=error
// The calls of matrix_wrong.c without their mistakes.
#include "matrix.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    prepare();
    for (unsigned at = 0; at < sizeof MISTAKES / sizeof *MISTAKES; at++)
        for (unsigned function = 0; function < sizeof FUNCTIONS / sizeof *FUNCTIONS; function++)
            for (int mode = 0; mode < MODES; mode++) act(MISTAKES[at], FUNCTIONS[function], mode, 0);
    return finish();
}
