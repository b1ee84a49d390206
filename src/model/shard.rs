//! The parts of a comparison over several machines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One machine's part of a comparison over several machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// The number of the part, from 1.
    pub(crate) number: u64,
    /// The number of parts.
    pub of: u64,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let (number, of) = text.split_once('/').ok_or(NoShard)?;
        let parse = |text: &str| text.parse::<u64>().map_err(|_| NoShard);
        let shard = Shard { number: parse(number)?, of: parse(of)? };
        ((1..=shard.of).contains(&shard.number) && shard.of <= MOST_SHARDS)
            .then_some(shard)
            .ok_or(NoShard)
    }
}

/// More machines than this are a mistake.
const MOST_SHARDS: u64 = 10_000;

/// A text that is not the number of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoShard;

impl fmt::Display for NoShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected `I/N`, with I from 1 to N and N at most {MOST_SHARDS}, such as `1/4`")
    }
}

impl std::error::Error for NoShard {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
        assert_eq!(Shard { number: 2, of: 4 }.to_string(), "2/4");
        for bad in ["0/4", "5/4", "1", "1/0", "a/2", "1/2/3", "-1/2", "", "1/10001"] {
            assert_eq!(bad.parse::<Shard>(), Err(NoShard), "{bad}");
        }
        assert!(NoShard.to_string().starts_with("expected `I/N`"), "{NoShard}");
    }
}
