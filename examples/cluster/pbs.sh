#!/bin/bash
#PBS -N oxmpi
#PBS -l select=4:ncpus=16:mpiprocs=16
#PBS -l walltime=00:10:00
# qsub pbs.sh. With Torque: #PBS -l nodes=4:ppn=16

cd "$PBS_O_WORKDIR" || exit 1
# Where OxMPI is installed on all hosts.
export PATH=/opt/oxmpi/bin:$PATH
# The hosts are those of PBS_NODEFILE.
mpirun -v ./program
