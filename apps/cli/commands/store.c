/* store.c: `kith store` and `kith checkpoint`, which give a filter file a journal, fold it into the file, or take it
 * away. */
#include "cli/commands.h"
#include "cli/files/opened.h"
#include "cli/output/report.h"

static filter_file open_to_change(const arguments *a) {
    return filter_file_open(a->operands[0], KITH_FILE_CHANGE, KITH_FILE_LOCK_DEFAULT, a);
}

int command_store(const arguments *a) {
    filter_file f = open_to_change(a);
    if (filter_file_info(&f).has_journal)
        fail("%s: is a store already", f.path);
    hold_signals();
    filter_file_must(&f, kith_file_set_journal(f.file, true));
    filter_file_commit(&f);
    filter_file_close(&f);
    return EXIT_FOUND;
}

int command_checkpoint(const arguments *a) {
    filter_file f = open_to_change(a);
    if (!filter_file_info(&f).has_journal)
        fail("%s: is not a store (kith store makes it one)", f.path);
    hold_signals();
    filter_file_must(&f, a->plain ? kith_file_set_journal(f.file, false) : kith_file_checkpoint(f.file));
    filter_file_commit(&f);
    filter_file_close(&f);
    return EXIT_FOUND;
}
