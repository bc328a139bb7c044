#!/bin/sh
# Sourced first at each start of the container. What an image adds itself goes to 90-environment.sh.
