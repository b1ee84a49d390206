//! Differences of `+1` or `-1` with equal probability: the hardest noise, computed
//! exactly.
//!
//! The sum of such differences is all that matters. So the probability that a rule
//! ever decides wrongly follows from the distribution of the sum over the undecided
//! paths.

/// The exact probability that fair signs decide on the positive side within `pairs`,
/// if a sum of at least `boundary(n)` on either side decides after `n` signs. The
/// boundary has to grow by less than 1 with each pair once it is below `n`.
pub(crate) fn ever_wrong(pairs: u64, boundary: impl Fn(u64) -> f64) -> f64 {
    // `alive[i]` is the probability of the sum `2 i - edge` without a decision so far.
    let mut alive = vec![1.0];
    let mut edge = 0_i64;
    let mut wrong = 0.0;
    for n in 1..=pairs {
        alive.push(0.0);
        for i in (1..alive.len()).rev() {
            alive[i] = 0.5 * (alive[i] + alive[i - 1]);
        }
        alive[0] *= 0.5;
        edge += 1;
        let least = boundary(n);
        while edge > 0 && edge as f64 >= least {
            wrong += alive.pop().unwrap_or(0.0);
            alive.remove(0);
            edge -= 2;
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::ever_wrong;

    #[test]
    fn it_is_the_reflection_principles_where_the_boundary_is_flat() {
        // Of 8 paths of 3 signs, reaching +2 before -2: ++ in 2 of 8, +-+ never.
        assert_eq!(ever_wrong(3, |_| 2.0), 0.25);
        // Reaching +3 within 5: +++ 4/32, and ++-+ has sum 2: then +, 1/32 each of 3.
        assert_eq!(ever_wrong(5, |_| 3.0), 7.0 / 32.0);
        assert_eq!(ever_wrong(50, |_| f64::INFINITY), 0.0);
        // The first sign decides, and nothing is left to go on.
        assert_eq!([1.0, 0.5, 0.0].map(|least| ever_wrong(3, |_| least)), [0.5; 3]);
    }
}
