/* choose.h: chooses the kind of filter that fits the options of a command. */
#ifndef CLI_CHOOSE_H
#define CLI_CHOOSE_H

#include <kith/filter.h>

#include "cli/options.h"

/* What a command asks for. */
typedef struct choice {
    kith_filter_spec spec;
} choice;

/* Returns the kind of that name. Ends the tool if there is none. */
const kith_kind_info *kind_must(const char *name);

/* Sets c->spec from --kind, --option, --final, --smallest and what the filter must support. The caller sets capacity,
 * rate, bytes and hash. Ends the tool if the kind is unknown. */
void choose_begin(const arguments *a, uint32_t needs, choice *c);

/* Returns why KITH_PREFER_FASTER has chosen the kind of this plan instead of the smallest, after "it". */
const char *choose_faster_why(const kith_plan *plan);

/* Plans c->spec: kith_filter_plan(). kith_filter_create then makes what *plan says from c->spec. */
kith_status choose_plan(const choice *c, kith_plan *plan);

/* What one of the options in spec.options costs: the plan compared with a plan without this option. */
typedef struct option_cost {
    char option[64];         /* "name=value" */
    bool rounds;             /* the number of cells is a power of two, and without the option it is not */
    kith_plan with, without; /* `with` needs more bits, or has a higher rate or a lower capacity */
} option_cost;

/* Finds the options of c->spec that cost something, in their order. `plan` is the plan of c->spec. Writes at most
 * `most` costs and returns how many. */
size_t choose_costs(const choice *c, const kith_plan *plan, option_cost *costs, size_t most);

typedef char cost_text[192];

/* Writes a cost as a sentence: "alternate=xor rounds up to 2^18 slots: 16.96 bits per key instead of 11.54". Which
 * quantity is compared depends on what c->spec leaves to the planner. */
const char *text_of_cost(const choice *c, const option_cost *cost, cost_text text);

/* Ends the tool with an error that explains what the `status` of choose_plan means for these options. */
_Noreturn void choose_fail(const arguments *a, const choice *c, kith_status status);

#endif
