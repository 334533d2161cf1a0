/* state.h: an experiment at work; for experiment.c and lab.c. */
#ifndef LAB_STATE_H
#define LAB_STATE_H

#include <setjmp.h>
#include <stdatomic.h>

#include "experiment.h"

typedef void lab_free_function(void *object);

typedef struct lab_taken {
    void *object;
    lab_free_function *release;
} lab_taken;

enum { LAB_OUT_STOPPED = 1, LAB_OUT_BROKEN };

struct lab {
    lab_result *result;
    uint64_t state;     /* of the random numbers */
    uint64_t key_start; /* key 0 */
    bool quick;
    const atomic_bool *stop;
    atomic_uint *done; /* thousandths */
    lab_taken *taken;
    size_t taken_count, taken_room;
    jmp_buf out;
};

void lab_begin(lab *l, uint64_t seed);
void lab_drop_all(lab *l);

#endif
