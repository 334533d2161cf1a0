/* main.c: parses `kith COMMAND [OPTION]... [OPERAND]...` and runs the command. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <stdio.h>
#include <string.h>

#include <kith/base.h>
#include <kith/cpu.h>

#include "cli/commands.h"
#include "cli/commands/help.h"
#include "cli/output/report.h"

static int version(void) {
    out_text("kith %s\n", kith_version());
    return EXIT_FOUND;
}

static void use_cpu(const char *name) {
    kith_status status = kith_cpu_use(name);
    if (status == KITH_OK)
        return;
    if (status == KITH_E_UNSUPPORTED)
        fail("--cpu %s: not supported by this processor or by this build of kith; use --cpu auto", name);
    char names[256] = "auto";
    size_t used = strlen(names);
    for (size_t i = 0; kith_cpu_name(i) != NULL && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, ", %s", kith_cpu_name(i));
    fail("--cpu %s: unknown instruction set; choose one of: %s", name, names);
}

int run_words(int word_count, char **words) {
    const char *name = words[0];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return version();
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    const command *c = command_must(name);
    report_command(c->name);
    arguments a;
    arguments_read(c, word_count - 1, words + 1, &a);
    int status = EXIT_FOUND;
    if (a.help && c->run == command_lab && a.operand_count > 0) {
        help_lab(&a);
    } else if (a.help) {
        help_command(c);
    } else {
        if (a.no_notes)
            report_no_notes();
        if (a.cpu != NULL)
            use_cpu(a.cpu);
        status = c->run(&a);
    }
    arguments_free(&a);
    return status;
}

int main(int argc, char **argv) {
    report_begin();
    int status = EXIT_FOUND;
    if (argc < 2)
        help_short();
    else
        status = run_words(argc - 1, argv + 1);
    out_flush();
    return status;
}
