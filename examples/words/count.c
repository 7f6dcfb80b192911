/* The kernel: how often does each word occur in a text? */
#include "count.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024
#define LONGEST 256

struct node {
    struct node *next;
    char *word;
    long count;
};

static struct node *buckets[BUCKETS];

static unsigned bucket_of(const char *word) {
    unsigned sum = 0;
    for (; *word; word++)
        sum += (unsigned char)*word;
    return sum % BUCKETS;
}

static void add(const char *word) {
    struct node **head = &buckets[bucket_of(word)];
    for (struct node *node = *head; node; node = node->next) {
        PROBE();
        if (strcmp(node->word, word) == 0) {
            node->count++;
            return;
        }
    }
    struct node *node = malloc(sizeof *node);
    ALLOCATION();
    node->word = strdup(word);
    ALLOCATION();
    node->count = 1;
    node->next = *head;
    *head = node;
}

void count_words(const char *text, size_t size) {
    char word[LONGEST];
    size_t length = 0;
    for (size_t i = 0; i <= size; i++) {
        if (isalpha((unsigned char)text[i])) {
            word[length++] = tolower((unsigned char)text[i]);
        } else if (length) {
            word[length] = 0;
            add(word);
            length = 0;
        }
    }
}

void each_word(visitor *visit, void *context) {
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct node *node = buckets[i]; node; node = node->next)
            visit(node->word, strlen(node->word), node->count, context);
}

void forget_words(void) {
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct node *node = buckets[i], *next; node; node = next) {
            next = node->next;
            free(node->word);
            free(node);
        }
        buckets[i] = NULL;
    }
}
