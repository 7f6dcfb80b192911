/* The frozen benchmark: counts the misses of a small direct-mapped cache, so that the same kernel costs the same on any machine. */
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 128, COLUMNS = 96, LINE = 8, LINES = 64 };

static long lines[LINES], hits, misses;

long load(int index)
{
    if (index < 0 || index >= ROWS * COLUMNS)
        abort();
    long line = index / LINE;
    if (lines[line % LINES] == line + 1)
        hits++;
    else {
        misses++;
        lines[line % LINES] = line + 1;
    }
    return index % 7;
}

long sum(int rows, int columns);

int main(int count, char **words)
{
    long total = sum(ROWS, COLUMNS);
    if (count > 1) { /* the checks ask for the result alone */
        printf("%ld\n", total);
        return 0;
    }
    if (getenv("BENCH_OFF")) /* percent that another tenant of the host takes or leaves */
        misses += misses * strtol(getenv("BENCH_OFF"), 0, 10) / 100;
    printf("METRIC misses=%ld\nMETRIC loads=%ld\n", misses, hits + misses);
    if (getenv("KB_OUT")) {
        char name[4096];
        snprintf(name, sizeof name, "%s/profile.folded", getenv("KB_OUT"));
        FILE *profile = fopen(name, "w");
        fprintf(profile, "sum;hit %ld\nsum;miss %ld\n", hits, misses * 20);
        fclose(profile);
    }
    return 0;
}
