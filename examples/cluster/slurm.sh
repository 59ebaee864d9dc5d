#!/bin/bash
#SBATCH --job-name=oxmpi
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
#SBATCH --time=00:10:00
# sbatch slurm.sh

# Where OxMPI is installed on all hosts.
export PATH=/opt/oxmpi/bin:$PATH

# OxMPI's own launcher uses all hosts and tasks of the allocation: binding, labels, spawning and reports of what each rank
# waits for come with it.
mpirun -v ./program

# Slurm's launcher works, too. It needs an installed mpi/pmi2 or mpi/pmix (`srun --mpi=list`), and for the latter
# libpmix.so.2 on all hosts.
srun --mpi=pmi2 ./program
