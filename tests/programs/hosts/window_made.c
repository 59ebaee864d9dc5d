// ranks: 7
// launch: --with-ft ulfm --pretend-hosts 3
// timeout: 120
// As ../ft/window_made.c, between hosts: there the owner of the memory often fails alone.
#include "../ft/window_made.c"
