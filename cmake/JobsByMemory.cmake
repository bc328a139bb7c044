# SPDX-License-Identifier: Apache-2.0
# Compilers at a time: as many as ninja starts, but no more than the memory holds. The compiler of a large group of
# sources needs up to CYBELE_COMPILER_MEMORY MiB; a quarter of the memory is left to others.
set(CYBELE_COMPILER_MEMORY 1500)
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
foreach(file IN ITEMS /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes) # of a container
    if(EXISTS ${file})
        file(READ ${file} limit)
        string(STRIP "${limit}" limit)
        if(limit MATCHES "^[0-9]+$")
            math(EXPR limit "${limit} >> 20")
            if(limit LESS memory)
                set(memory ${limit})
            endif()
        endif()
    endif()
endforeach()
math(EXPR jobs "${memory} * 3 / 4 / ${CYBELE_COMPILER_MEMORY}")
if(jobs LESS 1)
    set(jobs 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS compilers=${jobs})
set(CMAKE_JOB_POOL_COMPILE compilers)
