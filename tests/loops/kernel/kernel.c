/* The one file that the loop may change: the sum of a matrix, two columns at a time. */
long load(int index);

long sum(int rows, int columns)
{
    long total = 0;
    for (int column = 0; column < columns; column += 2)
        for (int row = 0; row < rows; row++)
            for (int i = 0; i < 2; i++)
                total += load(row * columns + column + i);
    return total;
}
