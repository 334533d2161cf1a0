/* Seals damaged dumps again, so that checksums do not hide what lies behind them: reseal < FRAMES > FRAMES
 *
 * A frame is a u32 (little-endian) and that many bytes, the strings of a dump. In it, every block of kith gets the
 * checksums that fit its bytes, whatever they are: of the body if its size fits in the frame, and of the header. Blocks
 * are sealed from the last to the first, because the blocks of layers lie inside another one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/bits.h"
#include "format/format.h"

enum { AT_BODY_BYTES = 96, AT_BODY_CHECKSUM = 176, AT_HEADER_CHECKSUM = 184, PIECE_BYTES = 65536 };

static const uint8_t signature[8] = {0x8b, 'K', 'I', 'T', 'H', '\r', '\n', 0x1a};

static void seal(uint8_t *block, size_t available) {
    uint64_t body_bytes = kithi_load64(block + AT_BODY_BYTES);
    if (body_bytes <= available - KITHI_HEADER_BYTES) {
        uint64_t pieces = (body_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
        if (pieces <= (available - KITHI_HEADER_BYTES - body_bytes) / 8) {
            uint8_t *body = block + KITHI_HEADER_BYTES, *checksums = body + body_bytes;
            for (uint64_t i = 0; i < pieces; i++) {
                uint64_t left = body_bytes - i * PIECE_BYTES;
                kithi_store64(checksums + 8 * i,
                              kithi_checksum(body + i * PIECE_BYTES, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES));
            }
            kithi_store64(block + AT_BODY_CHECKSUM, kithi_checksum(checksums, (size_t)pieces * 8));
        }
    }
    kithi_store64(block + AT_HEADER_CHECKSUM, kithi_checksum(block, AT_HEADER_CHECKSUM));
}

int main(void) {
    uint8_t length[4];
    while (fread(length, 1, sizeof length, stdin) == sizeof length) {
        size_t count = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
        uint8_t *payload = malloc(count + 1);
        if (payload == NULL || fread(payload, 1, count, stdin) != count)
            return 1;
        for (size_t i = count; i-- > 0;)
            if (count - i >= KITHI_HEADER_BYTES && memcmp(payload + i, signature, sizeof signature) == 0)
                seal(payload + i, count - i);
        if (fwrite(length, 1, sizeof length, stdout) != sizeof length || fwrite(payload, 1, count, stdout) != count ||
            fflush(stdout) != 0)
            return 1;
        free(payload);
    }
    return 0;
}
