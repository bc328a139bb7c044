#!/bin/sh
# Sourced at each start of the container. Below: the %environment section of the definition file.
