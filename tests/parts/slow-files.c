// SPDX-License-Identifier: Apache-2.0
// A file system that hangs: the first open() of a file whose path contains $SLOW_FILES takes $SLOW_SECONDS.
//   cc -shared -fPIC -o slow-files.so tests/parts/slow-files.c; LD_PRELOAD=$PWD/slow-files.so SLOW_FILES=slow SLOW_SECONDS=25 PROGRAM
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void wait_for_file(const char *path) {
    static int is_over = 0;
    const char *slow = getenv("SLOW_FILES");
    const char *seconds = getenv("SLOW_SECONDS");
    if (!is_over && slow && seconds && strstr(path, slow)) {
        is_over = 1;
        for (unsigned left = (unsigned)atoi(seconds); left > 0;) {
            left = sleep(left);
        }
    }
}

static mode_t mode_of(int flags, va_list list) {
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, #name);                             \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode = mode_of(flags, list);                                                        \
        va_end(list);                                                                              \
        wait_for_file(path);                                                                       \
        return next(path, flags, mode);                                                            \
    }
#define OPENAT(name)                                                                               \
    int name(int folder, const char *path, int flags, ...) {                                       \
        int (*next)(int, const char *, int, ...) = dlsym(RTLD_NEXT, #name);                        \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode = mode_of(flags, list);                                                        \
        va_end(list);                                                                              \
        wait_for_file(path);                                                                       \
        return next(folder, path, flags, mode);                                                    \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
