#include "parts.h"

int main(void)
{
    text("sum", sum(1, 1000));
    return 0;
}
