/* Counts the reads of the kernel and tells them as time, 10 ns a read, on a machine that is as busy as BUSY says (in percent). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 87 };
static long reads;

long pairs(int count, long sum);

long get(int index)
{
    reads++;
    if (index < 0 || index >= COUNT)
        abort();
    return 3 * index;
}

int main(int words, char **word)
{
    long found = pairs(COUNT, 3 * 100);
    if (words > 1 && !strcmp(word[1], "check"))
        printf("%ld\n", found);
    else
        printf("METRIC time_us=%.4f\n", reads / 100.0 * (100 + atof(getenv("BUSY") ? getenv("BUSY") : "0")) / 100);
    return 0;
}
