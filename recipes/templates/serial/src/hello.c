/* Prints where it runs. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char host[256] = "unknown";
    gethostname(host, sizeof host - 1);
    printf("hello from %s\n", host);
    return 0;
}
