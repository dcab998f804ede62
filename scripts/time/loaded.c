/* A library with a table, for `loads`. */
int table[50000] = {1};

int entry(int place)
{
    return table[place];
}
