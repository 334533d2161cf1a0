/* completion.c: prints completion scripts for bash, zsh and fish, from the tables of options.h. */
#include <string.h>

#include <kith/cpu.h>
#include <kith/plan.h>

#include "cli/commands/help.h"
#include "cli/output/report.h"

static void put_kinds(const char *between) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++)
        out_text("%s%s", i > 0 ? between : "", kith_filter_kind_at(i)->name);
}

static void put_cpus(const char *between) {
    out_text("auto");
    for (size_t i = 0; kith_cpu_name(i) != NULL; i++)
        out_text("%s%s", between, kith_cpu_name(i));
}

typedef void (*put_names)(const char *between);

/* Returns the function that prints the allowed values of this type; NULL if any value is allowed. */
static put_names names_of(value_type type) {
    return type == VALUE_KIND ? put_kinds : type == VALUE_CPU ? put_cpus : NULL;
}

static void put_commands(const char *between) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        out_text("%s%s", i > 0 ? between : "", COMMANDS[i].name);
}

/* What kith help describes. */
static void put_topics(const char *between) {
    put_commands(between);
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (option_is_group(&OPTIONS[i]) && OPTIONS[i].name != NULL)
            out_text("%s%s", between, OPTIONS[i].name);
}

/* Prints text for use inside single quotes of a shell. The characters in `marked` get a backslash. */
static void put_quoted(const char *text, const char *marked) {
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            out("'\\''", 4);
        else if (strchr(marked, *text) != NULL)
            out_text("\\%c", *text);
        else
            out(text, 1);
    }
}

/* ---- bash ---- */

/* Prints the options whose type is `wanted` as a pattern for case, "-o|--output". Returns false if there are none. */
static bool put_pattern(const command *c, bool (*wanted)(value_type type)) {
    bool any = false;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &OPTIONS[i];
        if (!option_shown(o, c) || o->argument == NULL || !wanted(o->type))
            continue;
        out_text("%s", any ? "|" : "        ");
        if (o->letter != 0)
            out_text("-%c|", o->letter);
        out_text("--%s", o->name);
        any = true;
    }
    return any;
}

static bool is_path(value_type type) {
    return type == VALUE_PATH || type == VALUE_PATHS;
}

static bool is_kind(value_type type) {
    return type == VALUE_KIND;
}

static bool is_cpu(value_type type) {
    return type == VALUE_CPU;
}

static bool is_other_value(value_type type) {
    return !is_path(type) && names_of(type) == NULL;
}

static void bash_names(const command *c, bool (*wanted)(value_type type), put_names put) {
    if (!put_pattern(c, wanted))
        return;
    out_text(") mapfile -t COMPREPLY < <(compgen -W '");
    put(" ");
    out_text("' -- \"$word\"); return ;;\n");
}

static void bash(void) {
    out_text("# bash completion for kith, made by `kith help --completion bash`\n"
             "_kith() {\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
             "    COMPREPLY=()\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "        mapfile -t COMPREPLY < <(compgen -W '");
    put_commands(" ");
    out_text(" --help --version' -- \"$word\")\n"
             "        return\n"
             "    fi\n"
             "    local options=\n"
             "    case $command in\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const command *c = &COMMANDS[i];
        out_text("    %s)\n        options='", c->name);
        for (size_t j = 0; j < OPTION_COUNT; j++) {
            if (!option_shown(&OPTIONS[j], c))
                continue;
            if (OPTIONS[j].letter != 0)
                out_text("-%c ", OPTIONS[j].letter);
            out_text("--%s ", OPTIONS[j].name);
        }
        out_text("'\n        case $before in\n");
        if (put_pattern(c, is_path))
            out_text(") mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;\n");
        bash_names(c, is_kind, put_kinds);
        bash_names(c, is_cpu, put_cpus);
        if (put_pattern(c, is_other_value))
            out_text(") return ;;\n");
        out_text("        esac\n        ;;\n");
    }
    out_text("    esac\n"
             "    if [ \"$command\" = help ]; then\n"
             "        mapfile -t COMPREPLY < <(compgen -W '");
    put_topics(" ");
    out_text("' -- \"$word\")\n"
             "    elif [[ $word == -* ]]; then\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
             "    else\n"
             "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
             "    fi\n"
             "}\n"
             "complete -o filenames -F _kith kith\n");
}

/* ---- zsh ---- */

static void zsh_option(const option *o) {
    out_text("            '");
    if (o->letter != 0 && o->type == VALUE_PATHS)
        out_text("*'{-%c,--%s}'", o->letter, o->name); /* may be repeated */
    else if (o->letter != 0)
        out_text("(-%c --%s)'{-%c,--%s}'", o->letter, o->name, o->letter, o->name);
    else
        out_text("--%s", o->name);
    out_text("[");
    put_quoted(o->help, "[]:\\");
    out_text("]");
    if (o->argument != NULL)
        out_text(":%s:", o->argument);
    if (is_path(o->type))
        out_text("_files");
    if (names_of(o->type) != NULL) {
        out_text("(");
        names_of(o->type)(" ");
        out_text(")");
    }
    out_text("' \\\n");
}

static void zsh(void) {
    out_text("#compdef kith\n"
             "# zsh completion for kith, made by `kith help --completion zsh`\n"
             "_kith() {\n"
             "    local -a commands\n"
             "    commands=(\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        out_text("        '%s:", COMMANDS[i].name);
        put_quoted(COMMANDS[i].summary, ":\\");
        out_text("'\n");
    }
    out_text("    )\n"
             "    if (( CURRENT == 2 )); then\n"
             "        _describe command commands\n"
             "        return\n"
             "    fi\n"
             "    local command=$words[2]\n"
             "    shift words\n"
             "    (( CURRENT-- ))\n"
             "    case $command in\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        out_text("    %s)\n        _arguments -s -S \\\n", COMMANDS[i].name);
        for (size_t j = 0; j < OPTION_COUNT; j++)
            if (option_shown(&OPTIONS[j], &COMMANDS[i]))
                zsh_option(&OPTIONS[j]);
        if (i == COMMAND_help) {
            out_text("            '*:command:(");
            put_topics(" ");
            out_text(")'\n");
        } else {
            out_text("            '*:file:_files'\n");
        }
        out_text("        ;;\n");
    }
    out_text("    esac\n"
             "}\n"
             "if [ \"$funcstack[1]\" = _kith ]; then _kith \"$@\"; else compdef _kith kith; fi\n");
}

/* ---- fish ---- */

static void fish(void) {
    out_text("# fish completion for kith, made by `kith help --completion fish`\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        out_text("complete -c kith -f -n __fish_use_subcommand -a %s -d '", COMMANDS[i].name);
        put_quoted(COMMANDS[i].summary, "\\");
        out_text("'\n");
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        for (size_t j = 0; j < OPTION_COUNT; j++) {
            const option *o = &OPTIONS[j];
            if (!option_shown(o, &COMMANDS[i]))
                continue;
            out_text("complete -c kith -n '__fish_seen_subcommand_from %s'", COMMANDS[i].name);
            if (o->letter != 0)
                out_text(" -s %c", o->letter);
            out_text(" -l %s", o->name);
            if (is_path(o->type))
                out_text(" -r -F");
            else if (names_of(o->type) != NULL) {
                out_text(" -x -a '");
                names_of(o->type)(" ");
                out_text("'");
            } else if (o->argument != NULL)
                out_text(" -x");
            out_text(" -d '");
            put_quoted(o->help, "\\");
            out_text("'\n");
        }
    out_text("complete -c kith -f -n '__fish_seen_subcommand_from help' -a '");
    put_topics(" ");
    out_text("'\n");
}

bool completion_script(const char *shell) {
    static const struct {
        const char *name;
        void (*put)(void);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].put();
            return true;
        }
    return false;
}
