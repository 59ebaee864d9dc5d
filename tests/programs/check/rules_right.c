// ranks: 4
// launch: --check=error
// The same without the mistakes.
#include "rules.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (unsigned i = 0; i < sizeof ALL / sizeof *ALL; i++) act(ALL[i], 0);
    return finish();
}
