/* server/link.c: commands to a server or a cluster; see server/link.h. */
#define _GNU_SOURCE

#include "cli/server/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/server/slots.h"
#include "cli/output/report.h"

enum {
    PAUSE_MILLISECONDS = 100, /* between attempts, while the cluster is not ready */
    REDIRECTS_AT_ONCE = 5,    /* after that many, each further redirection waits as well */
    NODES_MAX = 2000,         /* the largest clusters have 1,000 nodes */
    SLOTS_BYTES = 16 << 20,   /* for the map: thousands of ranges with their replicas */
    ASK_BYTES = 1 << 20,      /* for statistics, or the description of 512 shards */
    ASK_BYTES_PER_KEY = 1024, /* for each byte of the key, which is a part of their names */
};

struct redis_link {
    const redis_address *address;
    redis_login login;
    redis_connection *nodes[NODES_MAX]; /* nodes[0] is the one of the address. Not moved: a signal handler reads it */
    size_t node_count;
    uint16_t owners[REDIS_SLOTS]; /* index in nodes */
};

/* ---- errors ---- */

static bool begins(const redisReply *reply, const char *word) {
    size_t bytes = strlen(word);
    return reply->type == REDIS_REPLY_ERROR && reply->len >= bytes && memcmp(reply->str, word, bytes) == 0;
}

noreturn void redis_link_fail(const redis_link *link, const redis_command *call, const redisReply *reply) {
    const char *name = call->words[0], *address = link->address->text;
    if (reply->type != REDIS_REPLY_ERROR)
        fail("%s: the reply of the server to %s is not one that kith knows", address, name);
    if (begins(reply, "ERR unknown command") && strncmp(name, "KITH.", 5) == 0)
        fail("%s: the server does not know the command %s: load the module kith.so (loadmodule /path/to/kith.so)",
             address, name);
    if (begins(reply, "ERR unknown command"))
        fail("%s: the server does not know the command %s: load the module kith.so, or RedisBloom", address, name);
    if (begins(reply, "NOAUTH"))
        fail("%s: the server wants a password: set REDISCLI_AUTH, or give --password-file FILE", address);
    if (begins(reply, "MOVED") && !link->address->cluster)
        fail("%s: the server is part of a cluster: write redis+cluster:// instead of redis://", address);
    fail("%s: %s said: %s", address, name, reply->str);
}

/* ---- nodes ---- */

static size_t node_of(redis_link *link, const char *host, unsigned port) {
    for (size_t i = 0; i < link->node_count; i++)
        if (link->nodes[i]->port == port && strcmp(link->nodes[i]->host, host) == 0)
            return i;
    if (link->node_count == NODES_MAX)
        fail("%s: the cluster names more than %d nodes", link->address->text, NODES_MAX);
    link->nodes[link->node_count] = redis_connection_new(host, port, &link->login);
    return link->node_count++;
}

static bool is_number(const redisReply *reply, long long most) {
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 && reply->integer <= most;
}

/* Reads one entry of CLUSTER SLOTS: first slot, last slot, [host, port, …] of the owner, replicas. A node that does not
 * know its own name leaves the host empty: it is then the host that was asked. */
static bool read_range(redis_link *link, const redisReply *range, const char *asked) {
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 || !is_number(range->element[0], REDIS_SLOTS - 1) ||
        !is_number(range->element[1], REDIS_SLOTS - 1))
        return false;
    const redisReply *owner = range->element[2];
    if (owner->type != REDIS_REPLY_ARRAY || owner->elements < 2 || !is_number(owner->element[1], 65535))
        return false;
    const redisReply *host = owner->element[0];
    const char *name = host->type == REDIS_REPLY_STRING && host->len > 0 ? host->str : asked;
    size_t node = node_of(link, name, (unsigned)owner->element[1]->integer);
    for (long long slot = range->element[0]->integer; slot <= range->element[1]->integer; slot++)
        link->owners[slot] = (uint16_t)node;
    return true;
}

/* Reads the map of slots from this node. Returns false, with node->error, if that is not possible. */
static bool read_slots(redis_link *link, redis_connection *node) {
    redis_command call = {0};
    redis_command_begin(&call, "CLUSTER");
    redis_command_text(&call, "SLOTS");
    call.reply_bytes = SLOTS_BYTES;
    bool queued = redis_connection_queue(node, &call) && redis_connection_flush(node);
    redisReply *reply = queued ? redis_connection_receive(node, &call) : NULL;
    redis_command_free(&call);
    if (reply == NULL)
        return false;
    bool good = reply->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; good && i < reply->elements; i++)
        good = read_range(link, reply->element[i], node->host);
    if (!good)
        (void)snprintf(node->error, sizeof node->error, "%s: CLUSTER SLOTS said: %s", node->name,
                       reply->type == REDIS_REPLY_ERROR ? reply->str : "what kith does not understand");
    freeReplyObject(reply);
    return good;
}

/* Reads the map of slots from the first node that has it. Nodes to which there is a connection come first, because a
 * node that is down may take the whole timeout. If no node has the map, the old one stays in use. */
static void refresh(redis_link *link) {
    size_t count = link->node_count;
    for (int connected = 1; connected >= 0; connected--)
        for (size_t i = 0; i < count; i++)
            if ((link->nodes[i]->context != NULL) == connected && read_slots(link, link->nodes[i]))
                return;
}

redis_link *redis_link_open(const redis_address *address, const arguments *a) {
    redis_link *link = allocate(sizeof *link);
    *link = (redis_link){.address = address};
    redis_login_read(a, address, &link->login);
    (void)node_of(link, address->host, address->port);
    redis_connection *first = link->nodes[0];
    if (address->cluster && !read_slots(link, first)) {
        if (strstr(first->error, "cluster support disabled") != NULL)
            fail("%s: the server is not part of a cluster: write redis:// instead of redis+cluster://", address->text);
        fail("%s: %s", address->text, first->error);
    }
    return link;
}

void redis_link_close(redis_link *link) {
    for (size_t i = 0; i < link->node_count; i++)
        redis_connection_free(link->nodes[i]);
    redis_login_free(&link->login);
    free(link);
}

const char *redis_link_text(const redis_link *link) {
    return link->address->text;
}

int redis_link_socket(const redis_link *link, unsigned slot) {
    const redis_connection *node = link->nodes[link->owners[slot]];
    return node->context != NULL ? node->context->fd : -1;
}

/* ---- redirections ---- */

typedef enum outcome {
    OUTCOME_REPLY, /* the server has run the command, or refused it for good */
    OUTCOME_MOVED,
    OUTCOME_ASK,
    OUTCOME_LATER,
    OUTCOME_LOST, /* no reply */
} outcome;

static outcome outcome_of(const redisReply *reply) {
    static const char *const later[] = {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN"};
    if (reply == NULL)
        return OUTCOME_LOST;
    if (begins(reply, "MOVED "))
        return OUTCOME_MOVED;
    if (begins(reply, "ASK "))
        return OUTCOME_ASK;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (begins(reply, later[i]))
            return OUTCOME_LATER;
    return OUTCOME_REPLY;
}

/* Returns the node that "MOVED SLOT HOST:PORT" names; the host may be empty, as in CLUSTER SLOTS. Returns SIZE_MAX if
 * the text has another form. */
static size_t node_named(redis_link *link, const char *text, const char *asked) {
    const char *where = strrchr(text, ' ');
    const char *colon = where != NULL ? strrchr(where, ':') : NULL;
    char *end;
    long port = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
    if (port < 1 || port > 65535 || *end != '\0')
        return SIZE_MAX;
    char host[256];
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon - where - 1), where + 1);
    return node_of(link, *host != '\0' ? host : asked, (unsigned)port);
}

static void pause_a_while(void) {
    struct timespec t = {.tv_nsec = PAUSE_MILLISECONDS * 1000000L};
    (void)nanosleep(&t, NULL);
}

static void free_replies(redisReply **replies, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (replies[i] != NULL)
            freeReplyObject(replies[i]);
}

/* Sends n commands to a node and receives their replies, which stay NULL from the first on that is lost. */
static void converse(redis_connection *node, const redis_command *commands, size_t n, redisReply **replies) {
    bool sent = true;
    for (size_t i = 0; sent && i < n; i++)
        sent = redis_connection_queue(node, &commands[i]);
    sent = sent && redis_connection_flush(node);
    for (size_t i = 0; sent && i < n; i++)
        replies[i] = redis_connection_receive(node, &commands[i]);
}

/* Runs a command, or a transaction of n commands that begins with MULTI, on a node. If MULTI fails, the others are not
 * sent: they would run at once. Returns the first outcome that is not OUTCOME_REPLY, which is that of reply
 * *decides. */
static outcome exchange(redis_connection *node, bool asking, const redis_command *commands, size_t n,
                        redisReply **replies, size_t *decides) {
    memset(replies, 0, n * sizeof *replies);
    if (asking) {
        redis_command ask = {0};
        redisReply *reply = NULL;
        redis_command_begin(&ask, "ASKING");
        converse(node, &ask, 1, &reply);
        redis_command_free(&ask);
        *decides = 0;
        if (reply == NULL)
            return OUTCOME_LOST;
        free_replies(&reply, 1);
    }
    converse(node, commands, 1, replies);
    *decides = 0;
    if (replies[0] == NULL || replies[0]->type == REDIS_REPLY_ERROR)
        return outcome_of(replies[0]);
    converse(node, commands + 1, n - 1, replies + 1);
    for (*decides = 1; *decides < n; ++*decides)
        if (outcome_of(replies[*decides]) != OUTCOME_REPLY)
            return outcome_of(replies[*decides]);
    return OUTCOME_REPLY;
}

/* Sets *holds to whether the guard's key still has the value, and watches the key from before that check on. The watch
 * belongs to the connection: if that is lost, the outcome of the next command is OUTCOME_LOST, so no other connection
 * runs the transaction without it. Returns the first outcome that is not OUTCOME_REPLY, with its reply in *odd. */
static outcome watch(const redis_link *link, redis_connection *node, bool asking, const redis_guard *guard, bool *holds,
                     redisReply **odd) {
    static const char *const names[] = {"WATCH", "TYPE", "GET"};
    outcome result = OUTCOME_REPLY;
    *holds = true;
    for (size_t i = 0; i < (guard->text != NULL ? 3 : 2) && *holds && result == OUTCOME_REPLY; i++) {
        redis_command call = {0};
        size_t ignored;
        redis_command_begin(&call, names[i]);
        redis_command_bytes(&call, guard->key, guard->key_bytes);
        call.reply_bytes = ASK_BYTES + ASK_BYTES_PER_KEY * guard->key_bytes;
        result = exchange(node, asking, &call, 1, odd, &ignored);
        if (result == OUTCOME_REPLY) {
            const char *expected = i == 1 ? guard->type : i == 2 ? guard->text : "OK";
            size_t bytes = i == 2 ? guard->text_bytes : strlen(expected);
            int kind = i == 2 ? REDIS_REPLY_STRING : REDIS_REPLY_STATUS;
            if ((*odd)->type == REDIS_REPLY_ERROR && !begins(*odd, "WRONGTYPE"))
                redis_link_fail(link, &call, *odd);
            *holds = (*odd)->type == kind && (*odd)->len == bytes && memcmp((*odd)->str, expected, bytes) == 0;
            free_replies(odd, 1);
            *odd = NULL;
        }
        redis_command_free(&call);
    }
    return result;
}

/* Why the last attempt failed. A redirection says less than the failure that it led to, so it does not replace one. */
typedef struct trouble {
    bool is_redirection;
    char words[640];
} trouble;

static void remember(trouble *t, outcome result, const redis_connection *node, const redisReply *reply) {
    bool is_redirection = result == OUTCOME_MOVED || result == OUTCOME_ASK;
    if (is_redirection && t->words[0] != '\0' && !t->is_redirection)
        return;
    t->is_redirection = is_redirection;
    if (result == OUTCOME_LOST)
        (void)snprintf(t->words, sizeof t->words, "%s", node->error);
    else
        (void)snprintf(t->words, sizeof t->words, "%s: %s", node->name, reply->str);
}

/* Returns the node to try next, and sets *asking if it must be told that this is the result of ASK. */
static size_t next_node(redis_link *link, unsigned slot, outcome result, const redis_connection *node,
                        const redis_command *call, const redisReply *reply, bool *asking) {
    if (result != OUTCOME_MOVED && result != OUTCOME_ASK) {
        pause_a_while();
        if (link->address->cluster)
            refresh(link);
        return link->owners[slot];
    }
    size_t named = node_named(link, reply->str, node->host);
    if (named == SIZE_MAX)
        fail("%s: %s: %s said: %s", link->address->text, call->words[0], node->name, reply->str);
    *asking = result == OUTCOME_ASK;
    if (result == OUTCOME_MOVED)
        link->owners[slot] = (uint16_t)named;
    return named;
}

/* Runs n commands of one slot. Either n is 1, or they are a transaction: then a redirection of one of them means that
 * none was run. Returns false if there is a guard (may be NULL), and its key holds something else. */
static bool run(redis_link *link, const redis_guard *guard, const redis_command *commands, size_t n, unsigned slot,
                redisReply **replies) {
    bool cluster = link->address->cluster, may_repeat = n == 1 && commands[0].may_repeat;
    double deadline = redis_seconds_now() + link->login.timeout_seconds;
    size_t target = link->owners[slot];
    bool asking = false;
    trouble last = {0};
    for (unsigned attempt = 1;; attempt++) {
        redis_connection *node = link->nodes[target];
        size_t decides = 0;
        bool holds = true;
        memset(replies, 0, n * sizeof *replies);
        outcome result = guard != NULL ? watch(link, node, asking, guard, &holds, replies) : OUTCOME_REPLY;
        if (!holds)
            return false;
        if (result == OUTCOME_REPLY)
            result = exchange(node, asking, commands, n, replies, &decides);
        if (result == OUTCOME_REPLY)
            return true;
        const redis_command *call = &commands[decides];
        if (result == OUTCOME_LOST && (!cluster || (node->sent && !may_repeat)))
            fail("%s: %s: %s", link->address->text, call->words[0], node->error);
        if (!cluster && result != OUTCOME_LATER)
            redis_link_fail(link, call, replies[decides]);
        remember(&last, result, node, replies[decides]);
        if (redis_seconds_now() > deadline)
            fail("%s: %s: gave up after %u s (--timeout): %s", link->address->text, call->words[0],
                 link->login.timeout_seconds, last.words);
        asking = false;
        target = next_node(link, slot, result, node, call, replies[decides], &asking);
        if (attempt > REDIRECTS_AT_ONCE)
            pause_a_while();
        free_replies(replies, n);
    }
}

redisReply *redis_link_call(redis_link *link, const redis_command *call, unsigned slot) {
    redisReply *reply;
    (void)run(link, NULL, call, 1, slot, &reply);
    return reply;
}

redisReply *redis_link_transaction(redis_link *link, const redis_guard *guard, const redis_command *commands, size_t n,
                                   unsigned slot) {
    redis_command all[8] = {{0}};
    redisReply *replies[8];
    if (n + 2 > sizeof all / sizeof *all)
        fail("internal error: a transaction of %zu commands", n);
    redis_command_begin(&all[0], "MULTI");
    memcpy(&all[1], commands, n * sizeof *commands);
    redis_command_begin(&all[n + 1], "EXEC");
    redisReply *result = NULL;
    if (run(link, guard, all, n + 2, slot, replies)) {
        for (size_t i = 0; i <= n; i++)
            if (replies[i]->type == REDIS_REPLY_ERROR)
                redis_link_fail(link, &all[i], replies[i]);
        result = replies[n + 1];
        free_replies(replies, n + 1);
        if (guard != NULL && result->type == REDIS_REPLY_NIL) { /* the key has changed after the check */
            freeReplyObject(result);
            result = NULL;
        }
    }
    redis_command_free(&all[0]);
    redis_command_free(&all[n + 1]);
    return result;
}

void redis_link_call_many(redis_link *link, const redis_command *commands, const unsigned *slots, size_t n,
                          redisReply **replies) {
    uint16_t *to = allocate(n * sizeof *to);
    bool *lost = allocate(link->node_count * sizeof *lost);
    memset(lost, 0, link->node_count * sizeof *lost);
    for (size_t i = 0; i < n; i++) {
        to[i] = link->owners[slots[i]];
        /* After a failure nothing more is queued: replies could no longer be matched to commands. */
        if (!lost[to[i]])
            lost[to[i]] = !redis_connection_queue(link->nodes[to[i]], &commands[i]);
    }
    for (size_t i = 0; i < link->node_count; i++)
        (void)redis_connection_flush(link->nodes[i]);
    for (size_t i = 0; i < n; i++)
        replies[i] = redis_connection_receive(link->nodes[to[i]], &commands[i]);
    free(lost);
    /* A server may close a connection that was idle while the tool waited for input, so even without a cluster a lost
     * command is sent a second time. */
    for (size_t i = 0; i < n; i++)
        if (outcome_of(replies[i]) != OUTCOME_REPLY) {
            free_replies(&replies[i], 1);
            replies[i] = redis_link_call(link, &commands[i], slots[i]);
        }
    free(to);
}

redisReply *redis_link_ask(redis_link *link, const char *name, const char *key, size_t key_bytes) {
    redis_command call = {0};
    redis_command_begin(&call, name);
    redis_command_bytes(&call, key, key_bytes);
    call.may_repeat = true;
    call.reply_bytes = ASK_BYTES + ASK_BYTES_PER_KEY * key_bytes;
    redisReply *reply = redis_link_call(link, &call, redis_slot(key, key_bytes));
    if (reply->type == REDIS_REPLY_ERROR)
        redis_link_fail(link, &call, reply);
    redis_command_free(&call);
    return reply;
}
