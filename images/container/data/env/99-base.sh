#!/bin/sh
# Runtimes put libraries of the host into /.singularity.d/libs (GPU drivers), and the values that the
# user gave on the command line right behind this file, which they know by its name.
case ":${LD_LIBRARY_PATH:-}:" in
    *:/.singularity.d/libs:*) ;;
    *) LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/.singularity.d/libs ;;
esac
export LD_LIBRARY_PATH
PS1=${PS1:-"Apptainer> "}
export PS1
