#include "parts.h"
#include <stdio.h>

void text(const char *what, long number)
{
    printf("%s: %ld\n", what, number);
}
