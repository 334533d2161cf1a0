/* sets.c: see sets.h. */
#include "lab/front/sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/front/table.h"
#include "cli/output/report.h"

enum { NAMES_BYTES = 256, LINE_BYTES = 1024 };

static const char *names_of(const lab_claim *claim, char names[NAMES_BYTES]) {
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < LAB_SETTINGS_MAX && claim->settings[i].name != NULL && used < NAMES_BYTES; i++)
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s%s", i > 0 ? ", " : "", claim->settings[i].name);
    return names;
}

static void check(const lab_claim *claim, const lab_assignment *set) {
    char names[NAMES_BYTES];
    const lab_setting *setting = lab_setting_named(claim, set->name);
    if (setting == NULL)
        fail("--set %s=%s: claim %s has no parameter '%s'; it has: %s (kith lab %s --help)", set->name, set->value,
             claim->id, set->name, names_of(claim, names), claim->id);
    const char *expected = lab_setting_check(setting, set->value);
    if (expected != NULL)
        fail("--set %s=%s: parameter %s of claim %s is %s", set->name, set->value, set->name, claim->id, expected);
}

lab_sets lab_sets_of(const arguments *a, const lab_claim *const *claims, size_t count) {
    lab_sets sets = {0};
    if (a->sets == NULL)
        return sets;
    if (a->operand_count == 0)
        fail("--set %s: name the claim whose parameter this is, as in kith lab C6 --set m=1000", a->sets);
    size_t bytes = strlen(a->sets) + 1;
    sets.words = allocate(bytes);
    memcpy(sets.words, a->sets, bytes);
    sets.list = allocate((bytes / 2 + 1) * sizeof *sets.list);
    for (char *word = sets.words; word != NULL && *word != '\0';) {
        char *end = strchr(word, ' '), *equals = strchr(word, '=');
        if (end != NULL)
            *end++ = '\0';
        if (equals == NULL || equals == word || (end != NULL && equals >= end))
            fail("--set %s: write NAME=VALUE, as in --set m=1000", word);
        *equals = '\0';
        sets.list[sets.count++] = (lab_assignment){word, equals + 1};
        word = end;
    }
    for (size_t s = 0; s < sets.count; s++)
        for (size_t c = 0; c < count; c++)
            check(claims[c], &sets.list[s]);
    return sets;
}

void lab_sets_free(lab_sets *sets) {
    free(sets->list);
    free(sets->words);
    *sets = (lab_sets){0};
}

/* ---- help ---- */

static void put_setting(const lab_setting *s) {
    char text[LINE_BYTES];
    int used = snprintf(text, sizeof text, "%s: ", s->help);
    if (strcmp(s->quick, s->full) == 0)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s", s->full);
    else
        used += snprintf(text + used, sizeof text - (size_t)used, "%s, with --quick %s", s->full, s->quick);
    if (s->words != NULL)
        (void)snprintf(text + used, sizeof text - (size_t)used, "; one of: %s", s->words);
    else if (s->from == s->least && s->to == s->most)
        (void)snprintf(text + used, sizeof text - (size_t)used, "; %s%s from %.15g to %.15g",
                       s->is_list ? "a list of " : "", s->is_whole ? "integers" : "numbers", s->least, s->most);
    else
        (void)snprintf(text + used, sizeof text - (size_t)used,
                       "; %s%s from %.15g to %.15g, of which the claim covers %.15g to %.15g",
                       s->is_list ? "a list of " : "", s->is_whole ? "integers" : "numbers", s->least, s->most, s->from,
                       s->to);
    put_lab_entry(s->name, text);
}

void put_lab_claim_help(const lab_claim *const *claims, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const lab_claim *c = claims[i];
        out_text("%s%s: %s\n", i > 0 ? "\n" : "", c->id, c->title);
        put_lab_text(c->sentence);
        if (c->note != NULL)
            put_lab_text(c->note);
        out_text("\nParameters, set with kith lab %s --set NAME=VALUE:\n", c->id);
        for (size_t s = 0; s < LAB_SETTINGS_MAX && c->settings[s].name != NULL; s++)
            put_setting(&c->settings[s]);
    }
    out_text("\n");
    put_lab_text("If a claim does not cover a value, its findings are shown and not judged.");
    out_text("\n");
    put_lab_sources();
}
