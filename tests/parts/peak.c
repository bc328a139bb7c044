// SPDX-License-Identifier: Apache-2.0
// peak FILE COMMAND…: runs the command and writes the KiB of its largest process into FILE; ends with its exit code. What Python's wait4
// gives begins with the memory of the interpreter that started the command.
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
    struct rusage used;
    int status = 0;
    FILE* file = NULL;
    const pid_t child = argc < 3 ? -1 : fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child || (file = fopen(argv[1], "w")) == NULL) {
        perror("peak");
        return 126;
    }
    fprintf(file, "%ld\n", used.ru_maxrss);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
