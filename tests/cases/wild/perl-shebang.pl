#!/usr/bin/perl
#SBATCH -t 5
print "hello\n";
