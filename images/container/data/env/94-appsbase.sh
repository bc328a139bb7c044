#!/bin/sh
# Paths of the SCIF applications of the image; nothing where it has none.
