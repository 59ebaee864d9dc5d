//! Cartesian grids. Ranks are in row-major order: the last coordinate varies fastest.

use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    dims: Vec<i32>,
    periods: Vec<bool>,
    size: i32,
}

/// The source and the destination of a shift; `MPI_PROC_NULL` beyond an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    pub source: i32,
    pub dest: i32,
}

impl Cart {
    /// A grid for at most so many processes. Without dimensions it has one node; with a dimension
    /// of length 0 it has none, so that no process becomes a member (programs that compute `dims`
    /// from too few processes rely on it).
    pub fn new(dims: Vec<i32>, periods: Vec<bool>, processes: i32) -> Result<Cart> {
        let mut size = 1i64;
        for (dimension, &length) in dims.iter().enumerate() {
            if length < 0 {
                bail!(MPI_ERR_DIMS, "dims[{dimension}] is {length}, which is negative");
            }
            // Saturates rather than overflows; a later dimension of length 0 still makes it 0.
            size = size.saturating_mul(i64::from(length));
        }
        if size > i64::from(processes) {
            bail!(MPI_ERR_DIMS, "the grid {dims:?} is larger than the communicator, which has {processes} processes");
        }
        Ok(Cart { dims, periods, size: size as i32 })
    }

    pub fn dims(&self) -> &[i32] {
        &self.dims
    }

    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// The number of processes of the grid.
    pub fn size(&self) -> i32 {
        self.size
    }

    /// The coordinates of a rank of the grid.
    pub fn coords(&self, rank: i32) -> Result<Vec<i32>> {
        if rank < 0 || rank >= self.size {
            bail!(MPI_ERR_RANK, "the rank is {rank}; the grid has {} processes", self.size);
        }
        let mut rest = rank;
        let mut coords = vec![0; self.dims.len()];
        for (coord, &length) in coords.iter_mut().zip(&self.dims).rev() {
            (*coord, rest) = (rest % length, rest / length);
        }
        Ok(coords)
    }

    /// The rank at some coordinates; in periodic dimensions they may lie outside.
    pub fn rank(&self, coords: &[i32]) -> Result<i32> {
        let mut rank = 0;
        for (dimension, (&coord, &length)) in coords.iter().zip(&self.dims).enumerate() {
            if !self.periods[dimension] && !(0..length).contains(&coord) {
                bail!(
                    MPI_ERR_ARG,
                    "coords[{dimension}] is {coord}; dimension {dimension} is not periodic and has {length} processes"
                );
            }
            rank = rank * length + coord.rem_euclid(length);
        }
        Ok(rank)
    }

    /// The ranks that are so many steps away from `rank` in one dimension, backwards and forwards.
    /// A shift of zero steps leads from a process to itself.
    pub fn shift(&self, rank: i32, direction: i32, steps: i32) -> Result<Shift> {
        let dimension = match usize::try_from(direction) {
            Ok(dimension) if dimension < self.dims.len() => dimension,
            _ => bail!(MPI_ERR_DIMS, "the direction is {direction}; the grid has {} dimensions", self.dims.len()),
        };
        if !(0..self.size).contains(&rank) {
            self.coords(rank)?;
        }
        let (length, stride) = (i64::from(self.dims[dimension]), self.dims[dimension + 1..].iter().product::<i32>());
        let own = rank / stride % self.dims[dimension];
        let at = |coord: i64| {
            let coord = if self.periods[dimension] { coord.rem_euclid(length) } else { coord };
            if !(0..length).contains(&coord) {
                return MPI_PROC_NULL;
            }
            rank + (coord as i32 - own) * stride
        };
        let (own, steps) = (i64::from(own), i64::from(steps));
        Ok(Shift { source: at(own - steps), dest: at(own + steps) })
    }

    /// The subgrid of `rank` that keeps the dimensions in `keep`, and the ranks here of its
    /// members, in their order there.
    pub fn part(&self, rank: i32, keep: &[bool]) -> Result<(Cart, Vec<i32>)> {
        let mut coords = self.coords(rank)?;
        let kept: Vec<usize> = (0..self.dims.len()).filter(|&dimension| keep[dimension]).collect();
        let dims = kept.iter().map(|&dimension| self.dims[dimension]).collect();
        let periods = kept.iter().map(|&dimension| self.periods[dimension]).collect();
        let part = Cart::new(dims, periods, self.size)?;
        let mut ranks = Vec::with_capacity(part.size as usize);
        for place in 0..part.size {
            for (&dimension, coord) in kept.iter().zip(part.coords(place)?) {
                coords[dimension] = coord;
            }
            ranks.push(self.rank(&coords)?);
        }
        Ok((part, ranks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cart(dims: &[i32], periodic: bool) -> Cart {
        Cart::new(dims.to_vec(), vec![periodic; dims.len()], 10_000).unwrap()
    }

    #[test]
    fn ranks_and_coordinates_are_inverse_and_row_major() {
        for dims in [&[][..], &[1], &[7], &[2, 3], &[3, 1, 4], &[2, 2, 2, 2, 2], &[5, 1, 1, 6]] {
            let cart = cart(dims, false);
            assert_eq!(cart.size(), dims.iter().product::<i32>());
            let mut last = None;
            for rank in 0..cart.size() {
                let coords = cart.coords(rank).unwrap();
                assert_eq!(cart.rank(&coords).unwrap(), rank);
                assert!(last.as_ref() < Some(&coords), "row-major");
                last = Some(coords);
            }
            assert_eq!(cart.coords(cart.size()).unwrap_err().class(), MPI_ERR_RANK);
            assert_eq!(cart.coords(-1).unwrap_err().class(), MPI_ERR_RANK);
        }
    }

    #[test]
    fn coordinates_outside_wrap_or_are_refused() {
        let ring = cart(&[4, 3], true);
        for (coords, rank) in [([4, 0], 0), ([-1, -1], 11), ([i32::MIN, 0], 0), ([i32::MAX, 1], 10), ([1, 3], 3)] {
            assert_eq!(ring.rank(&coords).unwrap(), rank, "{coords:?}");
        }
        let mixed = Cart::new(vec![4, 3], vec![true, false], 12).unwrap();
        assert_eq!(mixed.rank(&[5, 2]).unwrap(), 5);
        for coords in [[0, 3], [0, -1]] {
            assert_eq!(mixed.rank(&coords).unwrap_err().class(), MPI_ERR_ARG);
        }
    }

    #[test]
    fn shifts_follow_coordinates() {
        let cart = Cart::new(vec![3, 4, 2], vec![true, false, true], 24).unwrap();
        for rank in 0..24 {
            let own = cart.coords(rank).unwrap();
            for direction in 0..3 {
                for steps in [-100, -5, -2, -1, 0, 1, 2, 3, 4, 101, i32::MAX, i32::MIN] {
                    let at = |steps: i64| {
                        let mut coords = own.clone();
                        let coord = i64::from(coords[direction]) + steps;
                        // Wrapped by hand: the sum may overflow.
                        let length = i64::from(cart.dims()[direction]);
                        let inside = if cart.periods()[direction] { coord.rem_euclid(length) } else { coord };
                        coords[direction] = i32::try_from(inside).unwrap_or(i32::MAX);
                        cart.rank(&coords).unwrap_or(MPI_PROC_NULL)
                    };
                    let expected = Shift { source: at(-i64::from(steps)), dest: at(i64::from(steps)) };
                    assert_eq!(
                        cart.shift(rank, direction as i32, steps).unwrap(),
                        expected,
                        "{rank} {direction} {steps}"
                    );
                }
            }
        }
        for direction in [-1, 3, i32::MAX, i32::MIN] {
            assert_eq!(cart.shift(0, direction, 1).unwrap_err().class(), MPI_ERR_DIMS);
        }
        assert_eq!(self::cart(&[], true).shift(0, 0, 1).unwrap_err().class(), MPI_ERR_DIMS);
    }

    #[test]
    fn parts_divide_the_grid() {
        let cart = Cart::new(vec![2, 3, 4], vec![true, false, true], 24).unwrap();
        for bits in 0..8 {
            let keep: Vec<bool> = (0..3).map(|bit| bits >> bit & 1 == 1).collect();
            let mut seen = [0; 24];
            for rank in 0..24 {
                let (part, ranks) = cart.part(rank, &keep).unwrap();
                assert_eq!(part.size() as usize, ranks.len());
                assert!(ranks.contains(&rank));
                for (place, &other) in ranks.iter().enumerate() {
                    assert_eq!(cart.part(other, &keep).unwrap(), (part.clone(), ranks.clone()));
                    let whole = cart.coords(other).unwrap();
                    let kept: Vec<i32> = (0..3).filter(|&d| keep[d]).map(|d| whole[d]).collect();
                    assert_eq!(part.coords(place as i32).unwrap(), kept);
                    seen[other as usize] += 1;
                }
            }
            let size = cart.part(0, &keep).unwrap().0.size();
            assert!(seen.iter().all(|&times| times == size));
        }
    }

    #[test]
    fn grids_that_do_not_fit_are_refused() {
        let new = |dims: &[i32], processes| Cart::new(dims.to_vec(), vec![false; dims.len()], processes);
        assert_eq!(new(&[], 1).unwrap().size(), 1);
        assert_eq!(new(&[2, 3], 6).unwrap().size(), 6);
        for dims in [&[7][..], &[2, 4], &[-1], &[0, -1], &[-2, 0], &[-2, -3], &[i32::MAX, i32::MAX, i32::MAX]] {
            assert_eq!(new(dims, 6).unwrap_err().class(), MPI_ERR_DIMS, "{dims:?}");
        }
        for dims in [&[0][..], &[2, 0], &[0, 7], &[7, 0], &[i32::MAX, i32::MAX, i32::MAX, 0]] {
            let none = new(dims, 6).unwrap();
            assert_eq!(none.size(), 0, "{dims:?}");
            assert_eq!(none.coords(0).unwrap_err().class(), MPI_ERR_RANK);
        }
    }
}
