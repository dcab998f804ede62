#include "parts.h"

long part(long number)
{
    return number * number % 7;
}
