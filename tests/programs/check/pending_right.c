// ranks: 2
// launch: --check=error
// Operations of every kind: a send buffer is read and sent again meanwhile, all is used afterwards.
#include "pending.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    prepare();
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < OPERATIONS; i++) {
            begin(ALL[i], out, in);
            int sum = 0;
            for (int at = 0; at < 32; at++) sum += out[at];
            CHECK(sum < 1 << 30);
            end(ALL[i]);
            for (int at = 0; at < 32; at++) out[at] = in[at] % 7 + rank;
        }
    }
    return leave();
}
