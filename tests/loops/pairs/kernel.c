/* The one file that the loop may change: how many pairs of a sorted list have a given sum. */
long get(int index);

long pairs(int count, long sum)
{
    long found = 0;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (get(i) + get(j) == sum)
                found++;
    return found;
}
