#!/bin/sh
# The environment of one SCIF application, where the runtime was asked for it by name.
if [ -n "${APPTAINER_APPNAME:-${SINGULARITY_APPNAME:-}}" ]; then
    SCIF_APPNAME=${APPTAINER_APPNAME:-$SINGULARITY_APPNAME}
    SCIF_APPS=/scif/apps
    SCIF_APPROOT=$SCIF_APPS/$SCIF_APPNAME
    if [ ! -d "$SCIF_APPROOT" ]; then
        echo "Could not locate the container application: $SCIF_APPNAME"
        exit 1
    fi
    export SCIF_APPNAME SCIF_APPROOT SCIF_APPS
    PATH=$SCIF_APPROOT:$SCIF_APPS/singularity:$PATH
    if [ -d "$SCIF_APPROOT/bin" ]; then
        PATH=$SCIF_APPROOT/bin:$PATH
    fi
    export PATH
    if [ -d "$SCIF_APPROOT/lib" ]; then
        LD_LIBRARY_PATH=$SCIF_APPROOT/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        export LD_LIBRARY_PATH
    fi
    for scif_file in "$SCIF_APPROOT/scif/env/01-base.sh" "$SCIF_APPROOT/scif/env/90-environment.sh"; do
        if [ -r "$scif_file" ]; then
            # shellcheck source=/dev/null
            . "$scif_file"
        fi
    done
    unset scif_file
fi
