#include "parts.h"

long sum(long from, long to)
{
    long total = 0;
    for (long number = from; number <= to; number++)
        total += part(number);
    return total;
}
