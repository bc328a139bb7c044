// SPDX-License-Identifier: Apache-2.0
// measure ROWS: runs commands in turn, each in a number of copies at once, and prints the least
// wall and processor time of each. A line of ROWS: name|rounds|copies|before|command. `before` is a
// command that lives meanwhile (empty: none); it must write a line when it is ready. Words are
// separated by blanks; MEASURE_BEFORE tells the command its process id. The processor time counts what the command leaves behind (servers), of which
// this process is the reaper, but not `before`.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ROWS = 32, MOST_WORDS = 32, MOST_COPIES = 256 };

struct row {
    char* name;
    int rounds, copies;
    char* before[MOST_WORDS];
    char* command[MOST_WORDS];
    double wall, cpu; // ms, the least
};

static void die(const char* what) {
    perror(what);
    exit(1);
}

static void split(char* text, char** words) {
    int n = 0;
    for (char* word = strtok(text, " "); word && n < MOST_WORDS - 1; word = strtok(NULL, " ")) {
        words[n++] = word;
    }
    words[n] = NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double used(void) {
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static pid_t start(char** words, int out) {
    const pid_t pid = fork();
    if (pid < 0) {
        die("fork");
    }
    if (pid == 0) {
        if (out >= 0) {
            dup2(out, 1);
        }
        execvp(words[0], words);
        die(words[0]);
    }
    return pid;
}

static pid_t start_before(char** words) {
    int ends[2];
    char c;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        die("pipe");
    }
    const pid_t pid = start(words, ends[1]);
    close(ends[1]);
    if (read(ends[0], &c, 1) != 1) {
        die("before");
    }
    close(ends[0]);
    return pid;
}

// Runs a row once; the times count when they are the least so far.
static void run(struct row* row) {
    pid_t all[MOST_COPIES];
    const pid_t before = row->before[0] ? start_before(row->before) : 0;
    char text[32];
    snprintf(text, sizeof text, "%d", (int)before);
    setenv("MEASURE_BEFORE", text, 1);
    const double cpu = used();
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const double begin = now();
    for (int i = 0; i < row->copies; ++i) {
        all[i] = start(row->command, null);
    }
    for (int i = 0; i < row->copies; ++i) {
        int status;
        if (waitpid(all[i], &status, 0) < 0 || status != 0) {
            fprintf(stderr, "%s: status %d\n", row->name, status);
            exit(1);
        }
    }
    const double wall = now() - begin;
    close(null);
    double spent = used() - cpu;
    if (before) {
        kill(before, SIGKILL);
    }
    while (wait(NULL) > 0) {
    }
    if (!before) {
        spent = used() - cpu;
    }
    row->wall = row->wall == 0 || wall < row->wall ? wall : row->wall;
    row->cpu = row->cpu == 0 || spent < row->cpu ? spent : row->cpu;
}

int main(int argc, char** argv) {
    static struct row rows[MOST_ROWS];
    int count = 0, most = 0;
    char* line = NULL;
    size_t size = 0;
    FILE* file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        die("rows");
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (getline(&line, &size, file) > 0 && count < MOST_ROWS) {
        char* rest = strdup(line);
        rest[strcspn(rest, "\n")] = 0;
        struct row* row = &rows[count++];
        row->name = strsep(&rest, "|");
        row->rounds = atoi(strsep(&rest, "|"));
        row->copies = atoi(strsep(&rest, "|"));
        split(strsep(&rest, "|"), row->before);
        split(rest, row->command);
        most = row->rounds > most ? row->rounds : most;
    }
    for (int round = 0; round < most; ++round) {
        for (int i = 0; i < count; ++i) {
            if (round < rows[i].rounds) {
                run(&rows[i]);
            }
        }
    }
    for (int i = 0; i < count; ++i) {
        printf("%s|%d|%.2f|%.2f\n", rows[i].name, rows[i].copies, rows[i].wall, rows[i].cpu);
    }
    return 0;
}
