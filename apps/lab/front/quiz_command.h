/* quiz_command.h: `kith lab --quiz`. */
#ifndef LAB_FRONT_QUIZ_COMMAND_H
#define LAB_FRONT_QUIZ_COMMAND_H

#include <stdint.h>

/* Asks the questions, reads answers from stdin, measures, and prints the score; at the end of stdin, that so far. */
void run_lab_quiz(uint64_t seed);

#endif
