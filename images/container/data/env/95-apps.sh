#!/bin/sh
# The environment of one SCIF application, where the runtime was asked for it by name.
if [ -n "${APPTAINER_APPNAME:-${SINGULARITY_APPNAME:-}}" ]; then
    SCIF_APPNAME=${APPTAINER_APPNAME:-$SINGULARITY_APPNAME}
    SCIF_APPROOT=/scif/apps/$SCIF_APPNAME
    SCIF_APPDATA=/scif/data/$SCIF_APPNAME
    SCIF_APPMETA=$SCIF_APPROOT/scif
    SCIF_APPINPUT=$SCIF_APPDATA/input
    SCIF_APPOUTPUT=$SCIF_APPDATA/output
    SCIF_APPBIN=$SCIF_APPROOT/bin
    SCIF_APPLIB=$SCIF_APPROOT/lib
    SCIF_APPENV=$SCIF_APPMETA/env/90-environment.sh
    SCIF_APPLABELS=$SCIF_APPMETA/labels.json
    SCIF_APPHELP=$SCIF_APPMETA/runscript.help
    SCIF_APPTEST=$SCIF_APPMETA/test
    SCIF_APPRUN=$SCIF_APPMETA/runscript
    export SCIF_APPNAME SCIF_APPROOT SCIF_APPDATA SCIF_APPMETA SCIF_APPINPUT SCIF_APPOUTPUT
    export SCIF_APPBIN SCIF_APPLIB SCIF_APPENV SCIF_APPLABELS SCIF_APPHELP SCIF_APPTEST SCIF_APPRUN
    PATH=$SCIF_APPBIN:$PATH
    LD_LIBRARY_PATH=$SCIF_APPLIB${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PATH LD_LIBRARY_PATH
    for scif_file in "$SCIF_APPMETA/env/01-base.sh" "$SCIF_APPENV"; do
        if [ -r "$scif_file" ]; then
            # shellcheck source=/dev/null
            . "$scif_file"
        fi
    done
    unset scif_file
fi
