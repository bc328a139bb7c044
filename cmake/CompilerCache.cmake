# SPDX-License-Identifier: Apache-2.0
# Compile through ccache where it is installed. Its settings are part of the command, so that checkouts share
# their objects with or without a preset, and when ninja is called directly.
# An empty CMAKE_CXX_COMPILER_LAUNCHER turns it off.
find_program(CYBELE_CCACHE ccache)
foreach(language IN ITEMS C CXX)
    set(launcher CMAKE_${language}_COMPILER_LAUNCHER)
    # "ccache" alone is what earlier presets wrote into the cache of a build folder.
    if(CYBELE_CCACHE AND (NOT DEFINED ${launcher} OR "${${launcher}}" STREQUAL "ccache"))
        set(${launcher} ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CYBELE_CCACHE})
    endif()
endforeach()
