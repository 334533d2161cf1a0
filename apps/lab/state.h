/* state.h: the state of a running experiment, which experiment.h hides from claims. */
#ifndef LAB_STATE_H
#define LAB_STATE_H

#include <setjmp.h>
#include <stdatomic.h>

#include "experiment.h"
#include "lab.h"

typedef void lab_free_function(void *object);

typedef struct lab_object {
    void *object;
    lab_free_function *release;
} lab_object;

enum { LAB_OUT_STOPPED = 1, LAB_OUT_BROKEN };

struct lab {
    lab_result *result;
    uint64_t state;     /* of the random number generator */
    uint64_t key_start; /* key 0 */
    bool quick;
    const lab_assignment *sets;
    size_t set_count;
    bool covered;                    /* the claim covers the values that were set */
    double numbers[LAB_NUMBERS_MAX]; /* of the last list that lab_numbers() returned */
    const atomic_bool *stop;
    atomic_uint *done;   /* progress in thousandths */
    lab_object *objects; /* objects to free when the experiment ends */
    size_t object_count, object_capacity;
    jmp_buf out;
};

void lab_begin(lab *l, uint64_t seed);
void lab_drop_all(lab *l);

#endif
