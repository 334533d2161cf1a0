/* quiz_command.c: see quiz_command.h. */
#define _GNU_SOURCE
#include "lab/front/quiz_command.h"

#include <errno.h>
#include <unistd.h>

#include <lab/lab.h>
#include <lab/quiz.h>

#include "cli/output/report.h"
#include "lab/front/table.h"

static void ask(const lab_question *q, unsigned number) {
    out_text("%u of %d, from [%u]\n", number, LAB_QUESTION_COUNT, q->document);
    put_lab_text(q->text);
    for (int i = 0; i < LAB_CHOICES && q->choices[i] != NULL; i++)
        out_text("  %c  %s\n", 'a' + i, q->choices[i]);
    if (q->choices[0] != NULL)
        out_text("a, b or c: ");
    else if (q->tolerance > 0)
        out_text("a number, within %g%%: ", 100 * q->tolerance);
    else
        out_text("a number, exactly: ");
    out_flush();
}

/* Reads a line of stdin, byte by byte, since a person types it. One that is too long for an answer becomes empty.
 * Returns false at the end of stdin. */
static bool read_answer(char *line, size_t size) {
    size_t used = 0;
    bool any = false;
    for (;;) {
        char byte;
        ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fail_errno("stdin");
        any |= got > 0;
        if (got == 0 || byte == '\n')
            break;
        if (used < size)
            line[used++] = byte;
    }
    line[used < size ? used : 0] = '\0';
    return any;
}

static void watch(void *context, double done, const char *running) {
    (void)context;
    (void)done;
    (void)running;
}

static double measure(const lab_question *q, uint64_t seed) {
    const lab_claim *claim = lab_claim_named(q->claim);
    atomic_bool stop = false;
    lab_settings settings = {.seed = seed, .quick = true, .threads = 1};
    lab_result *result = lab_run(&claim, 1, settings, &stop, watch, NULL);
    const lab_finding *finding = lab_quiz_finding(q, result);
    if (finding == NULL)
        fail("claim %s has not measured '%s'", q->claim, q->finding);
    double measured = finding->measured.value;
    lab_results_free(result, 1);
    return measured;
}

void run_lab_quiz(uint64_t seed) {
    unsigned answered = 0, right = 0;
    for (; answered < LAB_QUESTION_COUNT; answered++) {
        const lab_question *q = &LAB_QUESTIONS[answered];
        ask(q, answered + 1);
        char line[64];
        if (!read_answer(line, sizeof line)) {
            out_text("\n");
            break;
        }
        double measured = measure(q, seed);
        bool is_right = lab_quiz_is_right(q, line, measured);
        right += is_right;
        out_text("%s: ", is_right ? "right" : "wrong");
        if (q->choices[0] != NULL)
            out_text("%c, ", lab_quiz_choice(q, measured));
        out_text("measured %.4g (kith lab --quick --seed %llu -v %s)\n\n", measured, (unsigned long long)seed,
                 q->claim);
    }
    out_text("score: %u of %u answers are right; %d questions, seed %llu\n", right, answered, LAB_QUESTION_COUNT,
             (unsigned long long)seed);
    put_lab_sources();
    out_flush();
}
