long part(long number);
long sum(long from, long to);
void text(const char *what, long number);
