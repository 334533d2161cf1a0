/* peers.c: the list of peers; see peers.h. Each peer has a file peers_<name>.c and a line here. */
#include "peers.h"

#ifdef BENCH_LIBBLOOM
extern const peer peer_libbloom;
#endif

const peer *const peers[] = {
#ifdef BENCH_LIBBLOOM
    &peer_libbloom,
#endif
    NULL,
};
