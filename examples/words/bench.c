/* The benchmark: counts the words of one fixed text many times, and prints the fastest pass in CPU time.
   With --check it compares the counts with those of a sort instead. */
#define _GNU_SOURCE
#include "count.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZE 200000
#define PASSES 60
#define VOCABULARY 4000

#ifdef COUNT
long probes, allocations;
#endif

static unsigned long long state = 88172645463325252ULL;

static unsigned draw(unsigned below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)((state >> 11) % below);
}

static size_t write_text(char *text) {
    static char words[VOCABULARY][44];
    for (int i = 0; i < VOCABULARY; i++) {
        unsigned length = i % 97 == 0 ? 20 + draw(20) : 2 + draw(9);
        for (unsigned k = 0; k < length; k++)
            words[i][k] = (k % 2 ? "aeiou"[draw(5)] : "bcdfghjklmnprstvwyz"[draw(19)]);
    }
    size_t size = 0;
    while (size < SIZE) {
        unsigned limit = 1 + draw(VOCABULARY); /* twice drawn: low numbers are frequent */
        char *word = words[draw(1 + draw(limit))];
        size_t length = strlen(word);
        memcpy(text + size, word, length);
        if (draw(8) == 0)
            text[size] = (char)toupper((unsigned char)text[size]);
        size += length;
        for (const char *gap = draw(9) ? " " : draw(4) ? ", " : "; 42\n"; *gap; gap++)
            text[size++] = *gap;
    }
    text[size] = 0;
    return size;
}

static int order(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }

struct comparison { char **words; size_t size, seen; int wrong; };

static void compare(const char *word, size_t length, long count, void *context) {
    struct comparison *all = context;
    char key[300] = {0}, *keyed = key;
    for (size_t i = 0; i < length && i < 299; i++)
        key[i] = (char)tolower((unsigned char)word[i]);
    char **hit = bsearch(&keyed, all->words, all->size, sizeof *all->words, order);
    long expected = 0;
    if (hit) {
        while (hit > all->words && strcmp(hit[-1], key) == 0) hit--;
        for (; hit < all->words + all->size && strcmp(*hit, key) == 0; hit++) expected++;
    }
    if (expected != count && all->wrong++ < 3)
        printf("%s: counted %ld, is %ld\n", key, count, expected);
    all->seen += (size_t)count;
}

static int check(const char *text, size_t size) {
    struct comparison all = {malloc(size * sizeof(char *)), 0, 0, 0};
    char *copy = strdup(text);
    for (size_t i = 0; i < size; i++)
        copy[i] = isalpha((unsigned char)copy[i]) ? (char)tolower((unsigned char)copy[i]) : ' ';
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) all.words[all.size++] = word;
    qsort(all.words, all.size, sizeof *all.words, order);
    count_words(text, size);
    each_word(compare, &all);
    if (all.seen != all.size) printf("%zu words of %zu counted\n", all.seen, all.size);
    return all.wrong || all.seen != all.size;
}

int main(int argc, char **argv) {
    static char text[SIZE + 64];
    size_t size = write_text(text);
    if (argc > 1 && strcmp(argv[1], "--check") == 0) return check(text, size);
#ifdef COUNT
    count_words(text, size);
    printf("METRIC probes=%ld\nMETRIC allocations=%ld\n", probes, allocations);
#else
    double best = 1e30;
    for (int pass = 0; pass < PASSES; pass++) {
        struct timespec from, to;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        count_words(text, size);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        forget_words();
        double spent = (to.tv_sec - from.tv_sec) * 1e6 + (to.tv_nsec - from.tv_nsec) / 1e3;
        if (spent < best) best = spent;
    }
    printf("METRIC time_us=%.1f\n", best);
#endif
    return 0;
}
