/* What the benchmark asks of the kernel. A word is a run of letters, its case folded. */
#include <stddef.h>

typedef void visitor(const char *word, size_t length, long count, void *context);

void count_words(const char *text, size_t size); /* text[size] is 0 */
void each_word(visitor *visit, void *context);
void forget_words(void);

#ifdef COUNT
extern long probes, allocations;
#define PROBE() (probes++)
#define ALLOCATION() (allocations++)
#else
#define PROBE() ((void)0)
#define ALLOCATION() ((void)0)
#endif
