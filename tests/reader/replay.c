/* Runs the fuzz target tests/fuzz/reader.c, without libFuzzer, on inputs that are the same in every run: good files of
 * every kind with a few bytes of the header or the body changed, and headers of random fields. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "splitmix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EDITED_INPUTS = 4000, FIELD_INPUTS = 2000, EDITED = 3 << 2, SEALED = 1 << 2, FIELDS_BYTES = 128 };

static void write_word(uint8_t *to, uint64_t word) {
    for (unsigned i = 0; i < 8; i++)
        to[i] = (uint8_t)(word >> (8 * i));
}

int main(void) {
    uint64_t state = 1;
    uint8_t input[512];
    for (unsigned i = 0; i < EDITED_INPUTS; i++) {
        size_t used = 0, edits = splitmix_next(&state) % 4;
        input[used++] = EDITED;
        for (unsigned j = 0; j < 4; j++)
            input[used++] = (uint8_t)splitmix_next(&state);
        for (size_t j = 0; j < edits; j++) {
            /* Half of the edits are in the header, the others in the first KB of the body. */
            uint64_t at = splitmix_next(&state), offset = (at & 1) != 0 ? 8 + (at >> 1) % 160 : 192 + (at >> 1) % 1024;
            input[used++] = (uint8_t)offset;
            input[used++] = (uint8_t)(offset >> 8);
            input[used++] = (uint8_t)(1u << (at >> 60 & 7));
        }
        LLVMFuzzerTestOneInput(input, used);
    }
    for (unsigned i = 0; i < FIELD_INPUTS; i++) {
        double rate = 0.01;
        memset(input, 0, sizeof input);
        input[0] = SEALED;
        write_word(input + 1, 1 + splitmix_next(&state) % 10); /* the kind */
        write_word(input + 17, 1 + splitmix_next(&state) % 100);
        memcpy(input + 25, &rate, sizeof rate);
        for (unsigned j = 0; j < 8; j++)
            write_word(input + 65 + 8 * j, splitmix_next(&state) >> (splitmix_next(&state) % 64));
        LLVMFuzzerTestOneInput(input, 1 + FIELDS_BYTES + (size_t)(splitmix_next(&state) % 300));
    }
    printf("%d inputs\n", EDITED_INPUTS + FIELD_INPUTS);
    return 0;
}
